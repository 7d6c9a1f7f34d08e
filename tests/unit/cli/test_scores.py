"""What a summary comes to: the exit code, and the words beside it."""

from __future__ import annotations

from typing import Any

import pytest

from replay.cli.scores import exit_code_of, show_summary
from replay.cli.screen import Screen, count_of
from replay.core.types import Json
from replay.wiring.summaries import RunSummary


def make_summary(planned: int = 1, scored: int = 0, **fields: Any) -> RunSummary:
    """A summary without scores."""
    empty: dict[str, Json] = dict.fromkeys(
        ("unscored", "scores", "provenance", "provenance_by_boundary", "lookups", "stops")
    )
    facts = {name: {} for name in empty} | {"differing": (), "flagged": ()} | fields
    return RunSummary(benchmark="toolsandbox", candidate="c", planned=planned, scored=scored, **facts)


@pytest.mark.parametrize(
    ("code", "planned", "scored", "unscored"),
    [
        (0, 2, 1, {"user-failed": 1}),
        (1, 2, 0, {"user-failed": 2}),
        (4, 2, 0, {"user-failed": 1, "user-miss": 1}),
        (4, 2, 1, {"candidate-miss": 1}),
        (0, 0, 0, {}),
    ],
)
def test_a_run_that_scores_nothing_has_failed(
    code: int, planned: int, scored: int, unscored: dict[str, int]
) -> None:
    """A miss is 4 as ever; otherwise a run of which nothing could be scored is 1."""
    assert code == exit_code_of(make_summary(planned, scored, unscored=unscored))


def test_the_reason_is_told_where_nothing_was_scored(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, so that it is seen with --json too."""
    show_summary(make_summary(unscored={"user-failed": 1}), Screen(json=True))
    assert "replay: nothing was scored: user-failed 1\n" == capsys.readouterr().err


def test_tasks_that_differ_are_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Two metrics of one task are one task."""
    differing = tuple({"task": "a", "metric": name, "difference": "d"} for name in ("m", "n"))
    show_summary(make_summary(scored=1, differing=differing), Screen())
    assert "compat and strict differ on 1 task:\n" in capsys.readouterr().out


@pytest.mark.parametrize(("expected", "number"), [("0 tasks", 0), ("1 task", 1), ("2 tasks", 2)])
def test_one_is_one_task(expected: str, number: int) -> None:
    """Only one of something is singular."""
    assert expected == count_of(number, "task")
