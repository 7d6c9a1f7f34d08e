"""Calls in one JSON object of our own: for models whose template knows no tools.

The model is told the form by a versioned prompt and held to it by a grammar, so its reply is words and calls
or it is cut short; nothing in between has to be guessed.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import Final

from msgspec.structs import replace

from replay.core.canonical import digest
from replay.core.types import ChatRequest, Json, Message, ToolCall, ToolSpec
from replay.llm.dialects.arguments import call_schema, callable_tools
from replay.llm.dialects.replies import (
    CallText,
    Reply,
    items_of,
    make_reply,
    members_of,
    read_call,
    read_object,
)
from replay.llm.dialects.wording import add_to_system, load_wording, write_functions
from replay.llm.grammar.bounds import Bounds
from replay.llm.grammar.schema import compile_schema

__all__ = ["JsonCalls"]

_MOST_CALLS: Final = 4  # of one reply: as many as a conversation can sensibly answer at once
_MOST_TEXT: Final = 1000
_KEPT_GRAMMARS: Final = 64
_BOUNDS: Final = Bounds()


class JsonCalls:
    """Words and calls as one JSON object."""

    in_template = False
    stop: tuple[str, ...] = ()
    name = "json-calls"

    def __init__(self) -> None:
        """Load the wording."""
        self._prompt = load_wording("json-calls-1")
        self._result = load_wording("tool-result-1")
        self._grammars: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def version(self) -> str:
        """Digest of everything that is said to the model."""
        return digest("wording", [self._prompt.digest, self._result.digest])

    def instruct(self, messages: tuple[Message, ...], request: ChatRequest) -> tuple[Message, ...]:
        """Tell the model the functions and the form; write its earlier replies in that form."""
        tools = callable_tools(request)
        written = tuple(self._write(message, in_form=bool(tools)) for message in messages)
        if not tools:
            return written
        [told] = self._prompt.fill({"functions": write_functions(tools)})
        return add_to_system(written, told.content or "")

    def grammar(self, request: ChatRequest) -> str:
        """Write the grammar of a reply; empty when there is nothing to call.

        Errors:  GrammarError naming a tool whose parameters no grammar can keep.
        """
        tools = callable_tools(request)
        if not tools:
            return ""
        schema = _reply_schema(tools, at_least=0 if request.tool_choice == "auto" else 1)
        key = digest("reply-schema", schema)
        with self._lock:
            found = self._grammars.get(key)
        if found is None:
            found = compile_schema(schema, bounds=_BOUNDS).gbnf
            with self._lock:
                self._grammars[key] = found
                while len(self._grammars) > _KEPT_GRAMMARS:
                    self._grammars.popitem(last=False)
        return found

    def read(self, text: str) -> Reply:
        """Parse a reply: exactly the documented object, or words."""
        body = text.strip()
        value = read_object(body)
        if value is None or not _is_reply(value):
            return make_reply(text, [], malformed=body.startswith("{"))
        listed = dict(members_of(body)).get("calls", "[]")
        calls = [read_call(item) for item in items_of(listed)]
        if None in calls:
            return make_reply(text, [], malformed=True)
        read: list[CallText] = [call for call in calls if call is not None]
        return make_reply(value["text"], read)

    def settle(self, text: str) -> str:
        """Return the words of a reply that is not whole: all, unless it may become the documented object."""
        words = text.strip()
        return "" if words.startswith("{") else words

    def _write(self, message: Message, *, in_form: bool) -> Message:
        if message.role == "tool":
            values = {"name": message.name or "the call", "content": message.content or ""}
            [told] = self._result.fill(values)
            return Message(role="user", content=told.content)
        if message.role == "assistant" and (in_form or message.tool_calls):
            text = json.dumps(message.content or "", ensure_ascii=False)
            calls = ", ".join(_write_call(call) for call in message.tool_calls)
            return replace(message, content=f'{{"text": {text}, "calls": [{calls}]}}', tool_calls=())
        return message


def _write_call(call: ToolCall) -> str:
    """Write a call with the model's own argument text; what is no object becomes a JSON text."""
    is_object = read_object(call.arguments) is not None
    arguments = call.arguments.strip() if is_object else json.dumps(call.arguments, ensure_ascii=False)
    return f'{{"name": {json.dumps(call.name, ensure_ascii=False)}, "arguments": {arguments}}}'


def _reply_schema(tools: tuple[ToolSpec, ...], *, at_least: int) -> dict[str, Json]:
    call = call_schema(tools)
    return {
        "type": "object",
        "properties": {
            # A demanded call is all there is to say, and one is enough: small models repeat themselves.
            "text": {"type": "string", "maxLength": 0 if at_least else _MOST_TEXT},
            "calls": {
                "type": "array",
                "items": {"anyOf": call["anyOf"]},
                "minItems": at_least,
                "maxItems": 1 if at_least else _MOST_CALLS,
            },
        },
        "required": ["text", "calls"],
        "additionalProperties": False,
        "$defs": call["$defs"],
    }


def _is_reply(value: dict[str, Json]) -> bool:
    named = value.keys() in ({"text", "calls"}, {"text"})
    return named and isinstance(value["text"], str) and isinstance(value.get("calls", []), list)
