"""An agent's message is for the user or for execution, and its calls are read without running anything."""

from __future__ import annotations

import time

import pytest

from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.benchmarks.acebench.playing.messages import is_for_execution, read_calls, read_clean_calls
from replay.core.types import Json


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("[turn_on_wifi()]", True),
        (" [turn_on_wifi()]", True),
        ("  [turn_on_wifi()]", False),
        ("[turn_on_wifi()]\n", False),
        ("[turn_on_wifi()] ", False),
        ("[ turn_on_wifi()]", False),
        ("[turn_on_wifi() ]", True),
        ("[turn_on_wifi(),]", True),
        ("[[turn_on_wifi()]]", True),
        ("turn_on_wifi()", False),
        ("'[turn_on_wifi()]'", True),
        ("[turn_on_wifi(), 'x']", False),
        ("Sure: [turn_on_wifi()]", False),
        ("```\n[turn_on_wifi()]\n```", False),
        ("", False),
        ("[]", False),
        ("[word]", True),
        ("[two words]", False),
        ("[1]", True),
        ("[1, 2]", False),
        ("[a + b]", True),
        ("[not sure]", True),
        ("[f(a=[{'x': 1}])]", True),
        ("[f(a={'x': 1})]", False),
        ("[f(a={'x': {'y': 1}})]", True),
        ("[f(a={})]", False),
        ("[f(a=g(b=1))]", True),
        ("[f(a=f'{x}')]", False),
        ("[f(a=x.y)]", False),
        ("[f(a=x[0])]", True),
        ("[f(a=-1, b=+1)]", True),
        ("[f(a=1 < 2)]", False),
        ("[f(a=9**9**9)]", False),
        ("[f(a='x'; b=1)]", False),
    ],
)
def test_routing_is_the_official_one(message: str, expected: bool) -> None:
    """Brackets on one line around what Python reads as calls, quirks included."""
    assert expected == is_for_execution(message)


def arguments_of(message: str) -> Json:
    """Arguments of a message's only call."""
    (call,) = read_calls(message)
    return call.arguments


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'x'", "x"),
        ("'it\\'s'", "it's"),
        ("1", 1),
        ("1.5", 1.5),
        ("True", True),
        ("None", None),
        ("true", "true"),
        ("Tokyo", "Tokyo"),
        ("+5", -5),
        ("...", "..."),
        ("[1, [2]]", [1, [2]]),
        ("(1, 2)", (1, 2)),
        ("[{'a': 1}]", [{"a": 1}]),
        ("1 + 1", 2),
        ("g()", "g()"),
        ("__import__('os').system('x')", "__import__('os').system('x')"),
        ("x[0]", "x[0]"),
        ("b'x'", b"x"),
        ("你好", "你好"),
    ],
)
def test_values_are_read_as_upstream_reads_them(text: str, value: Json) -> None:
    """Words are texts, a call without arguments is its own text, nothing runs."""
    assert {"a": value} == arguments_of(f"[f(a={text})]")


def test_positional_arguments_vanish_and_the_last_of_a_name_wins() -> None:
    """As in the checker."""
    assert arguments_of("[f(1, a=2, a=3)]") == {"a": 3}


@pytest.mark.parametrize(
    ("message", "tool", "fault"),
    [
        ("[f(a=g(b=1))]", "f", "name 'g' is not defined"),
        ("[f(a={'g': {'b': 1}})]", "f", "name 'g' is not defined"),
        ("[f(a={'g h': {'b': 1}})]", "f", "invalid syntax (<string>, line 1)"),
        ("[f(a={1: {'b': 1}})]", "f", "'int' object is not callable"),
        ("[f(**x)]", "f", "invalid syntax (<string>, line 1)"),
        ("[f(a=1e999)]", "f", "name 'inf' is not defined"),
        ("[f(a=[-1e999])]", "f", "name 'inf' is not defined"),
        ("[api.f(a=1)]", "f", "name 'api' is not defined"),
        ("[f(a=1)]", "f", ""),
        ("[(lambda: 0)(a=1)]", "", ""),
        ("[发送(a=1)]", "", "name '发送' is not defined"),
        ("[发送(a='f()')]", "f", "name '发送' is not defined"),
    ],
)
def test_what_python_would_refuse_is_foreseen(message: str, tool: str, fault: str) -> None:
    """The tool that is looked up, and why the call never reaches it."""
    (call,) = read_calls(message)
    assert (tool, fault) == (call.tool, call.fault)


@pytest.mark.parametrize("message", ["[turn_on_wifi()]", " [turn_on_wifi()]\n", "[\n turn_on_wifi()\n]"])
def test_clean_rules_do_not_mind_blanks(message: str) -> None:
    """The call is the same."""
    assert [call.tool for call in read_clean_calls(message)] == ["turn_on_wifi"]


@pytest.mark.parametrize("message", ["", "[]", "[word]", "Sure: [f()]", "[f(1)]", "[f(a=g(b=1))]", "f()"])
def test_clean_rules_take_nothing_but_calls(message: str) -> None:
    """With keyword arguments that are literals."""
    with pytest.raises(LiteralError):
        read_clean_calls(message)


@pytest.mark.parametrize(
    "message",
    [
        "[" * 10_000 + "]" * 10_000,
        "[f(a=" + "[" * 10_000 + "]" * 10_000 + ")]",
        "[f(a='" + "x" * 1_000_000 + "' + 'y')]",
        "[f(a=" + "-" * 50_000 + "1)]",
        "[f(a=9**9**9**9)]",
        "[f(a='x' * 10**9)]",
        "[f(a='\ud800')]",
        "[f(a=1)]" + "\0",
        "\u3010turn_on_wifi\uff08\uff09\u3011",
        "😀[😀()]",
    ],
    ids=range(10),
)
def test_hostile_messages_are_words_for_the_user(message: str) -> None:
    """In bounded time, whatever they are."""
    assert not is_for_execution(message)


def test_a_long_plain_message_is_still_read() -> None:
    """A megabyte of text in one argument is a call."""
    (call,) = read_calls("[f(a='" + "x" * 1_000_000 + "')]")
    assert len(call.arguments["a"]) == 1_000_000


@pytest.mark.parametrize("message", ["[" * 500_000, "['" * 250_000, "]" * 250_000 + "[" * 250_000])
def test_brackets_that_never_close_are_told_at_once(message: str) -> None:
    """One look a line, however many brackets open in it."""
    started = time.process_time()
    assert not is_for_execution(message)
    assert time.process_time() - started < 1.0
