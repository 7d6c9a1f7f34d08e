"""What a model's text turned out to be: words, calls, or calls that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError
from replay.core.types import Json, Record, ToolCall

__all__ = [
    "CALLS",
    "MALFORMED",
    "MAX_CALLS",
    "MAX_REPLY_CHARS",
    "TEXT",
    "CallText",
    "Reply",
    "before_mark",
    "items_of",
    "make_reply",
    "members_of",
    "read_call",
    "read_object",
]

TEXT: Final = "text"
"""Words and no attempt at a call."""
CALLS: Final = "calls"
"""Calls, perhaps with words beside them."""
MALFORMED: Final = "malformed"
"""At least one attempt at a call that cannot be read; it stays in the words as the model wrote it."""

MAX_CALLS: Final = 32
MAX_REPLY_CHARS: Final = 1 << 20

_BLANK: Final = " \t\n\r"
_DECODER: Final = json.JSONDecoder()

CallText = tuple[str, str]
"""Name and argument text of a call; the arguments are the model's own characters."""


class Reply(Record, frozen=True, kw_only=True):
    """One reply of a model, parsed literally."""

    content: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    state: str = TEXT
    """text, calls or malformed."""


def make_reply(content: str, calls: list[CallText], *, malformed: bool = False) -> Reply:
    """Put a reply together; calls are numbered, and empty words are none."""
    numbered = tuple(
        ToolCall(id=f"call_{number}", name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(calls)
    )
    state = MALFORMED if malformed else CALLS if numbered else TEXT
    return Reply(content=content.strip() or None, tool_calls=numbered, state=state)


def before_mark(text: str, mark: str) -> str:
    """Return what stands before the first mark, or before an end of the text that may become one."""
    found = text.find(mark)
    if found >= 0:
        return text[:found]
    ends = range(min(len(mark) - 1, len(text)), 0, -1)
    return text[: len(text) - next((size for size in ends if text.endswith(mark[:size])), 0)]


def read_call(
    text: str, *, arguments: tuple[str, ...] = ("arguments",), beside: tuple[str, ...] = ()
) -> CallText | None:
    """Read `{"name": ..., "arguments": ...}`, arguments under one of the names given; None for all else.

    Members named in `beside` may be there and are not looked at. The argument text is cut out of the model's
    text as it stands; arguments written as JSON text are taken out of their quotes.
    """
    value = read_object(text)
    if value is None or not isinstance(value.get("name"), str) or not value["name"]:
        return None
    named = [name for name in arguments if name in value]
    if len(named) != 1 or value.keys() - set(beside) != {"name", named[0]}:
        return None
    inner = value[named[0]]
    if isinstance(inner, str):
        return value["name"], inner
    if not isinstance(inner, dict):
        return None
    return value["name"], dict(members_of(text))[named[0]]


def read_object(text: str) -> dict[str, Json] | None:
    """Parse a whole text strictly as one JSON object; None when it is anything else."""
    if len(text) > MAX_REPLY_CHARS:
        return None
    try:
        value = parse_json(text)
    except CanonicalError:
        return None
    return value if isinstance(value, dict) else None


def members_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each member of an object that is known to be valid JSON."""
    at = _skip(text, 0) + 1
    while text[(at := _skip(text, at))] != "}":
        name, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield name, text[start:end]
        at = _skip(text, end)
        at += text[at] == ","


def items_of(text: str) -> Iterator[str]:
    """Yield the text of each item of an array that is known to be valid JSON."""
    at = _skip(text, 0) + 1
    while text[(at := _skip(text, at))] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield text[at:end]
        at = _skip(text, end)
        at += text[at] == ","


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at
