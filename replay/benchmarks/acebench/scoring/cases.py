"""What a checker needs of one task, decoded no further than it is looked at.

Owns the cheap half of reading a task: most of a record is the schemas of tools that no check touches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from replay.core.errors import InputError
from replay.core.types import Json, Task

__all__ = ["Case", "CaseBook", "Errors"]


class _Tool(msgspec.Struct, frozen=True):
    name: str
    parameters: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode_tools: Final = msgspec.json.Decoder(list[_Tool]).decode


Errors = tuple[str, str]
"""Names of an official and of a strict error, empty for none."""


class Case:
    """One task as checkers see it; decodes each part when it is first looked at."""

    __slots__ = ("_found", "_names", "_tools", "category", "checked", "data", "task", "truth")

    def __init__(self, task: Task) -> None:
        """Decode the truth and nothing else. Raises KeyError, TypeError or ValueError for other data."""
        self.task = task
        self.category: str = task.data["category"]
        self.truth: Json = msgspec.json.decode(task.data["ground_truth"])
        self.checked: dict[str, Errors] = {}
        """Errors by the text that was checked."""
        self._tools: list[_Tool] | None = None
        self._names: frozenset[str] | None = None
        self._found: dict[str, Mapping[str, Json] | None] = {}

    @property
    def tools(self) -> list[_Tool]:
        """All tools of the task, their parameters not decoded."""
        if self._tools is None:
            self._tools = _decode_tools(self.task.data["function"])
        return self._tools

    @property
    def tool_names(self) -> frozenset[str]:
        """Names of all tools."""
        if self._names is None:
            self._names = frozenset(tool.name for tool in self.tools)
        return self._names

    def find_tool(self, text: str) -> Mapping[str, Json] | None:
        """First tool whose name is inside a text: how the official checker finds a schema."""
        if text not in self._found:
            self._found[text] = _find(self.tools, text)
        return self._found[text]

    @property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """Lists of milestones, any one of which will do."""
        stones = msgspec.json.decode(self.task.data["mile_stone"]) or []
        if stones and isinstance(stones[0], list):
            return tuple(tuple(map(str, stone)) for stone in stones)
        return (tuple(map(str, stones)),)


class CaseBook:
    """Cases by task, so that several outputs of one task decode it once."""

    def __init__(self) -> None:
        self._held: dict[str, Case] = {}

    def read(self, task: Task) -> Case:
        """Case of a task.

        Errors:  InputError naming the task when it is no record of this benchmark.
        """
        held = self._held.get(task.id)
        if held is None or held.task is not task:
            held = self._held[task.id] = _read(task)
        return held


def _read(task: Task) -> Case:
    try:
        return Case(task)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"the task's data cannot be read: {type(error).__name__} {error}",
            where=f"task {task.id}",
            expected="an ACEBench record",
        ) from None


def _find(tools: Sequence[_Tool], text: str) -> Mapping[str, Json] | None:
    for tool in tools:
        if tool.name in text:
            if isinstance(tool.parameters, msgspec.Raw):
                return {"name": tool.name, "parameters": msgspec.json.decode(tool.parameters)}
            return {"name": tool.name}
    return None
