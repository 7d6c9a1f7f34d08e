"""Points become a figure."""

from __future__ import annotations

import pytest

from replay.core.errors import InternalError
from replay.evaluate.metrics import (
    MetricRules,
    Point,
    aggregate,
    collect_points,
    count_differing,
    integral_counts,
    mean,
    population_std,
)
from tests.support.verdicts import make_verdict_of, score_of

PERCENT = MetricRules(name="test", scale=100.0, mean_of_groups=True)


def points(*values: float | str, group: str = "g") -> list[Point]:
    """One point a value."""
    return [
        Point(task=f"{group}{index}", trial=0, group=group, score=score_of(value))
        for index, value in enumerate(values)
    ]


def test_mean_is_exactly_rounded() -> None:
    """Sums are fsum sums: ten times 0.1 is one."""
    assert mean([0.1] * 10) == 0.1


def test_mean_of_nothing_is_a_bug() -> None:
    """A mean of nothing has no value to give."""
    with pytest.raises(InternalError, match="the mean of nothing"):
        mean([])


def test_population_std_divides_by_n() -> None:
    """Two values 0 and 1 have a population deviation of a half."""
    assert population_std([0.0, 1.0]) == 0.5


def test_unscored_items_stay_in_the_plan() -> None:
    """The denominator is the plan: a missing item adds nothing and is counted by its reason."""
    figure = aggregate(points(1.0, 1.0, "missing-output"), PERCENT)
    assert figure.value == pytest.approx(200 / 3)
    assert (3, 3, 1) == (figure.n, figure.planned, figure.missing)
    assert {"missing-output": 1} == figure.detail["unscored"]


def test_bounds_show_what_missing_items_could_be() -> None:
    """Bounds count the missing item as 0 and as 1."""
    assert [50.0, 75.0] == aggregate(points(1.0, 0.0, 1.0, "judge-miss"), PERCENT).detail["bounds"]


def test_left_out_reasons_leave_the_denominator() -> None:
    """A reason that the official evaluator does not count shrinks n, never `planned`."""
    rules = MetricRules(name="test", left_out=("not-in-result-file",))
    figure = aggregate(points(1.0, "not-in-result-file"), rules)
    assert (1.0, 1, 2, 1) == (figure.value, figure.n, figure.planned, figure.missing)


def test_nothing_scored_has_no_value() -> None:
    """No number at all is None, not 0."""
    figure = aggregate(points("judge-miss", "judge-miss"), PERCENT)
    assert (None, None, None, 2) == (figure.value, figure.std, figure.interval, figure.missing)


def test_average_is_the_plain_mean_of_groups() -> None:
    """The overall figure weighs groups alike; the pooled one is beside it."""
    figure = aggregate([*points(1.0, group="a"), *points(0.0, 0.0, 0.0, group="b")], PERCENT)
    assert (50.0, 25.0) == (figure.value, figure.detail["pooled"])


def test_pooled_figure_when_asked_for() -> None:
    """Without `mean_of_groups` the overall figure is over all items."""
    rules = MetricRules(name="test")
    figure = aggregate([*points(1.0, group="a"), *points(0.0, 0.0, 0.0, group="b")], rules)
    assert (0.25, ["a", "b"]) == (figure.value, list(figure.groups))


def test_groups_come_in_the_stated_order() -> None:
    """Known groups first in the paper's order, others sorted."""
    rules = MetricRules(name="test", group_order=("z", "m"))
    made = [point for group in ("a", "m", "z", "b") for point in points(1.0, group=group)]
    assert ["z", "m", "a", "b"] == list(aggregate(made, rules).groups)


def test_std_is_over_judge_runs() -> None:
    """The spread is that of the figure over runs, not of items; overall the mean of the groups'."""
    made = [
        Point(task="1", trial=0, group="g", score=score_of(0.5, runs=(0.0, 1.0))),
        Point(task="2", trial=0, group="g", score=score_of(1.0, runs=(1.0, 1.0))),
    ]
    assert aggregate(made, PERCENT).std == 25.0


def test_no_runs_no_std() -> None:
    """A metric judged once has no spread to show."""
    assert aggregate(points(1.0, 0.0), PERCENT).std is None


def test_abstentions_are_counted() -> None:
    """Unsure runs add up over items."""
    made = [Point(task="1", trial=0, group="g", score=score_of(0.5, runs=(0.5, 0.5), abstained=2))]
    assert aggregate(made, PERCENT).abstained == 2


def test_group_left_out_entirely_leaves_the_average() -> None:
    """A group without a record has no result file, so the average is over the others."""
    rules = MetricRules(name="test", left_out=("not-in-result-file",), mean_of_groups=True)
    figure = aggregate([*points(1.0, group="a"), *points("not-in-result-file", group="b")], rules)
    assert (1.0, None, 0) == (figure.value, figure.groups["b"].value, figure.groups["b"].n)


def test_group_that_was_missed_entirely_counts_nothing() -> None:
    """A planned group with nothing scored pulls the average down; it is not dropped."""
    figure = aggregate([*points(1.0, group="a"), *points("tool-miss", group="b")], PERCENT)
    assert (50.0, [50.0, 100.0]) == (figure.value, figure.detail["bounds"])


def test_no_points_at_all() -> None:
    """An empty plan gives an empty figure."""
    assert (None, 0, {}) == ((figure := aggregate([], PERCENT)).value, figure.n, figure.groups)


def test_collect_points_follows_the_plan() -> None:
    """A planned item without a verdict is there, unscored by name."""
    plan = [("1", "G1_instruction", 0), ("2", "G1_instruction", 0)]
    made = collect_points(plan, [make_verdict_of("2", 1.0)], metric="SoPR", side="compat")
    assert ["no-verdict", ""] == [point.score.unscored for point in made]


def test_collect_points_takes_the_side() -> None:
    """Strict scores come from the strict side."""
    verdict = make_verdict_of("1", 1.0, strict=0.0)
    plan = [("1", "G1_instruction", 0)]
    assert collect_points(plan, [verdict], metric="SoPR", side="strict")[0].score.value == 0.0


def test_collect_points_refuses_two_verdicts_on_one_item() -> None:
    """One metric says one thing of one item."""
    with pytest.raises(InternalError, match=r"two SoPR verdicts on one item \(task 1, trial 0\)"):
        collect_points([], [make_verdict_of("1", 1.0)] * 2, metric="SoPR", side="compat")


def test_collect_points_refuses_an_unplanned_item() -> None:
    """A verdict outside the plan would change the denominator."""
    with pytest.raises(InternalError, match=r"outside the plan \(task 1, trial 0\)"):
        collect_points([], [make_verdict_of("1", 1.0)], metric="SoPR", side="compat")


@pytest.mark.parametrize(
    ("counts", "percent", "n"),
    [((85,), 52.1, 163), ((), 52.0, 163), ((3,), 100.0, 3), ((0,), 0.0, 61), ((2,), 66.7, 3)],
)
def test_integral_counts(counts: tuple[int, ...], percent: float, n: int) -> None:
    """A printed cell is k of n or it is not."""
    assert counts == integral_counts(percent, n)


def test_count_differing() -> None:
    """Differences are counted by their id."""
    verdicts = [make_verdict_of("1", 1.0, strict=0.0), make_verdict_of("2", 1.0)]
    assert {"built": 1} == count_differing(verdicts)
