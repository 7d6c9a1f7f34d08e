"""Many scores -> one figure with its denominator, what is missing, its spread and its interval.

Pure functions: order of the items never matters, sums are `math.fsum`, the bootstrap is seeded by names.
Which items leave a denominator, and how groups make the overall figure, the benchmark states in
`MetricRules`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from replay.core.determinism import derive_seed
from replay.core.errors import InternalError
from replay.core.protocols import Metric
from replay.core.types import Json, Record, Score, Verdict
from replay.evaluate.bootstrap import RESAMPLES, Cluster, percentile_interval, resample_means
from replay.evaluate.states import Unscored, unscored

__all__ = [
    "MetricRules",
    "Plan",
    "Point",
    "aggregate",
    "collect_points",
    "count_differing",
    "integral_counts",
    "mean",
    "population_std",
]

Plan = Sequence[tuple[str, str, int]]
"""(task, split, trial) of every planned item."""


class Point(Record, frozen=True, kw_only=True):
    """One planned item as it enters a metric."""

    task: str
    trial: int
    group: str
    score: Score


class MetricRules(Record, frozen=True, kw_only=True):
    """How the points of one metric become a figure."""

    name: str
    """Names the bootstrap's seed; benchmark and metric."""
    scale: float = 1.0
    """100 where the paper prints percent."""
    left_out: tuple[str, ...] = ()
    """Reasons for having no score that take an item out of the denominator; other unscored items stay."""
    group_order: tuple[str, ...] = ()
    """Groups in the paper's order; others follow sorted."""
    mean_of_groups: bool = False
    """True: the overall figure is the plain mean of the groups; False: of all items."""
    resamples: int = RESAMPLES


def mean(values: Sequence[float]) -> float:
    """Average exactly rounded sums. Raises InternalError for no values."""
    if not values:
        raise InternalError("the mean of nothing")
    return math.fsum(values) / len(values)


def population_std(values: Sequence[float]) -> float:
    """Population standard deviation (divides by n), as numpy computes by default."""
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / len(values))


def collect_points(plan: Plan, verdicts: Iterable[Verdict], *, metric: str, side: str) -> tuple[Point, ...]:
    """Take one metric's scores over a plan, in plan order; `side` is compat or strict.

    Errors:  InternalError for a verdict outside the plan or two verdicts on one item.
    """
    found: dict[tuple[str, int], Score] = {}
    for verdict in verdicts:
        if verdict.metric != metric:
            continue
        item = (verdict.task, verdict.trial)
        if item in found:
            raise InternalError(
                f"two {metric} verdicts on one item", where=f"task {item[0]}, trial {item[1]}"
            )
        found[item] = verdict.compat if side == "compat" else verdict.strict
    nothing = unscored(Unscored.NO_VERDICT)
    points = [
        Point(task=task, trial=trial, group=split, score=found.pop((task, trial), nothing))
        for task, split, trial in plan
    ]
    if found:
        (task, trial) = min(found)
        raise InternalError(
            f"a {metric} verdict on an item outside the plan", where=f"task {task}, trial {trial}"
        )
    return tuple(points)


def aggregate(points: Iterable[Point], rules: MetricRules) -> Metric:
    """Make one metric of points, with its groups.

    Shape:   `groups` is filled when the points have more than one group or `mean_of_groups` is set.
    Units:   value, std, interval and bounds are fractions times `rules.scale`.
    """
    every = sorted(points, key=lambda point: (point.task, point.trial))
    by_group: dict[str, list[Point]] = {}
    for point in every:
        by_group.setdefault(point.group, []).append(point)
    order = [name for name in rules.group_order if name in by_group]
    order += sorted(set(by_group) - set(order))
    draws = {name: _draw(by_group[name], rules, name) for name in order}
    groups = {name: _figure(by_group[name], rules, draws[name]) for name in order}
    pooled_draws = _pool(draws, groups)
    pooled = _figure(every, rules, pooled_draws)
    if rules.mean_of_groups and groups:
        return _overall(pooled, groups, draws=draws, rules=rules)
    if len(groups) > 1:
        return replace(pooled, groups=groups)
    return pooled


def integral_counts(percent: float, n: int, *, decimals: int = 1) -> tuple[int, ...]:
    """Whole numbers k for which k of n prints as `percent`; none when the figure cannot be k of n.

    Source:  the integrality test of published tables: a cell over n items must be some k / n.
    """
    step = 10.0**-decimals
    low = max(0, math.floor((percent - step) * n / 100.0))
    high = min(n, math.ceil((percent + step) * n / 100.0))
    # Half a unit of the last digit, and one part in 10^9 for figures that lie on the half.
    return tuple(k for k in range(low, high + 1) if abs(100.0 * k / n - percent) <= step / 2 * (1 + 1e-9))


def count_differing(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Count items by the id of the difference they show, sorted by id."""
    return dict(sorted(Counter(verdict.differs for verdict in verdicts if verdict.differs).items()))


# ---- one figure ----------------------------------------------------------------------------------------


def _kept(points: Sequence[Point], rules: MetricRules) -> list[Point]:
    return [p for p in points if p.score.value is not None or p.score.unscored not in rules.left_out]


def _draw(points: Sequence[Point], rules: MetricRules, group: str) -> tuple[float, ...]:
    """Resampled means of one group; unscored items that stay in the denominator add nothing to the sum."""
    kept = _kept(points, rules)
    values: dict[str, list[float]] = {}
    for point in kept:
        values.setdefault(point.task, []).append(point.score.value or 0.0)
    clusters: dict[str, Cluster] = {task: (math.fsum(sums), len(sums)) for task, sums in values.items()}
    seed = derive_seed("bootstrap", rules.name, group)
    return resample_means(clusters, seed=seed, resamples=rules.resamples)


def _figure(points: Sequence[Point], rules: MetricRules, draws: Sequence[float]) -> Metric:
    kept = _kept(points, rules)
    values = [point.score.value for point in kept if point.score.value is not None]
    value = math.fsum(values) / len(kept) if values else None
    interval = percentile_interval(draws, value=value) if value is not None else None
    std = _runs_std([point.score for point in kept]) if values else None
    return Metric(
        value=None if value is None else value * rules.scale,
        n=len(kept),
        planned=len(points),
        missing=len(points) - len(values),
        abstained=sum(point.score.abstained for point in kept),
        std=None if std is None else std * rules.scale,
        interval=None if interval is None else (interval[0] * rules.scale, interval[1] * rules.scale),
        detail=_detail(points, kept, rules),
    )


def _detail(points: Sequence[Point], kept: Sequence[Point], rules: MetricRules) -> Json:
    reasons = Counter(point.score.unscored for point in points if point.score.value is None)
    detail: dict[str, Json] = {}
    if reasons:
        detail["unscored"] = dict(sorted(reasons.items()))
    open_items = sum(1 for point in kept if point.score.value is None)
    if open_items:
        low = math.fsum(point.score.value or 0.0 for point in kept)
        detail["bounds"] = [low / len(kept) * rules.scale, (low + open_items) / len(kept) * rules.scale]
    return detail or None


def _runs_std(scores: Sequence[Score]) -> float | None:
    """Spread of the figure over repeated judge runs; an item without repeats counts alike in each run."""
    runs = max((len(score.runs) for score in scores), default=0)
    if runs == 0:
        return None
    figures = [
        math.fsum(score.runs[run] if run < len(score.runs) else score.value or 0.0 for score in scores)
        / len(scores)
        for run in range(runs)
    ]
    return population_std(figures)


# ---- over groups ---------------------------------------------------------------------------------------


def _pool(draws: Mapping[str, Sequence[float]], groups: Mapping[str, Metric]) -> tuple[float, ...]:
    """Means over all items from the groups' resamples (each group keeps its size: a stratified bootstrap)."""
    used = [name for name in draws if draws[name]]
    total = sum(groups[name].n for name in used)
    columns = zip(*(draws[name] for name in used), strict=True)
    return tuple(
        math.fsum(figure * groups[name].n for figure, name in zip(row, used, strict=True)) / total
        for row in columns
    )


def _overall(
    pooled: Metric, groups: dict[str, Metric], *, draws: Mapping[str, Sequence[float]], rules: MetricRules
) -> Metric:
    """The plain mean of groups; a group that stays in the denominator with nothing scored adds 0."""
    used = [name for name in groups if groups[name].n > 0]
    detail = {**(pooled.detail or {}), "pooled": pooled.value}
    if pooled.value is None:
        return replace(pooled, groups=groups, detail=detail)
    value = mean([groups[name].value or 0.0 for name in used])
    columns = zip(*(draws[name] for name in used), strict=True)
    interval = percentile_interval([mean(row) * rules.scale for row in columns], value=value)
    stds = [groups[name].std or 0.0 for name in used]
    std = mean(stds) if any(groups[name].std is not None for name in used) else None
    if "bounds" in detail:
        bounds = [(groups[name].detail or {}).get("bounds") or [groups[name].value] * 2 for name in used]
        detail["bounds"] = [mean([low for low, _ in bounds]), mean([high for _, high in bounds])]
    return replace(pooled, groups=groups, detail=detail, value=value, interval=interval, std=std)
