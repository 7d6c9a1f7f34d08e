"""Conversations are put in order once, the same way for every template."""

from __future__ import annotations

import pytest

from replay.core.errors import HistoryError
from replay.core.types import Json, Message
from replay.llm.dialects.history import (
    alternate,
    check_history,
    content_text,
    fold_system,
    message_objects,
    split_calls,
)
from tests.support.chats import make_call, make_result, say

SYSTEM, USER, ASSISTANT = say("system", "S"), say("user", "U"), say("assistant", "A")


def brief(messages: tuple[Message, ...]) -> list[tuple[str, str | None]]:
    """Roles and contents."""
    return [(message.role, message.content) for message in messages]


def test_missing_content_is_empty_text() -> None:
    """Templates join contents with `+`."""
    assert [("user", ""), ("assistant", "")] == brief(
        check_history([say("user", None), say("assistant", None)])
    )


def test_calls_that_are_none_are_left_out() -> None:
    """An empty `tool_calls` makes some templates fail."""
    [written] = message_objects([say("assistant", "A")], parsed_arguments=True)
    assert {"role": "assistant", "content": "A"} == written


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("x", "x"),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
    ],
)
def test_content_parts_are_joined(content: Json, text: str) -> None:
    """Text parts of outside messages are one text."""
    assert text == content_text(content)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ([{"type": "image_url"}], "content part 0 is not text"),
        (["a"], "content part 0 is not text"),
        ([{"type": "text", "text": 1}], "content part 0 is not text"),
        (7, "message content of an unknown form"),
    ],
)
def test_content_that_is_not_text_is_an_error(content: Json, what: str) -> None:
    """No model here sees pictures."""
    with pytest.raises(HistoryError, match=what):
        content_text(content)


def test_a_result_answers_an_earlier_call() -> None:
    """Also when calls of one turn are answered in another order, or not all of them."""
    spoken = say("assistant", None, make_call(call_id="a"), make_call(call_id="b"), make_call(call_id="c"))
    assert 4 == len(check_history([USER, spoken, make_result(call_id="b"), make_result(call_id="a")]))


def test_ids_may_come_again_in_later_turns() -> None:
    """Models number the calls of each turn from one."""
    turn = (say("assistant", None, make_call()), make_result())
    assert 5 == len(check_history([USER, *turn, *turn]))


@pytest.mark.parametrize(
    ("messages", "what"),
    [
        ([], "a conversation without messages"),
        ([say("robot", "x")], r"role 'robot' \(message 0\); expected one of system, user, assistant, tool"),
        (
            [USER, make_result(call_id="zzz")],
            r"tool result for call 'zzz', which is not waiting .*\(message 1\)",
        ),
        ([USER, say("assistant", "", make_call()), make_result(), make_result()], r"message 3"),
        ([USER, make_result(), say("assistant", "", make_call())], r"message 1"),
        ([say("user", "x", make_call())], "calls in a message of role user"),
    ],
)
def test_conversations_that_make_no_sense_are_typed_errors(messages: list[Message], what: str) -> None:
    """An orphan is named, not dropped."""
    with pytest.raises(HistoryError, match=what):
        check_history(messages)


def test_system_messages_stay_where_a_template_takes_them() -> None:
    """Nothing is moved without need."""
    messages = (SYSTEM, USER, ASSISTANT, SYSTEM, USER)
    assert messages == fold_system(messages, at_start=True, later=True)


def test_later_system_messages_become_user_messages() -> None:
    """For templates that take one at the start only."""
    folded = fold_system((SYSTEM, USER, ASSISTANT, say("system", "T"), USER), at_start=True, later=False)
    assert [("system", "S"), ("user", "U"), ("assistant", "A"), ("user", "T"), ("user", "U")] == brief(folded)


def test_an_opening_system_message_goes_before_the_first_user_message() -> None:
    """For templates that know none at all."""
    folded = fold_system((SYSTEM, say("system", "T"), USER, ASSISTANT), at_start=False, later=False)
    assert [("user", "S\n\nT\n\nU"), ("assistant", "A")] == brief(folded)


def test_a_system_message_alone_becomes_a_user_message() -> None:
    """There is no user message to go before."""
    assert [("user", "S")] == brief(fold_system((SYSTEM,), at_start=False, later=False))


def test_neighbours_of_one_role_become_one() -> None:
    """An empty line between, calls one after the other, tool results apart."""
    spoken = say("assistant", "B", make_call(call_id="b"))
    first = say("assistant", "A", make_call(call_id="a"))
    messages = (USER, USER, first, spoken, make_result(call_id="a"), make_result(call_id="b"))
    merged = alternate(messages)
    assert [("user", "U\n\nU"), ("assistant", "A\n\nB"), ("tool", "rain"), ("tool", "rain")] == brief(merged)
    assert ["a", "b"] == [call.id for call in merged[1].tool_calls]


def test_calls_of_one_message_are_split_for_templates_that_take_one() -> None:
    """Each with its result behind it, whatever order the results came in; ids may come again later."""
    turn = (
        say("assistant", "A", make_call(call_id="a"), make_call(call_id="b")),
        make_result("second", call_id="b"),
        make_result("first", call_id="a"),
    )
    split = split_calls((USER, *turn, *turn[:2]))
    calls = [[call.id for call in message.tool_calls] for message in split]
    first = [("user", "U"), ("assistant", "A"), ("tool", "first"), ("assistant", ""), ("tool", "second")]
    assert [*first, ("assistant", "A"), ("assistant", ""), ("tool", "second")] == brief(split)
    assert [[], ["a"], [], ["b"], [], ["a"], ["b"], []] == calls


def test_arguments_are_objects_or_text_as_a_template_wants_them() -> None:
    """Malformed argument text stays text."""
    spoken = say("assistant", "", make_call('{"b": 1.0, "a": 2}'), make_call("{broken"), make_call("[1]"))

    def arguments(*, parsed: bool) -> list[Json]:
        [written] = message_objects([spoken], parsed_arguments=parsed)
        return [call["function"]["arguments"] for call in written["tool_calls"]]

    assert [{"b": 1.0, "a": 2}, "{broken", "[1]"] == arguments(parsed=True)
    assert ['{"b": 1.0, "a": 2}', "{broken", "[1]"] == arguments(parsed=False)


def test_ids_have_nine_letters_in_prompts() -> None:
    """The strictest template demands it; equal ids stay equal."""
    spoken, result = (
        say("assistant", "", make_call(call_id="call_0123456789")),
        make_result(call_id="call_0123456789"),
    )
    written = message_objects([spoken, result], parsed_arguments=True)
    short = written[0]["tool_calls"][0]["id"]
    assert 9 == len(short)
    assert short.isalnum()
    assert short == written[1]["tool_call_id"]
