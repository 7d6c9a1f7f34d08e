"""Verdicts over a plan -> SoPR, SoWR and FAC as the paper prints them, officially and corrected.

Figures are percentages. The overall figure is the paper's average (plain mean of the six groups); the mean
over all items is beside it as `pooled`. Compat leaves out what the official result file would not hold;
strict divides by the plan. Source: spec 5.3 to 5.5 and section 6 (the published averages are plain means).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.stabletoolbench.settings import METRICS
from replay.core.protocols import Metric, Summary
from replay.core.types import Json, Score, Verdict
from replay.evaluate.disagreements import describe_difference, list_flagged
from replay.evaluate.judge import ERROR
from replay.evaluate.metrics import MetricRules, Plan, Point, aggregate, collect_points
from replay.evaluate.states import Unscored

__all__ = ["GROUPS", "summarize"]

GROUPS: Final = (
    "G1_instruction",
    "G1_category",
    "G1_tool",
    "G2_category",
    "G2_instruction",
    "G3_instruction",
)
"""The paper's order: I1-Inst, I1-Cat, I1-Tool, I2-Cat, I2-Inst, I3-Inst."""

_LEFT_OUT: Final = {
    "compat": (Unscored.NOT_IN_RESULT_FILE.value, Unscored.NO_VERDICT.value),
    "strict": (),
}
"""Upstream divides by the records of the result file: a task the file does not speak of is not in it."""
_JUDGE_REASONS: Final = (Unscored.JUDGE_MISS.value, Unscored.JUDGE_ERROR.value)


def summarize(plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
    """Aggregate verdicts over a plan of (task, split, trial).

    Shape:   a metric without a single verdict of its own is absent; one that was asked for and could not be
             scored is there with value None and its counts.
    """
    planned = tuple(plan)
    every = tuple(verdicts)
    shown = [metric for metric in METRICS if _is_asked(planned, every, metric)]
    sides = {
        side: {metric: _figure(planned, every, metric, side) for metric in shown}
        for side in ("compat", "strict")
    }
    return Summary(
        compat=sides["compat"],
        strict=sides["strict"],
        differing=tuple(describe_difference(v) for v in _ordered(every) if v.differs and v.metric in shown),
        flagged=list_flagged(every),
    )


def _is_asked(plan: Plan, verdicts: Sequence[Verdict], metric: str) -> bool:
    """A metric counts as asked for when an item has a number or a judge's miss, or every item has a verdict.

    Tasks that produced nothing get a verdict for every metric, so those alone do not show what was asked.
    """
    mine = [verdict for verdict in verdicts if verdict.metric == metric]
    if not mine:
        return False
    return len(mine) == len(plan) or any(_tells(v.compat) or _tells(v.strict) for v in mine)


def _tells(score: Score) -> bool:
    return score.value is not None or score.unscored in _JUDGE_REASONS


def _figure(plan: Plan, verdicts: Sequence[Verdict], metric: str, side: str) -> Metric:
    points = collect_points(plan, verdicts, metric=metric, side=side)
    rules = MetricRules(
        name=f"stabletoolbench:{metric}",
        scale=100.0,
        left_out=_LEFT_OUT[side],
        group_order=GROUPS,
        mean_of_groups=True,
    )
    figure = aggregate(points, rules)
    if metric == "SoWR":
        figure = _with_results(figure, points)
    errors = sum(_count_errors(point.score.detail or {}) for point in points)
    if errors:
        figure = replace(figure, detail={**(figure.detail or {}), "judge_errors": errors})
    return _withheld(figure) if _lacks_judge(points) else figure


def _count_errors(detail: Mapping[str, Json]) -> int:
    """Unreadable judge answers behind one score: SoPR has labels by run, SoWR by round."""
    said = [*detail.get("labels", ()), *detail.get("rounds", ())]
    return said.count(ERROR)


def _lacks_judge(points: Sequence[Point]) -> bool:
    """Tell whether only items settled by rule have a score, while a judge was needed for others."""
    missed = any(point.score.unscored in _JUDGE_REASONS for point in points)
    settled = [(point.score.detail or {}).get("by") for point in points if point.score.value is not None]
    return missed and all(by == "rule" for by in settled)


def _withheld(figure: Metric) -> Metric:
    """Take the value back: answers that fail by rule are no sample of all answers. Bounds stay."""
    groups = {name: _withheld(group) for name, group in figure.groups.items()}
    detail = {**(figure.detail or {}), "withheld": "no judge answered; only items settled by rule are scored"}
    detail.pop("pooled", None)
    return replace(figure, value=None, std=None, interval=None, groups=groups, detail=detail)


def _with_results(figure: Metric, points: Sequence[Point]) -> Metric:
    """Put wins, losses and ties beside the win rate."""
    counts = Counter(
        (point.score.detail or {}).get("result") for point in points if point.score.value is not None
    )
    results = {
        "win": counts.get("candidate", 0),
        "lose": counts.get("reference", 0),
        "tie": counts.get("tie", 0),
    }
    return replace(figure, detail={**(figure.detail or {}), "results": results})


def _ordered(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda v: (METRICS.index(v.metric), v.split, v.task, v.trial))
