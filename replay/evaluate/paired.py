"""Two runs on the items both have scored: paired bootstrap of the difference and an exact sign test.

Comparing two means with separate intervals throws away that both runs answered the same questions; pairing
keeps it. For scores of 0 and 1 the sign test is McNemar's exact test.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from replay.core.determinism import derive_seed
from replay.core.types import Record, Verdict
from replay.evaluate.bootstrap import RESAMPLES, Cluster, percentile_interval, resample_means
from replay.evaluate.metrics import mean
from replay.evaluate.states import TOLERANCE

__all__ = ["PairedComparison", "compare_paired", "scores_by_item", "sign_test"]

Item = tuple[str, int]
"""(task, trial)."""


class PairedComparison(Record, frozen=True, kw_only=True):
    """What two runs say about the items they share."""

    n: int
    """Items scored in both runs."""
    only_left: int
    """Items scored in the left run only: not compared."""
    only_right: int
    left: float | None
    """Mean over the shared items, a fraction; None without any."""
    right: float | None
    delta: float | None
    """right - left."""
    interval: tuple[float, float] | None
    """95 % of the difference, bootstrap over tasks."""
    better: int
    """Shared items on which the right run scores higher."""
    worse: int
    p_value: float
    """Two-sided exact sign test over better and worse; 1.0 when there are none."""


def scores_by_item(verdicts: Iterable[Verdict], *, metric: str, side: str) -> dict[Item, float]:
    """Pick one metric's numbers by (task, trial); unscored items are left to the caller's counts."""
    picked: dict[Item, float] = {}
    for verdict in verdicts:
        score = verdict.compat if side == "compat" else verdict.strict
        if verdict.metric == metric and score.value is not None:
            picked[verdict.task, verdict.trial] = score.value
    return picked


def compare_paired(
    left: Mapping[Item, float], right: Mapping[Item, float], *, name: str, resamples: int = RESAMPLES
) -> PairedComparison:
    """Compare two runs item by item; `name` (the metric) seeds the bootstrap.

    Units:   fractions in 0..1, differences in -1..1.
    """
    shared = sorted(left.keys() & right.keys())
    changes = {item: right[item] - left[item] for item in shared}
    better = sum(1 for change in changes.values() if change > TOLERANCE)
    worse = sum(1 for change in changes.values() if change < -TOLERANCE)
    delta = mean(list(changes.values())) if shared else None
    return PairedComparison(
        n=len(shared),
        only_left=len(left) - len(shared),
        only_right=len(right) - len(shared),
        left=mean([left[item] for item in shared]) if shared else None,
        right=mean([right[item] for item in shared]) if shared else None,
        delta=delta,
        interval=None if delta is None else _interval(changes, delta, name=name, resamples=resamples),
        better=better,
        worse=worse,
        p_value=sign_test(better, worse),
    )


def sign_test(better: int, worse: int) -> float:
    """Two-sided exact binomial test that better and worse are equally likely (McNemar's exact test)."""
    n = better + worse
    if n == 0:
        return 1.0
    term, tail = 1, 1
    for k in range(min(better, worse)):
        term = term * (n - k) // (k + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << n))


def _interval(
    changes: Mapping[Item, float], delta: float, *, name: str, resamples: int
) -> tuple[float, float] | None:
    by_task: dict[str, list[float]] = {}
    for (task, _), change in changes.items():
        by_task.setdefault(task, []).append(change)
    clusters: dict[str, Cluster] = {task: (math.fsum(found), len(found)) for task, found in by_task.items()}
    means = resample_means(clusters, seed=derive_seed("paired", name), resamples=resamples)
    return percentile_interval(means, value=delta)
