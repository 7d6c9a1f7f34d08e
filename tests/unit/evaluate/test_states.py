"""Scores are numbers or named reasons."""

from __future__ import annotations

import pytest

from replay.core.errors import InternalError
from replay.evaluate.states import Unscored, has_same_result, make_verdict, scored, unscored
from tests.support.verdicts import make_task


def test_scored_keeps_runs_and_abstentions() -> None:
    """A score holds its number, its runs and how often the judge abstained."""
    score = scored(0.5, runs=(0.0, 1.0), abstained=1)
    assert (0.5, (0.0, 1.0), 1) == (score.value, score.runs, score.abstained)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.5])
def test_scored_refuses_what_is_no_fraction(value: float) -> None:
    """NaN, infinities and numbers outside 0..1 are bugs, not scores."""
    with pytest.raises(InternalError, match="is not a fraction"):
        scored(value)


def test_scored_refuses_a_bad_run() -> None:
    """Every run is a fraction too."""
    with pytest.raises(InternalError, match=r"score 2\.0 is not a fraction"):
        scored(1.0, runs=(2.0,))


def test_unscored_has_no_value() -> None:
    """An unscored item has its reason and no number."""
    score = unscored(Unscored.JUDGE_MISS)
    assert (None, "judge-miss") == (score.value, score.unscored)


def test_unscored_refuses_an_unnamed_reason() -> None:
    """Reasons are a closed list, which the message prints."""
    with pytest.raises(InternalError, match=r"'lazy'.*expected one of missing-output, "):
        unscored("lazy")


def test_stored_reason_is_plain_text() -> None:
    """The stored reason is text, so records encode alike from an enum and from a file."""
    assert str is type(unscored(Unscored.TOOL_MISS).unscored)


@pytest.mark.parametrize(
    ("same", "left", "right"),
    [
        (True, scored(2 / 3), scored(0.6666666666666667)),
        (False, scored(0.5), scored(0.0)),
        (False, scored(0.0), unscored("judge-miss")),
        (True, unscored("judge-miss"), unscored("judge-miss")),
        (False, unscored("not-in-result-file"), unscored("missing-output")),
    ],
)
def test_has_same_result(*, same: bool, left: object, right: object) -> None:
    """Scores agree in number, or in the reason for having none."""
    assert same is has_same_result(left, right)  # type: ignore[arg-type]


def test_make_verdict_names_a_difference() -> None:
    """A disagreement carries the id of its cause."""
    verdict = make_verdict(make_task(), 0, metric="M", compat=scored(1.0), strict=scored(0.0), cause="quirk")
    assert verdict.differs == "quirk"


def test_make_verdict_leaves_agreement_unnamed() -> None:
    """A possible cause is not a difference when the scores agree."""
    verdict = make_verdict(make_task(), 0, metric="M", compat=scored(1.0), strict=scored(1.0), cause="quirk")
    assert verdict.differs == ""


def test_make_verdict_refuses_a_difference_without_cause() -> None:
    """No item may differ without a word."""
    with pytest.raises(InternalError, match=r"M: compat 1\.0 and strict unscored \(judge-miss\) differ"):
        make_verdict(make_task(), 0, metric="M", compat=scored(1.0), strict=unscored("judge-miss"))
