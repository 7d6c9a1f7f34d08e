"""The versioned prompt files of the dialects, and how a text is put into a conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources

from msgspec.structs import replace

from replay.core.prompts import Prompt, parse_prompt
from replay.core.types import Message, ToolSpec

__all__ = ["add_to_system", "load_wording", "write_functions"]


def load_wording(name: str) -> Prompt:
    """Load `prompts/<name>.txt`. Raises InputError naming what is wrong with the file."""
    file = resources.files("replay.llm.dialects") / "prompts" / f"{name}.txt"
    return parse_prompt(file.read_text(encoding="utf-8"), where=f"llm/dialects/prompts/{name}.txt")


def write_functions(tools: Sequence[ToolSpec]) -> str:
    """Describe tools, one JSON object a line."""
    return "\n".join(
        json.dumps(
            {"name": spec.name, "description": spec.description, "parameters": spec.parameters or {}},
            ensure_ascii=False,
        )
        for spec in tools
    )


def add_to_system(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """Append a text to the opening system message, or open the conversation with it."""
    if messages and messages[0].role == "system":
        opening = messages[0].content or ""
        joined = f"{opening}\n\n{text}" if opening else text
        return (replace(messages[0], content=joined), *messages[1:])
    return (Message(role="system", content=text), *messages)
