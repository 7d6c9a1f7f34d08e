"""What the candidate is asked: our own words in versioned files, filled with query, tools and examples.

Owns the texts in `prompts/` and how they are filled; what is in them follows spec 2 (one user message, no
system message; list lines; the few-shot form ends with an open answer). No wording of upstream is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Final

from replay.benchmarks.metatool.records import Example
from replay.core.errors import InputError
from replay.core.prompts import Prompt, parse_prompt
from replay.core.types import Json, Message, ToolSpec

__all__ = ["PROMPTS", "PromptBook", "tool_lines"]

PROMPTS: Final = ("choose-one", "choose-two", "choose-up-to-two", "thought")

_PACKAGE: Final = "replay.benchmarks.metatool.playing"


class PromptBook:
    """The prompt files, each read once and only when asked for."""

    def __init__(self) -> None:
        """Start with none read."""
        self._read: dict[str, Prompt] = {}

    def get(self, name: str) -> Prompt:
        """One prompt by name. Raises InputError when its file is malformed."""
        if name not in self._read:
            file = resources.files(_PACKAGE) / "prompts" / f"{name}.txt"
            where = f"metatool/playing/prompts/{name}.txt"
            prompt = parse_prompt(file.read_text(encoding="utf-8"), where=where)
            if prompt.system or prompt.name != name:
                raise InputError(
                    f"prompt {prompt.name!r}", where=where, expected="its own name, no system text"
                )
            self._read[name] = prompt
        return self._read[name]

    def ask_thought(self, query: str, examples: Sequence[Example]) -> tuple[Message, ...]:
        """Ask whether tools are needed."""
        filled = self.get("thought").fill({"query": query, "examples": _shots(query, examples, "answer")})
        return filled[1:]

    def ask_action(
        self, name: str, query: str, *, tools: str, examples: Sequence[Example]
    ) -> tuple[Message, ...]:
        """Ask which tools to use, by the prompt of that name."""
        values = {"query": query, "tools": tools, "examples": _shots(query, examples, "tool")}
        return self.get(name).fill(values)[1:]


def tool_lines(specs: Sequence[ToolSpec], *, as_lists: bool) -> str:
    """Write the numbered list of tools, one line each, with its line end.

    as_lists: spell the description of a tool that was not merged as upstream does, as the Python text of a
              list; else every description is plain.
    Source:  spec 2, "List line".
    """
    return "".join(
        f"{number}. tool name: {spec.name}, tool description: {_description(spec, as_lists=as_lists)}\n"
        for number, spec in enumerate(specs, start=1)
    )


def _description(spec: ToolSpec, *, as_lists: bool) -> str:
    extra: Json = spec.extra
    if as_lists and isinstance(extra, dict) and not extra.get("merged"):
        return str(extra.get("descriptions", [spec.description]))
    return spec.description


def _shots(query: str, examples: Sequence[Example], label: str) -> str:
    """Write solved questions and the open one; nothing for a zero-shot prompt."""
    if not examples:
        return ""
    lines = [f'request: "{example.query}" {label}: {example.answer}' for example in examples]
    listed = "\n".join(lines)
    return f'\n\nHere are examples:\n[examples]\n{listed}\n[end of examples]\n\nrequest: "{query}" {label}:'
