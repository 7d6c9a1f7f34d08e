"""Calls in lines of text (Thought, Action, Action Input): for models that JSON puts off; no grammar."""

from __future__ import annotations

import json
from typing import Final

from msgspec.structs import replace

from replay.core.canonical import digest
from replay.core.errors import GrammarError
from replay.core.types import ChatRequest, Message, ToolCall
from replay.llm.dialects.arguments import callable_tools
from replay.llm.dialects.replies import MAX_REPLY_CHARS, Reply, make_reply, read_object
from replay.llm.dialects.wording import add_to_system, load_wording, write_functions

__all__ = ["ReactCalls"]

_THOUGHT: Final = "Thought:"
_ACTION: Final = "Action:"
_INPUT: Final = "Action Input:"
_OBSERVATION: Final = "Observation:"


class ReactCalls:
    """One call a reply, written in lines."""

    in_template = False
    stop: tuple[str, ...] = (f"\n{_OBSERVATION}",)
    name = "react"

    def __init__(self) -> None:
        """Load the wording."""
        self._prompt = load_wording("react-1")

    @property
    def version(self) -> str:
        """Digest of everything that is said to the model."""
        return digest("wording", [self._prompt.digest])

    def instruct(self, messages: tuple[Message, ...], request: ChatRequest) -> tuple[Message, ...]:
        """Tell the model the tools and the form; write its earlier replies in that form."""
        tools = callable_tools(request)
        written = tuple(_write(message) for message in messages)
        if not tools:
            return written
        [told] = self._prompt.fill({"functions": write_functions(tools)})
        return add_to_system(written, told.content or "")

    def grammar(self, request: ChatRequest) -> str:
        """Write no grammar: the form is free text.

        Errors:  GrammarError when a call is demanded.
        """
        if request.tools and request.tool_choice not in ("auto", "none"):
            raise GrammarError(
                f"tool_choice {request.tool_choice[:60]!r} in the dialect {self.name}",
                expected="auto or none: lines of text cannot be demanded",
                next_step="choose the json-calls dialect",
            )
        return ""

    def read(self, text: str) -> Reply:
        """Parse a reply: the first Action line with the Action Input after it, or words.

        The input is the JSON object that follows; what comes behind it is left out.
        """
        if len(text) > MAX_REPLY_CHARS:
            return make_reply(text, [])
        lines = text.split("\n")
        action = next((i for i, line in enumerate(lines) if line.strip().startswith(_ACTION)), None)
        if action is None:
            return make_reply(text.strip().removeprefix(_THOUGHT), [])
        name = lines[action].strip().removeprefix(_ACTION).strip()
        after = "\n".join(lines[action + 1 :]).lstrip()
        arguments = _first_object(after.removeprefix(_INPUT).lstrip()) if after.startswith(_INPUT) else None
        if not name or arguments is None:
            return make_reply(text, [], malformed=True)
        thought = "\n".join(lines[:action]).strip().removeprefix(_THOUGHT)
        return make_reply(thought, [(name, arguments)])

    def settle(self, text: str) -> str:
        """Return the words of a reply that is not whole: what comes before a line that may be an action."""
        begun = text.lstrip()
        if begun.startswith(_THOUGHT) or _THOUGHT.startswith(begun):
            return ""  # the mark is left out of a thought and kept in a reply that cannot be read
        lines = text.split("\n")
        action = next((i for i, line in enumerate(lines) if line.strip().startswith(_ACTION)), len(lines))
        if action == len(lines) and _ACTION.startswith(lines[-1].strip()):
            action -= 1
        return "\n".join(lines[:action]).strip()


def _first_object(text: str) -> str | None:
    if not text.startswith("{"):
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return text[:end] if read_object(text[:end]) is not None else None


def _write(message: Message) -> Message:
    if message.role == "tool":
        return Message(role="user", content=f"{_OBSERVATION} {message.content or ''}")
    if not message.tool_calls:
        return message
    parts = [f"{_THOUGHT} {message.content}"] if message.content else []
    parts += [_write_call(call) for call in message.tool_calls]
    return replace(message, content="\n".join(parts), tool_calls=())


def _write_call(call: ToolCall) -> str:
    return f"{_ACTION} {call.name}\n{_INPUT} {call.arguments}"
