"""What stands behind a figure has its line on the screen."""

from __future__ import annotations

import pytest

from replay.cli.details import show_details
from replay.cli.screen import Screen
from replay.core.types import Json
from replay.wiring.summaries import RunSummary


def make_summary(detail: Json, *, side: str = "strict") -> RunSummary:
    """A summary with one metric and its details."""
    return RunSummary(
        benchmark="metatool",
        candidate="c",
        planned=1,
        scored=1,
        unscored={},
        scores={side: {"similar": {"value": 1.0, "detail": detail}}},
        provenance={},
        provenance_by_boundary={},
        lookups={},
        stops={},
        differing=(),
        flagged=(),
    )


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("undetermined 6 (30.0 %)", {"undetermined": 6, "undetermined_share": 30.0}),
        ("bounds 20.0 .. 70.0", {"bounds": [20.0, 70.0], "manual": 10}),
        ("results win 3, lose 0, tie 1", {"results": {"win": 3, "lose": 0, "tie": 1}}),
        ("errors none 2, wrong 1", {"errors": {"none": 2, "wrong": 1}}),
        (
            "errors e0 1, e1 1, e2 1, e3 1, e4 1, e5 1 and 2 more",
            {"errors": {f"e{n}": 1 for n in range(8)}},
        ),
        ("no value: no judge answered", {"withheld": "no judge answered"}),
        (
            "no task is planned of 1 kind (agent): strict has no value then, compat takes 0",
            {"missing_categories": ["agent"], "by_sessions": None, "by_turns": None},
        ),
        ("weighed by sessions 80.0, weighed by turns 75.0", {"by_sessions": 80.0, "by_turns": 75.0}),
    ],
)
def test_a_detail_is_told_beside_its_metric(
    capsys: pytest.CaptureFixture[str], line: str, detail: dict[str, Json]
) -> None:
    """Each kind of detail in its own words."""
    show_details(make_summary(detail), Screen())
    assert f"details    similar (strict): {line}\n" == capsys.readouterr().out


@pytest.mark.parametrize("detail", [None, {}, {"undetermined": 0, "undetermined_share": 0.0, "errors": {}}])
def test_a_figure_without_details_has_no_line(capsys: pytest.CaptureFixture[str], detail: Json) -> None:
    """Nothing is said of nothing."""
    show_details(make_summary(detail), Screen())
    assert "" == capsys.readouterr().out
