"""Modes by boundary."""

from __future__ import annotations

import pytest

from replay.core.errors import UsageError
from replay.core.types import Mode
from replay.wiring.modes import STRICT, Modes, parse_mode, parse_modes


@pytest.mark.parametrize("text", ["strict", "STRICT", "Strict"])
def test_modes_are_read_in_any_case(text: str) -> None:
    """Upper and lower case name one mode."""
    assert Mode.STRICT is parse_mode(text)


@pytest.mark.parametrize("text", ["", "live", "strict ", "replay,record"])
def test_other_words_are_refused(text: str) -> None:
    """The three modes are listed, and the option that held the word."""
    with pytest.raises(UsageError, match=r"\(--mode\); expected one of: strict, replay, record"):
        parse_mode(text)


def test_one_word_sets_all_boundaries() -> None:
    """The general mode holds wherever none is named."""
    assert parse_modes("strict") == STRICT


def test_a_boundary_may_have_its_own() -> None:
    """What is named for a boundary goes before the general mode; nothing named means the general one."""
    expected = Modes(tools=Mode.RECORD, candidate=Mode.STRICT, user=Mode.STRICT, judge=Mode.REPLAY)
    assert expected == parse_modes("strict", tools="record", candidate=None, user="", judge="replay")


def test_a_wrong_boundary_mode_names_the_boundary() -> None:
    """The message says which mode was wrong."""
    with pytest.raises(UsageError, match=r"unknown mode 'fast' \(the mode of judge\)"):
        parse_modes("strict", judge="fast")


def test_replay_is_the_default() -> None:
    """Nothing records unless it was asked for by name."""
    assert (True, False) == (Modes().is_offline, Modes().records)
    assert Modes() == parse_modes("replay")


@pytest.mark.parametrize("boundary", ["tools", "candidate", "user", "judge"])
def test_one_recording_boundary_is_enough(boundary: str) -> None:
    """A run that records at any boundary is not offline."""
    modes = parse_modes("strict", **{boundary: "record"})
    assert (False, True) == (modes.is_offline, modes.records)
