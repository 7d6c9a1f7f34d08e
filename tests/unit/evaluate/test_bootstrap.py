"""The seeded bootstrap."""

from __future__ import annotations

import pytest

from replay.evaluate.bootstrap import Cluster, percentile_interval, resample_means
from replay.evaluate.metrics import mean, population_std


def clusters(values: list[float]) -> dict[str, Cluster]:
    """One cluster a value."""
    return {f"t{index}": (value, 1) for index, value in enumerate(values)}


def test_equal_values_have_no_spread() -> None:
    """Items that all score alike leave nothing to resample."""
    assert (0.25,) * 7 == resample_means(clusters([0.25] * 9), seed=1, resamples=7)


def test_no_items_no_means() -> None:
    """Nothing scored, nothing drawn."""
    assert () == resample_means({}, seed=1)


def test_known_draws() -> None:
    """The draws are a function of seed and resample number alone: here, high bytes of 128 and more."""
    assert (0.6, 0.5, 0.6, 0.8, 0.7) == resample_means(clusters([0.0, 1.0] * 5), seed=7, resamples=5)


def test_order_of_items_is_nothing() -> None:
    """Few distinct values: the same means from any order."""
    forward = clusters([0.0, 0.5, 1.0, 1.0, 0.0, 0.5, 1.0])
    assert resample_means(forward, seed=3) == resample_means(dict(reversed(list(forward.items()))), seed=3)


def test_order_of_many_distinct_values_is_nothing() -> None:
    """Many distinct values take the other path; order is nothing there either."""
    forward = clusters([index / 100 for index in range(100)])
    assert resample_means(forward, seed=3, resamples=20) == resample_means(
        dict(reversed(list(forward.items()))), seed=3, resamples=20
    )


def test_seed_matters() -> None:
    """Another seed draws otherwise."""
    values = clusters([0.0, 1.0] * 20)
    assert resample_means(values, seed=1) != resample_means(values, seed=2)


@pytest.mark.parametrize(
    "values", [[0.0, 1.0] * 50, [i / 6 for i in range(7)] * 20, [i / 99 for i in range(100)]]
)
def test_spread_is_the_standard_error(values: list[float]) -> None:
    """Means scatter around the mean by the standard error, within a tenth."""
    means = resample_means(clusters(values), seed=5)
    expected = population_std(values) / len(values) ** 0.5
    assert mean(means) == pytest.approx(mean(values), abs=expected / 5)
    assert population_std(means) == pytest.approx(expected, rel=0.1)


def test_clusters_are_drawn_whole() -> None:
    """Four trials of two tasks resample like two items: only 0, 1/2 and 1 can come out."""
    means = resample_means({"a": (4.0, 4), "b": (0.0, 4)}, seed=1)
    assert {0.0, 0.5, 1.0} == set(means)


def test_uneven_clusters_weigh_by_their_size() -> None:
    """A task with more trials weighs more in a draw that holds both."""
    means = resample_means({"a": (3.0, 3), "b": (0.0, 1)}, seed=1)
    assert {0.0, 0.75, 1.0} == set(means)


def test_interval_cuts_the_middle() -> None:
    """95 % of a thousand means lie between the 26th and the 975th."""
    assert (25.0, 974.0) == percentile_interval([float(i) for i in range(1000)], value=500.0)


def test_interval_always_holds_the_value() -> None:
    """The last bit of a sum never puts the figure outside its own interval."""
    assert (0.1, 0.2) == percentile_interval([0.2, 0.2], value=0.1)


def test_interval_of_nothing() -> None:
    """No means, no interval."""
    assert percentile_interval([], value=0.0) is None
