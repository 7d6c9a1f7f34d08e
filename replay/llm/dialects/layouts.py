"""How a conversation becomes one text: by the model's chat template, or as a plain transcript without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from replay.core.canonical import digest
from replay.core.types import Json, Message
from replay.llm.dialects.facts import TemplateFacts
from replay.llm.dialects.history import alternate, fold_system, message_objects, split_calls
from replay.llm.dialects.templates import ChatTemplate

__all__ = ["Layout", "TemplateLayout", "TranscriptLayout"]

_NAMES: Final = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"}
_TRANSCRIPT_VERSION: Final = 1


class Layout(Protocol):
    """Writes conversations."""

    stop: tuple[str, ...]

    @property
    def version(self) -> str:
        """Digest of everything that shapes the text."""
        ...

    def write(self, messages: Sequence[Message], tools: Sequence[Json]) -> str:
        """Write a checked conversation up to where the model goes on."""
        ...


class TemplateLayout:
    """The model's own template."""

    def __init__(self, template: ChatTemplate, facts: TemplateFacts) -> None:
        """Write with this template, which was found to have these facts."""
        self._template = template
        self._facts = facts
        self.stop: tuple[str, ...] = (facts.end_mark,) if facts.end_mark else ()

    @property
    def version(self) -> str:
        """Digest of the template, and of the tokens it may write."""
        template = self._template
        return digest("chat-template", [template.source, template.bos, template.eos])

    def write(self, messages: Sequence[Message], tools: Sequence[Json]) -> str:
        """Write with the template, the messages moved to where it takes them.

        Errors:  ModelError naming the template's line.
        """
        facts = self._facts
        folded = fold_system(messages, at_start=facts.system, later=facts.late_system)
        if facts.one_call:
            folded = split_calls(folded)
        if facts.alternates:
            folded = alternate(folded)
        objects = message_objects(folded, parsed_arguments=facts.parsed_arguments)
        return self._template.render(objects, tools=tools or ([] if facts.tool_list else None))


class TranscriptLayout:
    """`User: ...` and so on, one paragraph a message: for models that were never taught to converse."""

    def __init__(self) -> None:
        """Stop where another speaker would go on."""
        self.stop: tuple[str, ...] = tuple(f"\n{_NAMES[role]}:" for role in ("system", "user"))

    @property
    def version(self) -> str:
        """Digest of the form."""
        return digest("transcript", {"version": _TRANSCRIPT_VERSION, "names": dict(_NAMES)})

    def write(self, messages: Sequence[Message], tools: Sequence[Json]) -> str:  # noqa: ARG002
        """Write the messages, neighbours of one speaker as one."""
        parts = [
            f"{_NAMES[message.role]}: {message.content or ''}".rstrip() for message in alternate(messages)
        ]
        return "\n\n".join([*parts, f"{_NAMES['assistant']}:"])
