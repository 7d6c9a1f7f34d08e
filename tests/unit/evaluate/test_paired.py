"""Two runs on shared items."""

from __future__ import annotations

import pytest

from replay.evaluate.paired import compare_paired, scores_by_item, sign_test
from tests.support.verdicts import make_verdict_of


def scores(*values: float) -> dict[tuple[str, int], float]:
    """One scored item a value."""
    return {(str(index), 0): value for index, value in enumerate(values)}


def test_only_shared_items_are_compared() -> None:
    """Items of one run alone are counted, not compared."""
    found = compare_paired(scores(0.0, 1.0, 1.0), scores(1.0, 1.0), name="SoPR")
    assert (2, 1, 0, 0.5) == (found.n, found.only_left, found.only_right, found.delta)


def test_changes_are_counted() -> None:
    """Better, worse and equal items."""
    found = compare_paired(scores(0.0, 1.0, 0.5, 0.5), scores(1.0, 0.0, 0.5, 1.0), name="SoPR")
    assert (2, 1) == (found.better, found.worse)


def test_equal_runs_differ_by_nothing() -> None:
    """A run against itself has no difference, an empty interval and p = 1."""
    same = scores(0.0, 1.0, 0.5)
    found = compare_paired(same, same, name="SoPR")
    assert (0.0, (0.0, 0.0), 1.0) == (found.delta, found.interval, found.p_value)


def test_interval_holds_the_difference() -> None:
    """The interval is about the difference, so a clear win excludes 0."""
    found = compare_paired(scores(*[0.0] * 30), scores(*[1.0] * 25, *[0.0] * 5), name="SoPR")
    assert found.interval is not None
    low, high = found.interval
    assert 0.0 < low <= 25 / 30 <= high


def test_nothing_shared() -> None:
    """Without shared items there is no figure, and no crash."""
    found = compare_paired(scores(1.0), {}, name="SoPR")
    assert (0, None, None, None, 1.0) == (found.n, found.left, found.delta, found.interval, found.p_value)


@pytest.mark.parametrize(
    ("p", "better", "worse"),
    [(1.0, 0, 0), (1.0, 3, 3), (0.0625, 0, 5), (0.021484375, 9, 1), (0.625, 1, 3)],
)
def test_sign_test_is_exact(p: float, better: int, worse: int) -> None:
    """McNemar's exact test, figures from the binomial table."""
    assert p == sign_test(better, worse)


def test_sign_test_takes_large_counts() -> None:
    """Thousands of changed items neither overflow nor underflow to a wrong figure."""
    assert 0.0 <= sign_test(4000, 6000) < 1e-80


def test_unscored_items_are_not_numbers() -> None:
    """Picking scores leaves unscored items out."""
    verdicts = [
        make_verdict_of("1", 1.0),
        make_verdict_of("2", "judge-miss"),
        make_verdict_of("3", 0.0, metric="FAC"),
    ]
    assert {("1", 0): 1.0} == scores_by_item(verdicts, metric="SoPR", side="strict")
