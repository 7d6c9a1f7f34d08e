"""Options of a run: defaults, bounds, names that are not known."""

from __future__ import annotations

import pytest

from replay.benchmarks.toolsandbox.settings import DEFAULTS, check_settings
from replay.core.errors import InputError
from replay.core.protocols import Settings
from replay.core.types import Json


def test_defaults_are_filled_in() -> None:
    """A default that is written out and one that is left out are the same settings."""
    assert check_settings(Settings(options=dict(DEFAULTS))) == check_settings(Settings())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rules": "loose"}, "compat or strict"),
        ({"protocol": "CoT@1"}, "dialogue"),
        ({"options": []}, "values by option name"),
        ({"options": {"max_token": 3}}, "did you mean max_tokens?"),
        ({"options": {"max_tokens": 0}}, "whole number from 1"),
        ({"options": {"max_messages": 1.5}}, "whole number from 1"),
        ({"options": {"temperature": True}}, "number from 0 to 2.0"),
        ({"options": {"user_temperature": 3}}, "number from 0 to 2.0"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Json], message: str) -> None:
    """What is not allowed is told with what is."""
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        check_settings(Settings(**settings))
