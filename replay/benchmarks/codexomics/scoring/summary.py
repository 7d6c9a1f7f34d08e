"""Verdicts over a plan -> figures with their baselines and scope (spec section 7, reporting).

Strict accuracy and average partial score are two metrics; each has the three baselines beside it. Figures are
percentages; groups are the suites.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.codexomics.scoring.pooling import check_one_scope, find_scope
from replay.benchmarks.codexomics.scoring.verdicts import METRICS
from replay.core.protocols import Metric, Summary
from replay.core.types import Json, Score, Verdict
from replay.evaluate.metrics import MetricRules, Plan, aggregate, collect_points

__all__ = ["summarize"]

_PERCENT: Final = 100.0
_SUITES: Final = ("automatic_simple", "automatic_complex")


def summarize(plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
    """Aggregate verdicts over a plan of (task, split, trial).

    Errors:  InputError when the verdicts are of more than one tier, mode, registry or suite fingerprint.
    """
    planned, every = tuple(plan), tuple(verdicts)
    scope = check_one_scope(find_scope(verdict) for verdict in every)
    sides = {
        side: {metric: _figure(planned, every, metric, side, scope) for metric in METRICS}
        for side in ("compat", "strict")
    }
    return Summary(
        compat=sides["compat"],
        strict=sides["strict"],
        differing=tuple(_differing(verdict) for verdict in _ordered(every) if verdict.differs),
        flagged=_flagged(every),
    )


def _figure(
    plan: Plan, verdicts: Sequence[Verdict], metric: str, side: str, scope: Mapping[str, Json]
) -> Metric:
    points = collect_points(plan, verdicts, metric=metric, side=side)
    figure = aggregate(points, MetricRules(name=f"codexomics:{metric}", scale=_PERCENT, group_order=_SUITES))
    detail = {**(figure.detail or {}), **({"scope": dict(scope)} if scope else {})}
    baselines = _baselines([point.score for point in points], METRICS.index(metric))
    if baselines:
        detail["baselines"] = baselines
    return replace(figure, detail=detail or None)


def _baselines(scores: Sequence[Score], column: int) -> dict[str, Json]:
    """Mean of each baseline over the same items; none for a stage that calls nothing."""
    rows = [
        score.detail["baselines"]
        for score in scores
        if isinstance(score.detail, dict) and "baselines" in score.detail
    ]
    if not rows or column > 1:
        return {}
    names = sorted({name for row in rows for name in row})
    return {name: _PERCENT * math.fsum(row[name][column] for row in rows) / len(rows) for name in names}


def _ordered(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda v: (METRICS.index(v.metric), v.split, v.task, v.trial))


def _differing(verdict: Verdict) -> Json:
    return {
        "task": verdict.task,
        "trial": verdict.trial,
        "metric": verdict.metric,
        "compat": verdict.compat.value,
        "strict": verdict.strict.value,
        "difference": verdict.differs,
    }


def _flagged(verdicts: Sequence[Verdict]) -> tuple[Json, ...]:
    flags = {verdict.task: verdict.flags for verdict in verdicts if verdict.flags}
    return tuple({"task": task, "flags": list(flags[task])} for task in sorted(flags))
