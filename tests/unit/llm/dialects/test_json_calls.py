"""Words and calls as one JSON object of our own."""

from __future__ import annotations

import json

import pytest

from replay.core.canonical import parse_json
from replay.core.determinism import Stream
from replay.core.errors import GrammarError
from replay.core.types import Json
from replay.llm.dialects.history import check_history
from replay.llm.dialects.json_calls import JsonCalls
from tests.support.chats import WEATHER, make_call, make_chat, make_result, make_tool, say
from tests.support.gbnf import Grammar, parse_grammar

CALLS = JsonCalls()


def grammar_for(*, tool_choice: str = "auto") -> Grammar:
    """The grammar of a reply to a request with two tools."""
    return parse_grammar(
        CALLS.grammar(make_chat(tools=(WEATHER, make_tool("news")), tool_choice=tool_choice))
    )


def reply_text(*calls: Json, text: str = "ok") -> str:
    """A reply in the documented form."""
    return json.dumps({"text": text, "calls": list(calls)})


def test_the_model_is_told_functions_and_form() -> None:
    """At the end of the system message, or in one of its own."""
    request = make_chat(tools=(WEATHER,))
    alone = CALLS.instruct(request.messages, request)
    after = CALLS.instruct((say("system", "Be kind."), *request.messages), request)
    assert ["system", "user"] == [message.role for message in alone]
    assert alone[0].content is not None
    assert '{"name": "weather", "description": "Tells the weather.", "parameters": {' in alone[0].content
    assert after[0].content == f"Be kind.\n\n{alone[0].content}"


def test_without_tools_nothing_is_told() -> None:
    """Nor when no call is wanted."""
    for request in (make_chat(), make_chat(tools=(WEATHER,), tool_choice="none")):
        assert request.messages == CALLS.instruct(request.messages, request)
        assert "" == CALLS.grammar(request)


def test_a_demanded_function_is_the_only_one_told() -> None:
    """The model is not shown what it may not call."""
    request = make_chat(tools=(WEATHER, make_tool("news")), tool_choice="news")
    told = CALLS.instruct(request.messages, request)[0].content
    assert told is not None
    assert "weather" not in told


def test_earlier_replies_are_written_in_the_form() -> None:
    """With the model's own argument text; results come as user messages that name the function."""
    spoken = say("assistant", "Hm.", make_call('{"city":  "Oslo", "days": 1.0}'))
    request = make_chat(
        say("user", "Rain?"), spoken, make_result("no"), say("assistant", "No."), tools=(WEATHER,)
    )
    written = CALLS.instruct(check_history(request.messages), request)[2:]
    assert [
        '{"text": "Hm.", "calls": [{"name": "weather", "arguments": {"city":  "Oslo", "days": 1.0}}]}',
        "Result of weather:\nno",
        '{"text": "No.", "calls": []}',
    ] == [message.content for message in written]
    assert ["assistant", "user", "assistant"] == [message.role for message in written]


def test_malformed_arguments_are_written_as_text() -> None:
    """The history stays JSON, and says what the model wrote."""
    request = make_chat(say("user", "?"), say("assistant", "", make_call("{broken")), tools=(WEATHER,))
    written = CALLS.instruct(check_history(request.messages), request)[2].content
    assert {"text": "", "calls": [{"name": "weather", "arguments": "{broken"}]} == parse_json(written or "")


@pytest.mark.parametrize(
    ("calls", "fits"),
    [
        ([], True),
        ([{"name": "weather", "arguments": {"city": "Oslo"}}], True),
        ([{"name": "weather", "arguments": {"city": "Oslo", "days": 7}}] * 4, True),
        ([{"name": "weather", "arguments": {"city": "Oslo"}}] * 5, False),
        ([{"name": "weather", "arguments": {"city": "Oslo", "days": 8}}], False),
        ([{"name": "weather", "arguments": {}}], False),
        ([{"name": "sports", "arguments": {"city": "Oslo"}}], False),
        ([{"name": "weather"}], False),
    ],
)
def test_the_grammar_knows_the_functions(calls: list[Json], fits: bool) -> None:
    """Names, parameters, and at most four calls."""
    assert fits == grammar_for().accepts(reply_text(*calls))


def test_a_demanded_call_must_be_there() -> None:
    """One call and no words: neither words alone nor a second call fits."""
    call = {"name": "news", "arguments": {"city": "Oslo"}}
    replies = [reply_text(), reply_text(call), reply_text(call, text=""), reply_text(call, call, text="")]
    accepts = grammar_for(tool_choice="required").accepts
    assert [False, False, True, False] == [accepts(text) for text in replies]


def test_whatever_the_grammar_writes_is_read() -> None:
    """Constrained replies are never malformed."""
    grammar, stream = grammar_for(), Stream("replies")
    states = {CALLS.read(grammar.generate(stream, room=300)).state for _ in range(60)}
    assert {"text", "calls"} == states


def test_equal_tools_give_one_compiled_grammar() -> None:
    """Every turn of an episode has the same tools."""
    request = make_chat(tools=(WEATHER,))
    assert CALLS.grammar(request) is CALLS.grammar(make_chat(say("user", "Another?"), tools=(make_tool(),)))


def test_a_demanded_function_that_is_not_there_is_an_error() -> None:
    """The names there are, are listed."""
    with pytest.raises(
        GrammarError, match="tool_choice 'sports'; expected auto, none, required or one of weather, news"
    ):
        grammar_for(tool_choice="sports")


@pytest.mark.parametrize(
    ("text", "content", "calls", "state"),
    [
        (
            ' {"text": "ok", "calls": [{"name": "f", "arguments": {"b": 1.00, "a": [ ]}}]}\n',
            "ok",
            [("f", '{"b": 1.00, "a": [ ]}')],
            "calls",
        ),
        ('{"calls": [], "text": ""}', None, [], "text"),
        ('{"text": "Bye."}', "Bye.", [], "text"),
        ("Words.", "Words.", [], "text"),
        ('{"text": "cut sho', '{"text": "cut sho', [], "malformed"),
        ('{"text": 1, "calls": []}', '{"text": 1, "calls": []}', [], "malformed"),
        ('{"text": "", "calls": {}}', '{"text": "", "calls": {}}', [], "malformed"),
        ('{"text": "", "calls": [1]}', '{"text": "", "calls": [1]}', [], "malformed"),
        ('{"name": "f", "arguments": {}}', '{"name": "f", "arguments": {}}', [], "malformed"),
    ],
)
def test_replies_are_read_literally(
    text: str, content: str | None, calls: list[tuple[str, str]], state: str
) -> None:
    """The documented object, or words; nothing is repaired."""
    reply = CALLS.read(text)
    assert (content, state) == (reply.content, reply.state)
    assert calls == [(call.name, call.arguments) for call in reply.tool_calls]
