"""Ranges of numbers, compared with counting."""

from __future__ import annotations

import itertools

import pytest

from replay.core.errors import GrammarError
from replay.llm.grammar.expressions import write
from replay.llm.grammar.numbers import any_integer, any_number, integer_between, number_between
from tests.support.gbnf import Grammar, parse_grammar

EDGES = (-1000, -101, -100, -99, -11, -10, -9, -1, 0, 1, 9, 10, 11, 58, 99, 100, 101, 999, 1000)


def grammar(text: str) -> Grammar:
    """A grammar of one rule."""
    return parse_grammar(f"root ::= {text}\n")


@pytest.mark.parametrize(("low", "high"), list(itertools.combinations_with_replacement(EDGES, 2))[::4])
def test_integer_ranges_hold_exactly_their_integers(low: int, high: int) -> None:
    """Every integer near the range is accepted if and only if it lies inside, and has one spelling."""
    found = grammar(write(integer_between(low, high)))
    assert [low <= n <= high for n in range(-1012, 1013, 3)] == [
        found.accepts(str(n)) for n in range(-1012, 1013, 3)
    ]
    assert [True, True] == [found.accepts(str(low)), found.accepts(str(high))]
    assert [False] * 4 == [found.accepts(text) for text in (str(low - 1), str(high + 1), f"0{abs(high)}", "")]


@pytest.mark.parametrize(
    ("low", "high"), [(None, 5), (5, None), (None, -5), (-5, None), (0, None), (None, 0)]
)
def test_half_open_integer_ranges(low: int | None, high: int | None) -> None:
    """One bound is kept, the other side ends at fifteen digits."""
    found = grammar(write(integer_between(low, high)))
    inside = [(low is None or n >= low) and (high is None or n <= high) for n in range(-20, 21)]
    assert inside == [found.accepts(str(n)) for n in range(-20, 21)]


@pytest.mark.parametrize(
    ("low", "high"), [(-3, 2), (0, 1), (-1, 0), (-5, -2), (2, 2), (7, 12), (0, 0), (-100, 100)]
)
def test_number_ranges_hold_their_fractions(low: int, high: int) -> None:
    """Numbers with a fraction are accepted if and only if they lie inside."""
    found = grammar(write(number_between(low, high)))
    texts = [f"{n / 4:.2f}" for n in range(-440, 441)]
    assert [low <= float(text) <= high for text in texts if text != "-0.00"] == [
        found.accepts(text) for text in texts if text != "-0.00"
    ]


@pytest.mark.parametrize(
    "text", ["0", "-0", "12", "-12.5", "1e9", "1.5E-10", "999999999999999", "0.000000000001"]
)
def test_numbers_of_every_spelling(text: str) -> None:
    """JSON's own forms, within digits that a double holds."""
    assert grammar(write(any_number())).accepts(text)


@pytest.mark.parametrize(
    "text", ["", "-", "01", "1.", ".5", "+1", "1e", "1e100", "1" * 16, "1.0000000000001", "Infinity"]
)
def test_spellings_that_are_no_numbers(text: str) -> None:
    """Neither JSON's refusals nor endless digits."""
    assert not grammar(write(any_number())).accepts(text)


def test_integers_end_at_fifteen_digits() -> None:
    """So that a double holds every one of them."""
    found = grammar(write(any_integer()))
    assert [True, True, False] == [found.accepts(text) for text in ("9" * 15, "-" + "9" * 15, "1" + "0" * 15)]


def test_bounds_beyond_fifteen_digits_get_the_digits_they_need() -> None:
    """A bound is kept however large, up to thirty digits."""
    found = grammar(write(integer_between(10**18, None)))
    assert [False, True, True] == [found.accepts(str(n)) for n in (10**18 - 1, 10**18, 10**19 - 1)]


def test_an_empty_range_is_an_error() -> None:
    """There is nothing to write."""
    with pytest.raises(GrammarError, match="no integer lies from 2 to 1"):
        integer_between(2, 1)
    with pytest.raises(GrammarError, match="no number lies from 2 to 1"):
        number_between(2, 1)
