"""Options are filled in, and refused with what is allowed."""

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.playing.options import PLAY_DEFAULTS, check_play_settings, parse_protocol
from replay.core.errors import InputError
from replay.core.protocols import Settings
from replay.core.types import Json


@pytest.mark.parametrize(("rules", "role"), [("compat", "system"), ("strict", "assistant")])
def test_defaults_are_written_out(rules: str, role: str) -> None:
    """The role of the user's replies is that of the rules."""
    assert {**PLAY_DEFAULTS, "user_reply_role": role} == check_play_settings(Settings(rules=rules))


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("max_messages", 0, "a whole number from 1 to 200"),
        ("max_messages", True, "a whole number"),
        ("max_tokens", "5", "a whole number from 1"),
        ("temperature", 3, "a number from 0 to 2.0"),
        ("temperature", False, "a number from 0"),
        ("tool_format", "xml", "'python' or 'json'"),
        ("wording", None, "'own' or 'upstream'"),
        ("after_think", 1, "False or True"),
        ("step_language", "de", "'' or 'en' or 'zh'"),
        ("user_reply_role", "user", "'' or 'system' or 'assistant'"),
    ],
)
def test_a_bad_value_is_refused(name: str, value: Json, allowed: str) -> None:
    """With its name, its value and what is allowed."""
    with pytest.raises(InputError, match=f"unusable {name} = .*{allowed}"):
        check_play_settings(Settings(options={name: value}))


def test_there_is_one_protocol() -> None:
    """Another name is refused."""
    assert parse_protocol("") == parse_protocol("prompt") == "prompt"
    with pytest.raises(InputError, match=r"unknown protocol 'FC'.*prompt"):
        parse_protocol("FC")
