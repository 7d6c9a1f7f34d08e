"""Settings: defaults, closed lists, one error a mistake."""

from __future__ import annotations

import pytest

from replay.benchmarks.metatool.settings import DEFAULTS, check_settings
from replay.core.errors import InputError
from replay.core.protocols import Settings
from replay.core.types import Json


def test_defaults_are_filled_in() -> None:
    """A default that is written out makes the same settings."""
    filled = check_settings(Settings())
    assert ("zero-shot", dict(DEFAULTS)) == (filled.protocol, filled.options)
    assert filled == check_settings(
        Settings(protocol="zero-shot", options={"max_tokens": 512, "temperature": 0})
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(protocol="ten-shot"), "protocol = 'ten-shot'.*zero-shot or five-shot"),
        (Settings(rules="loose"), "rules = 'loose'"),
        (Settings(reference="other"), "compares two candidates"),
        (Settings(judge_runs=0), "judge_runs = 0"),
        (Settings(options=["order"]), "options"),
    ],
)
def test_wrong_settings_are_named(settings: Settings, said: str) -> None:
    """With what is allowed."""
    with pytest.raises(InputError, match=said):
        check_settings(settings)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"oder": "original"}, "did you mean order"),
        ({"order": "random"}, "original or shuffled"),
        ({"multi": 2}, "at-most-two or exactly-two"),
        ({"descriptions": None}, "plain or list"),
        ({"open_answers": "ask"}, "undetermined or judge"),
        ({"max_tokens": 0}, "whole number"),
        ({"max_tokens": True}, "whole number"),
        ({"temperature": float("nan")}, "0 to 2"),
        ({"temperature": "hot"}, "0 to 2"),
    ],
)
def test_wrong_options_are_named(options: Json, said: str) -> None:
    """With what is allowed, or the nearest name."""
    with pytest.raises(InputError, match=said):
        check_settings(Settings(options=options))
