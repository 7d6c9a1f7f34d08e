"""What a checker needs of one task, decoded no further than it is looked at.

Owns the cheap half of reading a task: most of a record is the schemas of tools that no check touches.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from replay.core.errors import InputError
from replay.core.types import Json, Task

__all__ = ["Case", "read_case"]


class _Data(msgspec.Struct, frozen=True):
    id: str
    category: str
    function: str
    ground_truth: str
    mile_stone: str = "null"
    question: str = ""
    involved_classes: tuple[str, ...] = ()


class _Tool(msgspec.Struct, frozen=True):
    name: str
    parameters: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_TOOLS = msgspec.json.Decoder(list[_Tool])


class Case:
    """One task as checkers see it."""

    __slots__ = ("_tools", "category", "data", "truth")

    def __init__(self, data: _Data) -> None:
        self.data = data
        self.category = data.category
        self.truth: Json = json.loads(data.ground_truth)
        self._tools: list[_Tool] | None = None

    @property
    def tools(self) -> list[_Tool]:
        """All tools of the task, their parameters not decoded."""
        if self._tools is None:
            self._tools = _TOOLS.decode(self.data.function)
        return self._tools

    @property
    def tool_names(self) -> frozenset[str]:
        """Names of all tools."""
        return frozenset(tool.name for tool in self.tools)

    def find_tool(self, text: str) -> Mapping[str, Json] | None:
        """First tool whose name is inside a text: how the official checker finds a schema."""
        for tool in self.tools:
            if tool.name in text:
                if tool.parameters is msgspec.UNSET:
                    return {"name": tool.name}
                return {"name": tool.name, "parameters": json.loads(bytes(tool.parameters))}
        return None

    @property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """Lists of milestones, any one of which will do."""
        stones = json.loads(self.data.mile_stone) or []
        if stones and isinstance(stones[0], list):
            return tuple(tuple(map(str, stone)) for stone in stones)
        return (tuple(map(str, stones)),)


def read_case(task: Task) -> Case:
    """Decode what checkers look at.

    Errors:  InputError naming the task when it is no record of this benchmark.
    """
    try:
        return Case(msgspec.convert(task.data, _Data))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"the task's data cannot be read: {error}", where=f"task {task.id}", expected="an ACEBench record"
        ) from None
