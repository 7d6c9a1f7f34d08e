"""A conversation, put in order once: what every template can be given.

Rules, applied in this order. Contents that are missing are empty text; calls that are none are left out; a
tool result must answer a call that was made before it and not answered yet. Where a template knows no system
message, it goes in front of the first user message; where it takes one at the start only, later ones become
user messages; where roles must alternate, neighbours of one role become one message, an empty line between.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError, HistoryError
from replay.core.types import Json, Message, ToolCall, ToolSpec

__all__ = [
    "alternate",
    "check_history",
    "content_text",
    "fold_system",
    "function_object",
    "message_objects",
    "split_calls",
]

ROLES: Final = ("system", "user", "assistant", "tool")
_BETWEEN: Final = "\n\n"
_ID_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_ID_LENGTH: Final = 9  # what the strictest template known demands: nine letters or digits


def content_text(content: Json) -> str:
    """Read the content of a message of outside form: text, nothing, or a list of text parts.

    Errors:  HistoryError for a part that is not text: no model here sees pictures.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise HistoryError(
            "message content of an unknown form", expected="text, null or a list of text parts"
        )
    texts: list[str] = []
    for index, part in enumerate(content):
        is_text = isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
        if not is_text:
            raise HistoryError(f"content part {index} is not text", expected='{"type": "text", "text": ...}')
        texts.append(part["text"])
    return "".join(texts)


def check_history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with every content a text, if a prompt can be made of them.

    Errors:  HistoryError naming the message: none at all, an unknown role, a tool result without its call.
    """
    if not messages:
        raise HistoryError("a conversation without messages", expected="at least one")
    waiting: Counter[str] = Counter()
    checked: list[Message] = []
    for index, message in enumerate(messages):
        where = f"message {index}"
        if message.role not in ROLES:
            raise HistoryError(
                f"role {message.role[:40]!r}", where=where, expected=f"one of {', '.join(ROLES)}"
            )
        if message.tool_calls and message.role != "assistant":
            raise HistoryError(f"calls in a message of role {message.role}", where=where, expected="none")
        if message.role == "tool":
            if not waiting[message.tool_call_id]:
                raise HistoryError(
                    f"tool result for call {message.tool_call_id[:60]!r}, which is not waiting for one",
                    where=where,
                    expected="the id of an earlier call without a result",
                )
            waiting[message.tool_call_id] -= 1
        waiting.update(call.id for call in message.tool_calls)
        checked.append(replace(message, content=content_text(message.content)))
    return tuple(checked)


def fold_system(messages: Sequence[Message], *, at_start: bool, later: bool) -> tuple[Message, ...]:
    """Move system messages to where a template takes them.

    at_start: a system message may open the conversation.
    later: system messages may stand anywhere.
    """
    folded: list[Message] = []
    opening: list[str] = []
    for message in messages:
        if message.role != "system":
            if opening and message.role == "user":
                folded.append(replace(message, content=_join([*opening, message.content or ""])))
                opening = []
            else:
                folded.append(message)
        elif (at_start and not folded) or (later and at_start):
            folded.append(message)
        elif folded and any(earlier.role != "system" for earlier in folded):
            folded.append(replace(message, role="user"))
        else:
            opening.append(message.content or "")
    if opening:
        folded.append(Message(role="user", content=_join(opening)))
    return tuple(folded)


def alternate(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Make one message of neighbours of one role."""
    merged: list[Message] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is None or last.role != message.role or message.role == "tool":
            merged.append(message)
            continue
        merged[-1] = replace(
            last,
            content=_join([last.content or "", message.content or ""]),
            tool_calls=last.tool_calls + message.tool_calls,
        )
    return tuple(merged)


def split_calls(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Give each call a message of its own, its result behind it: for templates that write one a message."""
    results = {
        (position, message.tool_call_id): message
        for position, message in _with_turns(messages)
        if message.role == "tool"
    }
    split: list[Message] = []
    for position, message in _with_turns(messages):
        if len(message.tool_calls) < 2:
            if message.role != "tool" or (position, message.tool_call_id) in results:
                split.append(message)
            continue
        for index, call in enumerate(message.tool_calls):
            split.append(replace(message, content="" if index else message.content, tool_calls=(call,)))
            answer = results.pop((position, call.id), None)
            if answer is not None:
                split.append(answer)
    return tuple(split)


def _with_turns(messages: Sequence[Message]) -> Iterator[tuple[int, Message]]:
    """Number messages by the last message with calls before them, which is what results answer."""
    turn = 0
    for message in messages:
        turn += bool(message.tool_calls)
        yield turn, message


def message_objects(messages: Iterable[Message], *, parsed_arguments: bool) -> list[dict[str, Json]]:
    """Write messages as the objects that chat templates read.

    parsed_arguments: arguments are objects (where they are such), not their text.
    """
    return [_message_object(message, _arguments if parsed_arguments else str) for message in messages]


def function_object(spec: ToolSpec) -> dict[str, Json]:
    """Write a tool as the object that chat templates read."""
    parameters = (
        spec.parameters if isinstance(spec.parameters, dict) else {"type": "object", "properties": {}}
    )
    function = {"name": spec.name, "description": spec.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _message_object(message: Message, arguments: Callable[[str], Json]) -> dict[str, Json]:
    written: dict[str, Json] = {"role": message.role, "content": message.content or ""}
    if message.tool_calls:
        written["tool_calls"] = [_call_object(call, arguments) for call in message.tool_calls]
    if message.role == "tool":
        written["tool_call_id"] = _short_id(message.tool_call_id)
        written["name"] = message.name
    return written


def _call_object(call: ToolCall, arguments: Callable[[str], Json]) -> dict[str, Json]:
    function = {"name": call.name, "arguments": arguments(call.arguments)}
    return {"id": _short_id(call.id), "type": "function", "function": function}


def _arguments(text: str) -> Json:
    """Read argument text as an object; what is none stays the text that the model wrote."""
    try:
        value = parse_json(text)
    except CanonicalError:
        return text
    return value if isinstance(value, dict) else text


def _short_id(call_id: str) -> str:
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    letters: list[str] = []
    for _ in range(_ID_LENGTH):
        number, place = divmod(number, len(_ID_LETTERS))
        letters.append(_ID_LETTERS[place])
    return "".join(letters)


def _join(texts: Iterable[str]) -> str:
    return _BETWEEN.join(text for text in texts if text)
