"""Verdicts over a plan -> the figures that ToolSandbox reports, officially and strictly.

Figures are percentages of similarity, as the paper prints them; `detail.official` is the fraction of
upstream's result_summary.json. `similarity` is grouped by tool list (scrambled variants are groups of
their own and not among the three distractors, as upstream has it), `categories` by category (they
overlap), the baselines and the mean turn count by category as well. Source: section 8 of the
specification; paper, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.toolsandbox.records import CATEGORIES, SPLITS
from replay.benchmarks.toolsandbox.scoring.baselines import BASELINES
from replay.benchmarks.toolsandbox.scoring.verdicts import METRICS, SIMILARITY
from replay.core.protocols import Metric, Summary
from replay.core.types import Json, Score, Verdict
from replay.evaluate.disagreements import describe_difference
from replay.evaluate.metrics import MetricRules, Plan, Point, aggregate, collect_points

__all__ = ["summarize"]

_RULES: Final = MetricRules(name="toolsandbox", scale=100.0, group_order=SPLITS)


def summarize(plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
    """Aggregate verdicts over a plan of (task, split, trial)."""
    planned, every = tuple(plan), tuple(verdicts)
    ordered = sorted(every, key=lambda v: (METRICS.index(v.metric), v.split, v.task, v.trial))
    flags = {verdict.task: list(verdict.flags) for verdict in ordered if verdict.flags}
    return Summary(
        compat=_figures(planned, ordered, "compat"),
        strict=_figures(planned, ordered, "strict"),
        differing=tuple(describe_difference(verdict) for verdict in ordered if verdict.differs),
        flagged=tuple({"task": task, "flags": flags[task]} for task in sorted(flags)),
    )


def _figures(plan: Plan, verdicts: Sequence[Verdict], side: str) -> dict[str, Metric]:
    points = collect_points(plan, verdicts, metric=SIMILARITY, side=side)
    found = {SIMILARITY: _aggregate(points, SIMILARITY), "categories": _by_category(points)}
    for metric in METRICS[1:]:
        having = {(verdict.task, verdict.trial) for verdict in verdicts if verdict.metric == metric}
        part = [item for item in plan if (item[0], item[2]) in having]
        if part:
            found[metric] = _aggregate(collect_points(part, verdicts, metric=metric, side=side), metric)
    for name in BASELINES:
        found[name] = _plain(points, _baseline(name), scale=100.0)
    found["turns"] = _plain(points, lambda detail: _turns(detail, side), scale=1.0)
    return found


def _baseline(name: str) -> Callable[[Mapping[str, Json]], float | None]:
    return lambda detail: detail["baselines"][name]


def _turns(detail: Mapping[str, Json], side: str) -> float | None:
    turns = detail.get("turns")
    return None if turns is None else float(turns["official" if side == "compat" else "strict"])


def _aggregate(points: Sequence[Point], name: str) -> Metric:
    figure = aggregate(points, replace(_RULES, name=f"toolsandbox:{name}"))
    groups = {split: _with_official(group) for split, group in figure.groups.items()}
    return replace(_with_official(figure), groups=groups)


def _with_official(figure: Metric) -> Metric:
    """Put the official fraction beside a percentage."""
    official = None if figure.value is None else figure.value / 100.0
    return replace(figure, detail={**(figure.detail or {}), "official": official})


# ---- by category ---------------------------------------------------------------------------------------


def _by_category(points: Sequence[Point]) -> Metric:
    """The overall figure, with those of each category; a scenario counts in each of its own."""
    overall = replace(_aggregate(points, SIMILARITY), groups={})
    groups = {}
    for category, members in _grouped(points).items():
        merged = [replace(point, group=category) for point in members]
        groups[category] = _aggregate(merged, f"category:{category}")
    return replace(overall, groups=groups)


def _grouped(points: Sequence[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in points:
        for category in _detail(point.score).get("categories", ()):
            found.setdefault(category, []).append(point)
    order = [category for category in CATEGORIES if category in found]
    return {category: found[category] for category in order}


def _plain(
    points: Sequence[Point], read: Callable[[Mapping[str, Json]], float | None], *, scale: float
) -> Metric:
    """Plain means of a number that the details hold, overall and by category."""
    groups = {category: _mean(members, read, scale) for category, members in _grouped(points).items()}
    return replace(_mean(points, read, scale), groups=groups)


def _mean(
    points: Sequence[Point], read: Callable[[Mapping[str, Json]], float | None], scale: float
) -> Metric:
    details = [_detail(point.score) for point in points]
    values = [value for detail in details if detail and (value := read(detail)) is not None]
    value = math.fsum(values) / len(values) * scale if values else None
    return Metric(value=value, n=len(values), planned=len(points), missing=len(points) - len(values))


def _detail(score: Score) -> Mapping[str, Json]:
    return score.detail if isinstance(score.detail, dict) else {}


# ---- differences ---------------------------------------------------------------------------------------
