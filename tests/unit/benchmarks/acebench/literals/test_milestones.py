"""Milestones are read as calls, with unescaped apostrophes repaired and said to be."""

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.literals.milestones import is_valid_message, read_milestone
from replay.benchmarks.acebench.literals.syntax import LiteralError


@pytest.mark.parametrize(
    ("milestone", "value"),
    [
        ("[f(a='Today's spending')]", "Today's spending"),
        ("[f(a='Don't forget tomorrow's meeting')]", "Don't forget tomorrow's meeting"),
        ("[f(a='Domino's', b=1)]", "Domino's"),
        ("[f(a='the users' list')]", "the users' list"),
    ],
)
def test_unescaped_apostrophes_are_repaired(milestone: str, value: str) -> None:
    """Invalid as it stands, readable all the same."""
    assert not is_valid_message(milestone)
    assert value == read_milestone(milestone)[0][1]["a"]


@pytest.mark.parametrize("milestone", ["[f(a='x')]", "[f(a='x')] ", '[f(), g(b="it\'s")]'])
def test_valid_milestones_are_left_alone(milestone: str) -> None:
    """A blank behind does not make one invalid."""
    assert is_valid_message(milestone)


@pytest.mark.parametrize("milestone", ["", "done", "[f(a=')]", "[f(a='x'"])
def test_what_no_repair_helps_is_an_error(milestone: str) -> None:
    """Never read as no calls at all."""
    with pytest.raises(LiteralError):
        read_milestone(milestone)
