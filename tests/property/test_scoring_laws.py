"""Laws of scores and figures."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.benchmarks.stabletoolbench.scoring.summary import GROUPS, summarize
from replay.core.canonical import digest
from replay.core.types import Verdict
from replay.evaluate.bootstrap import resample_means
from replay.evaluate.judge import parse_answer
from replay.evaluate.metrics import MetricRules, Point, aggregate, integral_counts
from replay.evaluate.paired import compare_paired, sign_test
from replay.evaluate.states import Unscored
from replay.evaluate.trials import pass_at_k, pass_hat_k
from tests.support.verdicts import make_verdict_of, score_of

FRACTIONS = st.one_of(st.sampled_from([0.0, 1 / 6, 0.5, 2 / 3, 1.0]), st.floats(0.0, 1.0))
SCORES = st.one_of(FRACTIONS, st.sampled_from([reason.value for reason in Unscored]))
RULES = MetricRules(name="law", scale=100.0, left_out=("not-in-result-file",), resamples=40)


@st.composite
def point_lists(draw: st.DrawFn) -> list[Point]:
    """Points of up to three groups and two trials a task."""
    made = draw(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20), st.integers(0, 1), SCORES)))
    unique = {(group, number, trial): value for group, number, trial, value in made}
    return [
        Point(task=f"{group}{number}", trial=trial, group=group, score=score_of(value))
        for (group, number, trial), value in unique.items()
    ]


@given(points=point_lists(), random=st.randoms(use_true_random=False), by_group=st.booleans())
def test_figures_ignore_order(points: list[Point], random: Random, by_group: bool) -> None:
    """A figure, its spread, interval, groups and counts do not depend on the order of items."""
    rules = msgspec.structs.replace(RULES, mean_of_groups=by_group)
    shuffled = list(points)
    random.shuffle(shuffled)
    assert aggregate(points, rules) == aggregate(shuffled, rules)


@given(points=point_lists(), by_group=st.booleans())
def test_intervals_and_bounds_hold_the_value(points: list[Point], by_group: bool) -> None:
    """A value lies in its interval and in its bounds; counts add up to the plan."""
    figure = aggregate(points, msgspec.structs.replace(RULES, mean_of_groups=by_group))
    for metric in (figure, *figure.groups.values()):
        assert metric.n <= metric.planned
        assert metric.missing <= metric.planned
        if metric.value is not None:
            assert metric.interval is not None
            assert metric.interval[0] <= metric.value <= metric.interval[1]
            assert -1e-9 <= metric.value <= 100.0 + 1e-9
            low, high = (metric.detail or {}).get("bounds", (metric.value, metric.value))
            assert low - 1e-9 <= metric.value <= high + 1e-9


@given(points=point_lists())
def test_figures_can_be_hashed(points: list[Point]) -> None:
    """Every figure is canonical JSON: no NaN, no infinity, no foreign types."""
    assert digest("metric", msgspec.to_builtins(aggregate(points, RULES))).startswith("sha256:")


@given(values=st.lists(FRACTIONS, min_size=1, max_size=120), seed=st.integers(1, 2**31))
def test_resampled_means_stay_in_range(values: list[float], seed: int) -> None:
    """A mean of drawn scores lies between the least and the greatest score."""
    clusters = {f"t{index}": (value, 1) for index, value in enumerate(values)}
    means = resample_means(clusters, seed=seed, resamples=20)
    assert min(values) - 1e-12 <= min(means)
    assert max(means) <= max(values) + 1e-12


@st.composite
def verdict_lists(draw: st.DrawFn) -> list[Verdict]:
    """Verdicts of the three metrics over the six groups."""
    items = draw(st.dictionaries(st.integers(0, 30), st.tuples(SCORES, SCORES), max_size=20))
    metric = draw(st.sampled_from(["SoPR", "SoWR", "FAC"]))
    return [
        make_verdict_of(str(number), compat, strict=strict, split=GROUPS[number % 6], metric=metric)
        for number, (compat, strict) in items.items()
    ]


@pytest.mark.slow
@given(verdicts=verdict_lists(), random=st.randoms(use_true_random=False))
def test_summaries_ignore_order(verdicts: list[Verdict], random: Random) -> None:
    """A summary does not depend on the order of plan or verdicts."""
    plan = [(verdict.task, verdict.split, 0) for verdict in verdicts]
    other_plan, other = list(plan), list(verdicts)
    random.shuffle(other_plan)
    random.shuffle(other)
    assert summarize(plan, verdicts) == summarize(other_plan, other)


@pytest.mark.slow
@given(verdicts=verdict_lists())
def test_every_difference_is_listed(verdicts: list[Verdict]) -> None:
    """Items on which the sides disagree are all listed, unless the metric itself is absent."""
    summary = summarize([(verdict.task, verdict.split, 0) for verdict in verdicts], verdicts)
    differing = sum(1 for verdict in verdicts if verdict.differs)
    assert len(summary.differing) == (differing if summary.compat else 0)


@given(pairs=st.dictionaries(st.integers(0, 40), st.tuples(FRACTIONS, FRACTIONS), min_size=1))
def test_comparison_is_antisymmetric(pairs: dict[int, tuple[float, float]]) -> None:
    """Swapping the runs changes the sign of the difference and nothing else."""
    left = {(str(number), 0): pair[0] for number, pair in pairs.items()}
    right = {(str(number), 0): pair[1] for number, pair in pairs.items()}
    forward = compare_paired(left, right, name="law", resamples=20)
    backward = compare_paired(right, left, name="law", resamples=20)
    assert forward.delta is not None
    assert backward.delta == -forward.delta
    assert (forward.better, forward.worse) == (backward.worse, backward.better)
    assert forward.p_value == backward.p_value
    assert forward.interval is not None
    assert forward.interval[0] <= forward.delta <= forward.interval[1]


@given(better=st.integers(0, 200), worse=st.integers(0, 200))
def test_sign_test_is_a_probability(better: int, worse: int) -> None:
    """A p-value is in 0..1, symmetric, and 1 for equal counts."""
    p = sign_test(better, worse)
    assert 0.0 < p <= 1.0
    assert p == sign_test(worse, better)
    assert p == 1.0 or better != worse


@given(trials=st.lists(st.lists(st.booleans(), min_size=4, max_size=8), min_size=1), k=st.integers(1, 3))
def test_more_trials_help_one_and_hurt_all(trials: list[list[bool]], k: int) -> None:
    """pass@k grows with k, pass^k falls, and pass^k never exceeds pass@k."""
    named = {str(index): results for index, results in enumerate(trials)}
    assert pass_at_k(named, k) <= pass_at_k(named, k + 1) + 1e-12
    assert pass_hat_k(named, k + 1) <= pass_hat_k(named, k) + 1e-12
    assert pass_hat_k(named, k) <= pass_at_k(named, k) + 1e-12


@given(data=st.data(), n=st.integers(1, 400))
def test_printed_counts_are_recognised(data: st.DataObject, n: int) -> None:
    """A rate that is k of n is recognised from its printed digit, k among the candidates."""
    k = data.draw(st.integers(0, n))
    assert k in integral_counts(round(100.0 * k / n, 1), n)


@given(text=st.text(max_size=300))
def test_any_text_has_a_label(text: str) -> None:
    """A judge's text, whatever it is, gives a choice or `error`, never an exception."""
    assert parse_answer(text, ("Solved", "Unsure", "Unsolved")).label in {
        "Solved",
        "Unsure",
        "Unsolved",
        "error",
    }


@given(label=st.sampled_from(["Solved", "Unsure", "Unsolved"]), before=st.text("ab {\n`", max_size=30))
def test_one_json_verdict_is_found_in_prose(label: str, before: str) -> None:
    """Text before one JSON verdict does not hide it."""
    answer = parse_answer(f'{before}\n{{"verdict": "{label}"}}', ("Solved", "Unsure", "Unsolved"))
    assert label == answer.label
