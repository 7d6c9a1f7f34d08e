"""Calls as models write them themselves, where their chat template knows tools.

Three forms are read: JSON between `<tool_call>` marks (Hermes, Qwen and many after them), one JSON object a
call with `parameters` (Llama 3), and one JSON list of calls (Mistral). Which one a model has is not guessed
from its name: a call is written with its template, and the form that reads the same call back is the one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from replay.core.errors import GrammarError
from replay.core.types import ChatRequest, Message, Record
from replay.llm.dialects.arguments import call_schema, callable_tools
from replay.llm.dialects.replies import (
    MAX_CALLS,
    CallText,
    Reply,
    before_mark,
    items_of,
    make_reply,
    read_call,
    read_object,
)
from replay.llm.grammar.schema import compile_schema

__all__ = ["FORMS", "NativeCalls", "NativeForm"]

_MARKED: Final = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_TAG: Final = "<|python_tag|>"
_LIST_TAG: Final = "[TOOL_CALLS]"
_ROOT: Final = "root ::= "


class NativeForm(Record, frozen=True, kw_only=True):
    """One way of writing calls."""

    name: str
    read: Callable[[str], Reply]
    settle: Callable[[str], str]
    """Words at the beginning of a text that are the reply's, whatever follows."""
    arguments: str = "arguments"
    """What the member with the arguments is called."""
    before: str = ""
    after: str = ""
    """Marks around a call that is demanded; control tokens cannot be, so a form may have none."""
    can_demand: bool = True


class NativeCalls:
    """Calls in the model's own form: tools go to its template, calls are read from its text."""

    in_template = True
    stop: tuple[str, ...] = ()

    def __init__(self, form: NativeForm) -> None:
        """Read this form."""
        self._form = form
        self.name = f"native-{form.name}"

    @property
    def version(self) -> str:
        """What else than the name tells this form from others."""
        return ""

    def instruct(self, messages: tuple[Message, ...], request: ChatRequest) -> tuple[Message, ...]:  # noqa: ARG002
        """Add nothing: the template tells the model what it needs."""
        return messages

    def grammar(self, request: ChatRequest) -> str:
        """Write the grammar of a call that is demanded; empty when the model is free.

        Errors:  GrammarError when this form cannot demand one.
        """
        if not request.tools or request.tool_choice in ("auto", "none"):
            return ""
        if not self._form.can_demand:
            raise GrammarError(
                f"tool_choice {request.tool_choice[:60]!r} in the dialect {self.name}",
                expected="auto or none: its mark of a call is a control token",
                next_step="choose the json-calls dialect",
            )
        schema = call_schema(callable_tools(request), arguments=self._form.arguments)
        inner = compile_schema(schema).gbnf.removeprefix(_ROOT)
        before, after = json.dumps(self._form.before), json.dumps(self._form.after)
        return f"{_ROOT}{before} call {after}\ncall ::= {inner}"

    def read(self, text: str) -> Reply:
        """Parse a reply."""
        return self._form.read(text)

    def settle(self, text: str) -> str:
        """Return the words of a reply that is not whole, as far as nothing to come can change them."""
        return self._form.settle(text).strip()


def _read_marked(text: str) -> Reply:
    """Read JSON between marks; a call that cannot be read stays in the words, mark and all."""
    calls: list[CallText] = []
    words: list[str] = []
    at = 0
    malformed = False
    for found in _MARKED.finditer(text):
        call = read_call(found[1].strip()) if len(calls) < MAX_CALLS else None
        end = found.start() if call is not None else found.end()
        words.append(text[at:end])
        at = found.end()
        if call is None:
            malformed = True
        else:
            calls.append(call)
    return make_reply("".join([*words, text[at:]]), calls, malformed=malformed)


def _read_objects(text: str) -> Reply:
    """Read a text that is nothing but calls, one object after the other, semicolons between them."""
    body = text.strip()
    tagged = body.startswith(_TAG)
    rest = body.removeprefix(_TAG).strip()
    calls: list[CallText] = []
    decoder = json.JSONDecoder()
    while rest.startswith("{") and len(calls) < MAX_CALLS:
        try:
            _, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError):
            break
        call = read_call(rest[:end], arguments=("parameters", "arguments"))
        if call is None:
            break
        calls.append(call)
        rest = rest[end:].lstrip(" \t\r\n;")
    if rest or not calls:
        return make_reply(text, [], malformed=tagged or bool(calls) or _looks_like_call(body))
    return make_reply("", calls)


def _read_list(text: str) -> Reply:
    """Read one JSON list of calls at the end of the text, marked, or as the whole text."""
    words, tag, body = text.rpartition(_LIST_TAG)
    body = body.strip()
    if not tag and not body.startswith("["):
        return make_reply(text, [])
    wrapped = f'{{"calls": {body}}}'
    value = read_object(wrapped)
    items = list(items_of(body)) if value is not None and isinstance(value.get("calls"), list) else []
    calls = [call for call in map(_read_item, items) if call is not None]
    if not calls or len(calls) != len(items) or len(calls) > MAX_CALLS:
        return make_reply(text, [], malformed=bool(tag) or '"name"' in body)
    return make_reply(words, calls)


def _settle_marked(text: str) -> str:
    return before_mark(text, "<tool_call>")


def _settle_objects(text: str) -> str:
    begun = text.lstrip()
    may_be_tag = _TAG.startswith(begun) or begun.startswith(_TAG)
    return "" if may_be_tag or begun.startswith("{") else text


def _settle_list(text: str) -> str:
    return "" if text.lstrip().startswith("[") else before_mark(text, _LIST_TAG)


def _read_item(text: str) -> CallText | None:
    return read_call(text, beside=("id",))


def _looks_like_call(text: str) -> bool:
    return text.startswith('{"name"')


FORMS: Final = (
    NativeForm(
        name="hermes",
        read=_read_marked,
        settle=_settle_marked,
        before="<tool_call>\n",
        after="\n</tool_call>",
    ),
    NativeForm(name="llama3", read=_read_objects, settle=_settle_objects, arguments="parameters"),
    NativeForm(name="mistral", read=_read_list, settle=_settle_list, can_demand=False),
)
"""In the order in which they are tried."""
