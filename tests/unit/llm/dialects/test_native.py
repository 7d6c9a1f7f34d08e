"""Calls in the models' own forms: read literally, kept as text when they cannot be read."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import GrammarError
from replay.llm.dialects.native import FORMS, NativeCalls
from replay.llm.dialects.replies import Reply
from tests.support.chats import WEATHER, make_chat, make_tool
from tests.support.gbnf import parse_grammar

BY_NAME = {form.name: NativeCalls(form) for form in FORMS}


def read(form: str, text: str) -> tuple[str | None, list[tuple[str, str]], str]:
    """Words, calls and state of a reply."""
    reply: Reply = BY_NAME[form].read(text)
    return reply.content, [(call.name, call.arguments) for call in reply.tool_calls], reply.state


CALL = '{"name": "f", "arguments": {"b": 1.0,  "a": "x"}}'
READ = ("f", '{"b": 1.0,  "a": "x"}')


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Just words.", ("Just words.", [], "text")),
        (f"<tool_call>\n{CALL}\n</tool_call>", (None, [READ], "calls")),
        (f"<tool_call>{CALL}</tool_call><tool_call>{CALL}</tool_call>", (None, [READ, READ], "calls")),
        (f"Let me see.\n<tool_call>{CALL}</tool_call>\nDone.", ("Let me see.\n\nDone.", [READ], "calls")),
        (f"<tool_call>{CALL}", (None, [READ], "calls")),
        (
            '<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>',
            (None, [("f", '{"a": 1}')], "calls"),
        ),
        (
            f'<tool_call>{{"name": "f"</tool_call><tool_call>{CALL}</tool_call>',
            ('<tool_call>{"name": "f"</tool_call>', [READ], "malformed"),
        ),
        ("<tool_call>[1]</tool_call>", ("<tool_call>[1]</tool_call>", [], "malformed")),
        (
            '<tool_call>{"name": "", "arguments": {}}',
            ('<tool_call>{"name": "", "arguments": {}}', [], "malformed"),
        ),
        (
            '<tool_call>{"name": "f", "arguments": [1]}',
            ('<tool_call>{"name": "f", "arguments": [1]}', [], "malformed"),
        ),
        (
            '<tool_call>{"name": "f", "name": "g", "arguments": {}}</tool_call>',
            ('<tool_call>{"name": "f", "name": "g", "arguments": {}}</tool_call>', [], "malformed"),
        ),
        ("", (None, [], "text")),
    ],
)
def test_marked_calls(text: str, reply: tuple[str | None, list[tuple[str, str]], str]) -> None:
    """JSON between marks, with words beside it; the argument text is the model's own."""
    assert reply == read("hermes", text)


PARAMETERS = '{"name": "f", "parameters": {"a": 1.50}}'


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        (PARAMETERS, (None, [("f", '{"a": 1.50}')], "calls")),
        (f"<|python_tag|>{PARAMETERS}", (None, [("f", '{"a": 1.50}')], "calls")),
        (f"{PARAMETERS}; {CALL}", (None, [("f", '{"a": 1.50}'), READ], "calls")),
        ("It rains.", ("It rains.", [], "text")),
        ('{"temperature": 3}', ('{"temperature": 3}', [], "text")),
        (f"{PARAMETERS} and then", (f"{PARAMETERS} and then", [], "malformed")),
        (f"Call: {PARAMETERS}", (f"Call: {PARAMETERS}", [], "text")),
        ('{"name": "f", "parameters": {', ('{"name": "f", "parameters": {', [], "malformed")),
        ("<|python_tag|>print(1)", ("<|python_tag|>print(1)", [], "malformed")),
    ],
)
def test_bare_objects(text: str, reply: tuple[str | None, list[tuple[str, str]], str]) -> None:
    """A text that is calls and nothing else."""
    assert reply == read("llama3", text)


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        (f"[{CALL}]", (None, [READ], "calls")),
        (f"[TOOL_CALLS][{CALL}, {CALL}]", (None, [READ, READ], "calls")),
        (f"Words. [TOOL_CALLS] [{CALL}]", ("Words.", [READ], "calls")),
        ('[{"name": "f", "arguments": {}, "id": "abcdefghi"}]', (None, [("f", "{}")], "calls")),
        ("[1, 2]", ("[1, 2]", [], "text")),
        ("Words.", ("Words.", [], "text")),
        (f"[{CALL}, 1]", (f"[{CALL}, 1]", [], "malformed")),
        ("[TOOL_CALLS]f{}", ("[TOOL_CALLS]f{}", [], "malformed")),
        (f"[{CALL}", (f"[{CALL}", [], "malformed")),
        ("[" * 100_000, ("[" * 100_000, [], "text")),
    ],
)
def test_lists_of_calls(text: str, reply: tuple[str | None, list[tuple[str, str]], str]) -> None:
    """One JSON list."""
    assert reply == read("mistral", text)


def test_calls_are_bounded() -> None:
    """More than 32 calls in one reply are not calls any more."""
    content, calls, state = read("hermes", f"<tool_call>{CALL}</tool_call>" * 40)
    assert (32, "malformed") == (len(calls), state)
    assert content is not None
    assert 8 == content.count("<tool_call>")


def test_calls_are_numbered() -> None:
    """Ids tell the calls of one reply apart."""
    reply = BY_NAME["hermes"].read(f"<tool_call>{CALL}</tool_call>" * 2)
    assert ["call_0", "call_1"] == [call.id for call in reply.tool_calls]


@pytest.mark.parametrize("form", BY_NAME)
def test_a_free_reply_has_no_grammar(form: str) -> None:
    """The model decides, in its own form."""
    assert "" == BY_NAME[form].grammar(make_chat(tools=(WEATHER,)))


@pytest.mark.parametrize(("form", "arguments"), [("hermes", "arguments"), ("llama3", "parameters")])
def test_a_demanded_call_is_held_to_the_form(form: str, arguments: str) -> None:
    """The grammar writes what the form reads."""
    calls = BY_NAME[form]
    request = make_chat(tools=(WEATHER, make_tool("news")), tool_choice="news")
    grammar = parse_grammar(calls.grammar(request))
    call = json.dumps({"name": "news", arguments: {"city": "Oslo", "days": 3}})
    text = f"<tool_call>\n{call}\n</tool_call>" if form == "hermes" else call
    assert grammar.accepts(text)
    assert not grammar.accepts(text.replace("news", "weather"))
    assert ["news"] == [found.name for found in calls.read(text).tool_calls]


def test_a_form_that_begins_with_a_control_token_cannot_be_demanded() -> None:
    """Said before the model is asked."""
    with pytest.raises(GrammarError, match="tool_choice 'required' in the dialect native-mistral"):
        BY_NAME["mistral"].grammar(make_chat(tools=(WEATHER,), tool_choice="required"))
