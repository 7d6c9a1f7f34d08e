"""Calls in lines: Thought, Action, Action Input."""

from __future__ import annotations

import pytest

from replay.core.errors import GrammarError
from replay.llm.dialects.history import check_history
from replay.llm.dialects.react import ReactCalls
from tests.support.chats import WEATHER, make_call, make_chat, make_result, say

REACT = ReactCalls()


@pytest.mark.parametrize(
    ("text", "content", "call"),
    [
        (
            'Thought: I must look.\nAction: weather\nAction Input: {"city":  "Oslo", "days": 1.0}',
            "I must look.",
            ("weather", '{"city":  "Oslo", "days": 1.0}'),
        ),
        ('Action: weather\nAction Input: {\n "a": 1\n}\n\nThought: more', None, ("weather", '{\n "a": 1\n}')),
        (" Thought: a\nb\n Action:  f \nAction Input:{}\nAction: g\nAction Input: {}", "a\nb", ("f", "{}")),
    ],
)
def test_a_call_is_read_from_its_lines(text: str, content: str | None, call: tuple[str, str]) -> None:
    """The first one, with the object that follows; what comes behind is left out."""
    reply = REACT.read(text)
    assert ("calls", content) == (reply.state, reply.content)
    assert [call] == [(found.name, found.arguments) for found in reply.tool_calls]


@pytest.mark.parametrize(
    ("text", "content"), [("Thought: It rains.", "It rains."), ("It rains.", "It rains."), ("", None)]
)
def test_words_are_words(text: str, content: str | None) -> None:
    """Without an Action line there is no call."""
    reply = REACT.read(text)
    assert ("text", content, ()) == (reply.state, reply.content, reply.tool_calls)


@pytest.mark.parametrize(
    "text",
    [
        "Action: weather",
        "Action: weather\nAction Input: Oslo",
        'Action: weather\nAction Input: {"a": 1',
        "Action:\nAction Input: {}",
        "Action: weather\nInput: {}",
        'Action: f\nAction Input: {"a": 1, "a": 2}',
        "Action: f\nAction Input: " + '{"a":' * 50_000,
    ],
)
def test_calls_that_cannot_be_read_stay_text(text: str) -> None:
    """As the model wrote them, and typed."""
    reply = REACT.read(text)
    assert ("malformed", text, ()) == (reply.state, reply.content, reply.tool_calls)


def test_earlier_turns_are_written_in_lines() -> None:
    """Results are observations that the user brings."""
    spoken = say("assistant", "Hm.", make_call(), make_call('{"city": "Rome"}', call_id="call_2"))
    request = make_chat(say("user", "Rain?"), spoken, make_result("no"), tools=(WEATHER,))
    written = REACT.instruct(check_history(request.messages), request)
    first = 'Thought: Hm.\nAction: weather\nAction Input: {"city": "Oslo"}'
    second = 'Action: weather\nAction Input: {"city": "Rome"}'
    assert [f"{first}\n{second}", "Observation: no"] == [message.content for message in written[2:]]
    assert written[0].content is not None
    assert '"name": "weather"' in written[0].content


def test_a_reply_ends_before_an_observation() -> None:
    """The model must not write what a tool gives back."""
    assert ("\nObservation:",) == REACT.stop


def test_lines_cannot_be_demanded() -> None:
    """There is no grammar for them; said before the model is asked."""
    assert "" == REACT.grammar(make_chat(tools=(WEATHER,)))
    with pytest.raises(GrammarError, match="tool_choice 'required' in the dialect react"):
        REACT.grammar(make_chat(tools=(WEATHER,), tool_choice="required"))
