"""Verdicts over a plan -> the figures that ACEBench prints, officially and strictly.

Figures are percentages. Sessions count as one item each: right when all their turns are. `overall` is the
official weighting of Normal, Special and Agent for each language, its value the mean of the languages, as the
leaderboard has it; beside it the same by the square roots of the sample sizes that were actually planned, by
sessions and by turns. `detail.official` holds what the official scripts print, rounded as they round.
Source: spec 3.9, 3.10; model_eval/evaluation_helper.py at commit 56dd66c.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.acebench.records import (
    AGENT,
    CATEGORIES,
    LANGUAGES,
    MULTI_TURN,
    session_of,
    split_of,
)
from replay.benchmarks.acebench.scoring.overall import make_overall, part_of
from replay.benchmarks.acebench.scoring.verdicts import ACCURACY, METRICS, PROCESS
from replay.core.protocols import Metric, Summary
from replay.core.types import Score, Verdict
from replay.evaluate.disagreements import describe_difference
from replay.evaluate.metrics import MetricRules, Plan, Point, aggregate, collect_points
from replay.evaluate.states import scored, unscored

__all__ = ["summarize"]

_SPLITS: Final = tuple(split_of(language, category) for language in LANGUAGES for category in CATEGORIES)
_PARTS: Final = ("normal", "special", "agent", "atom", "single-turn", "multi-turn")


def summarize(plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
    """Aggregate verdicts over a plan of (task, split, trial)."""
    planned = tuple(plan)
    every = tuple(verdicts)
    sides = {side: _figures(planned, every, side) for side in ("compat", "strict")}
    ordered = sorted(every, key=lambda v: (METRICS.index(v.metric), v.split, v.task, v.trial))
    flags = {verdict.task: list(verdict.flags) for verdict in every if verdict.flags}
    return Summary(
        compat=sides["compat"],
        strict=sides["strict"],
        differing=tuple(describe_difference(verdict) for verdict in ordered if verdict.differs),
        flagged=tuple({"task": task, "flags": flags[task]} for task in sorted(flags)),
    )


def _figures(plan: Plan, verdicts: Sequence[Verdict], side: str) -> dict[str, Metric]:
    turns = collect_points(
        plan, [verdict for verdict in verdicts if verdict.metric == ACCURACY], metric=ACCURACY, side=side
    )
    sessions = _by_session(turns)
    by_session, by_turn = _aggregate(sessions, "accuracy"), _aggregate(turns, "turns")
    overall = {
        language: make_overall(_of_language(by_session, language), _of_language(by_turn, language), side=side)
        for language in _languages(plan)
    }
    found = {"overall": _over_languages(overall)}
    for part in _PARTS:
        groups = {name: part_of(_of_language(by_session, name), part) for name in overall}
        shown = {name: metric for name, metric in groups.items() if metric is not None}
        if shown:
            found[part] = _over_languages(shown)
    found["accuracy"] = _with_errors(by_session, turns)
    multi = [point for point in turns if _category(point.group) in MULTI_TURN]
    if multi:
        found["turns"] = _with_errors(_aggregate(multi, "turns"), multi)
        found["session-process"] = _aggregate(_share_by_session(multi), "session-process")
    agents = [item for item in plan if _category(item[1]) in AGENT]
    if agents:
        process = collect_points(agents, verdicts, metric=PROCESS, side=side)
        found["process"] = _aggregate(process, "process")
    return found


def _aggregate(points: Iterable[Point], name: str) -> Metric:
    rules = MetricRules(name=f"acebench:{name}", scale=100.0, group_order=_SPLITS)
    held = tuple(points)
    figure = aggregate(held, rules)
    # A figure over one group alone has that group, too.
    parts = figure.groups or {point.group: figure for point in held}
    groups = {split: _with_official(group) for split, group in parts.items()}
    return replace(_with_official(figure), groups=groups)


def _with_official(figure: Metric) -> Metric:
    """Put the official three digits beside a figure."""
    official = None if figure.value is None else round(figure.value / 100.0, 3)
    return replace(figure, detail={**(figure.detail or {}), "official": official})


def _over_languages(groups: Mapping[str, Metric]) -> Metric:
    """The mean of the languages; none as long as one of them has none."""
    values = [group.value for group in groups.values() if group.value is not None]
    only = next(iter(groups.values())) if len(groups) == 1 else None
    return Metric(
        value=sum(values) / len(values) if len(values) == len(groups) else None,
        n=sum(group.n for group in groups.values()),
        planned=sum(group.planned for group in groups.values()),
        missing=sum(group.missing for group in groups.values()),
        groups=dict(groups),
        detail=only.detail if only is not None else None,
    )


def _of_language(figure: Metric, language: str) -> dict[str, Metric]:
    """Figures of one language by category."""
    groups = figure.groups
    return {
        category: groups[split]
        for category in CATEGORIES
        if (split := split_of(language, category)) in groups
    }


def _languages(plan: Plan) -> list[str]:
    present = {split.split("/")[0] for _, split, _ in plan}
    return [name for name in LANGUAGES if name in present]


def _category(split: str) -> str:
    return split.rpartition("/")[2]


# ---- sessions ------------------------------------------------------------------------------------------


def _grouped(turns: Iterable[Point]) -> dict[tuple[str, int], list[Point]]:
    found: dict[tuple[str, int], list[Point]] = {}
    for point in turns:
        found.setdefault((session_of(point.task), point.trial), []).append(point)
    return found


def _by_session(turns: Sequence[Point]) -> list[Point]:
    """One point a session in place of its turns; other points as they are."""
    points = [point for point in turns if _category(point.group) not in MULTI_TURN]
    sessions = _grouped(point for point in turns if _category(point.group) in MULTI_TURN)
    for (session, trial), members in sessions.items():
        score = _session_score([member.score for member in members])
        points.append(Point(task=session, trial=trial, group=members[0].group, score=score))
    return points


def _session_score(scores: Sequence[Score]) -> Score:
    """Score a session: right when every turn is; without a score only when nothing else has failed it."""
    wrong = next((score for score in scores if score.value is not None and score.value < 1.0), None)
    if wrong is not None:
        return scored(0.0, why=wrong.why)
    missing = next((score for score in scores if score.value is None), None)
    return scored(1.0) if missing is None else unscored(missing.unscored, why=missing.why)


def _share_by_session(turns: Sequence[Point]) -> list[Point]:
    """Share of right turns of each session, in three digits as upstream rounds it."""
    points = []
    for (session, trial), members in _grouped(turns).items():
        right = sum(1 for member in members if member.score.value == 1.0)
        score = scored(round(right / len(members), 3))
        points.append(Point(task=session, trial=trial, group=members[0].group, score=score))
    return points


# ---- details -------------------------------------------------------------------------------------------


def _with_errors(figure: Metric, turns: Sequence[Point]) -> Metric:
    """Put the errors by type beside a figure and each of its groups; turns of sessions count one by one."""
    groups = {
        split: replace(group, detail={**(group.detail or {}), "errors": _errors(turns, split)})
        for split, group in figure.groups.items()
    }
    return replace(figure, groups=groups, detail={**(figure.detail or {}), "errors": _errors(turns, None)})


def _errors(turns: Sequence[Point], split: str | None) -> dict[str, int]:
    found = Counter(
        point.score.why for point in turns if point.score.value == 0.0 and split in (None, point.group)
    )
    return dict(sorted(found.items()))
