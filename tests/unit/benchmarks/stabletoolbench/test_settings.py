"""What a user may choose."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.settings import JUDGE_DEFAULTS, check_settings
from replay.core.errors import InputError
from replay.core.protocols import Settings
from replay.core.types import Json


def test_defaults_are_written_out() -> None:
    """What is left out and what is written out are one run."""
    filled = check_settings(Settings())
    assert filled == check_settings(filled)
    assert ("CoT@1", 12, "reason-first") == (
        filled.protocol,
        filled.options["max_steps"],
        filled.options["judge_order"],
    )


def test_every_judge_option_is_filled_in() -> None:
    """All options of the judge's side are there after the check."""
    assert set(JUDGE_DEFAULTS) <= set(check_settings(Settings()).options)


def test_metrics_come_in_the_benchmarks_order() -> None:
    """The order in which metrics are named changes nothing."""
    assert ["SoPR", "FAC"] == check_settings(Settings(options={"metrics": ["FAC", "SoPR"]})).options[
        "metrics"
    ]


@pytest.mark.parametrize(
    ("message", "settings"),
    [
        (
            r"unusable rules = 'lenient' \(settings\.rules\); expected compat or strict",
            Settings(rules="lenient"),
        ),
        (r"unusable judge_runs = 0 .*from 1 to 100", Settings(judge_runs=0)),
        (r"unusable options = \[\]", Settings(options=[])),
        (
            r"unknown option 'max_step'.*max_steps.*did you mean max_steps\?",
            Settings(options={"max_step": 3}),
        ),
        (
            r"unusable options\.judge_order = 'random'.*reason-first or verdict-first",
            Settings(options={"judge_order": "random"}),
        ),
        (r"unusable options\.ask_solvable = 1.*False or True", Settings(options={"ask_solvable": 1})),
        (r"unusable options\.metrics = \['BLEU'\].*SoPR, SoWR, FAC", Settings(options={"metrics": ["BLEU"]})),
        (r"unusable options\.metrics = \[\]", Settings(options={"metrics": []})),
        (r"max_steps=0.*whole number", Settings(options={"max_steps": 0})),
        (r"unknown protocol 'BFS'.*CoT@<tries>", Settings(protocol="BFS")),
    ],
)
def test_wrong_choices_are_named(message: str, settings: Settings) -> None:
    """One line: the value, where it stands, what is allowed."""
    with pytest.raises(InputError, match=message):
        check_settings(settings)


@pytest.mark.parametrize("value", [True, 3.0, "3", None])
def test_judge_runs_is_a_whole_number(value: Json) -> None:
    """Values that only look like a number are refused."""
    with pytest.raises(InputError, match="unusable judge_runs"):
        check_settings(Settings(judge_runs=value))
