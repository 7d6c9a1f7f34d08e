"""Outputs read as the official decoder reads them, quirks included."""

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.literals.official import (
    first_brackets,
    read_official,
    read_official_list,
    without_blanks,
)
from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.core.types import Json


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("+5", -5),
        ("-5", -5),
        ("~5", -5),
        ("not True", -1),
        ("...", "..."),
        ("Tokyo", "Tokyo"),
        ("null", "null"),
        ("(1, 'a')", (1, "a")),
        ("g()", {"g": {}}),
        ("a.g(b=1)", {"a.g": {"b": 1}}),
        ("x[0]", "x[0]"),
        ("40-1", 39),
        ("'a'+'b'", "ab"),
        ("1+len('ab')", 3),
        ("'a' 'b'", "ab"),
        ("'%s of %d' % ('a', 2)", "a of 2"),
        ("5*-1", -5),
        ("0x10", 16),
        ("{1: 2}", {1: 2}),
        ("'\\x41'", "A"),
    ],
)
def test_values_that_are_more_than_literals(source: str, value: Json) -> None:
    """Each kind of expression comes out as upstream makes it."""
    assert [("f", {"a": value})] == read_official_list(f"[f(a={source})]")


@pytest.mark.parametrize(
    "text",
    [
        "[f(a=b.c)]",
        "[f(a=lambda: 1)]",
        "[f(a=f'x')]",
        "[f(a=1 < 2)]",
        "[f(a=1/0)]",
        "[f(a=x+1)]",
        "[f(a={[]: 1})]",
        "[f(a={**{}})]",
        "[f(a=--5)]",
        "[f(a=-'x')]",
        "[f]",
        "[*f()]",
        "f()",
        "[f(a=1",
        "[f(a=1, 'x')]",
        "",
    ],
)
def test_what_upstream_cannot_decode_is_a_format_error(text: str) -> None:
    """A named error, whatever Python would have raised."""
    with pytest.raises(LiteralError):
        read_official_list(text)


def test_positional_arguments_vanish_and_the_last_of_two_keywords_stays() -> None:
    """Nothing but keywords is looked at, not even what is unreadable."""
    assert [("f", {"a": 2})] == read_official_list("[f(lambda: 1, a=1, a=2)]")


def test_unpacking_becomes_an_argument_without_a_name() -> None:
    """A name that no schema knows."""
    expected: Json = [("f", {None: {"a": 1}})]
    assert expected == read_official_list("[f(**{'a': 1})]")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Sure: [f()] or [g()]", "[f()]"),
        ("] [f(a=[1])]", "[f(a=[1])]"),
        ("[f(a=']')]", "[f(a=']"),
        ("[f(a=[1)", None),
        ("none", None),
        ("]", None),
    ],
)
def test_the_first_outermost_brackets_are_counted_blindly(text: str, found: str | None) -> None:
    """Brackets in prose and in texts count like any other."""
    assert found == first_brackets(text)


def test_sessions_lose_all_whitespace_before_they_are_read() -> None:
    """Also inside texts, whether the text is plain or not."""
    assert [("f", {"a": "xy", "b": {"k l".replace(" ", ""): ["mn"]}})] == read_official(
        "[f(a='x y', b={'k l': ['m n']})]", multi_turn=True
    )
    assert [("f", {"a": "it'sso"})] == read_official('[f(a="it\'s so")]', multi_turn=True)


def test_what_is_known_to_be_plain_is_not_read_again() -> None:
    """Texts lose their blanks in sessions, other outputs are taken as they are."""
    plain: list[tuple[str, dict[str, Json]]] = [("f", {"a": "x y", "n": 1})]
    assert plain == read_official(" [f(a='x y', n=1)]\n", multi_turn=False, plain=plain)
    assert [("f", {"a": "xy", "n": 1})] == read_official("[f(a='x y', n=1)]", multi_turn=True, plain=plain)
    assert {"ab": ["c", None]} == without_blanks({"a b": [" c ", None]})


@pytest.mark.parametrize("root", ["(f(a=1),)", "{f(a=1)}", "f(a=1),"])
def test_sessions_take_tuples_and_sets_of_calls(root: str) -> None:
    """Whatever has elements."""
    assert [("f", {"a": 1})] == read_official(root, multi_turn=True)


@pytest.mark.parametrize("output", [None, 5, ["[f()]"], {"name": "f"}])
def test_an_output_that_is_no_text_is_a_format_error(output: Json) -> None:
    """Upstream catches the exception."""
    with pytest.raises(LiteralError, match="no text"):
        read_official(output, multi_turn=False)
