"""Verdicts over a plan -> the paper's figures, by the default and the strict reading, and what they lean on.

Figures are percentages over the plan: an answer that is missing or undetermined counts as wrong and is
counted beside. Names with a dot belong to the subtask before it: `.literal` is what the published rules say
word for word, `.constant` what one constant answer scores, `.top@k` how close wrong choices are. Source:
paper, tables 2 to 4 and 13; spec 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.metatool.records import (
    AWARENESS,
    BENCHMARK,
    METRICS,
    MULTI,
    RELIABILITY,
    SCENARIO,
    SIMILAR,
)
from replay.core.protocols import Metric, Summary
from replay.core.types import Json, Score, Verdict
from replay.evaluate.disagreements import describe_difference, list_flagged
from replay.evaluate.metrics import MetricRules, Point, aggregate, collect_points
from replay.evaluate.states import scored

__all__ = ["summarize"]

_SCALE: Final = 100.0
_TOP: Final = (1, 3, 5)
"""The k of the paper's error analysis."""
_PARTS: Final = ("1/1", "1/2")
"""Multi-tool answers that are right in part, as the paper's table 4 names them."""

Item = tuple[str, str, int]


def summarize(plan: Iterable[Item], verdicts: Iterable[Verdict]) -> Summary:
    """Aggregate verdicts over a plan of (task, split, trial); a subtask that is not planned has no figure."""
    planned = tuple(plan)
    every = tuple(verdicts)
    sides: dict[str, dict[str, Metric]] = {"compat": {}, "strict": {}}
    for subtask in METRICS:
        mine = [item for item in planned if _subtask_of(item[1]) == subtask]
        if not mine:
            continue
        flagged = {verdict.task for verdict in every if verdict.metric == subtask and verdict.flags}
        for side in ("compat", "strict"):
            points = collect_points(mine, every, metric=subtask, side=side)
            sides[side] |= _figures(subtask, points, flagged=flagged, with_literal=side == "compat")
    return Summary(
        compat=sides["compat"],
        strict=sides["strict"],
        differing=tuple(describe_difference(verdict) for verdict in _ordered(every) if verdict.differs),
        flagged=list_flagged(every),
    )


def _subtask_of(split: str) -> str:
    return SCENARIO if split.startswith(f"{SCENARIO}-") else split


def _figures(
    subtask: str, points: Sequence[Point], *, flagged: set[str], with_literal: bool
) -> dict[str, Metric]:
    main = _aggregate(subtask, points)
    rest = [point for point in points if point.task not in flagged]
    detail = {**(main.detail or {}), **_counts(points)}
    if flagged and rest:
        clean = _aggregate(subtask, rest, resamples=1)
        detail["without_flagged"] = {"value": clean.value, "n": clean.n}
    found = {subtask: replace(main, detail=detail)}
    if subtask == AWARENESS:
        found |= _retrieval(points)
    if subtask == MULTI:
        found |= {f"{subtask}.{kind}": _share(points, _has_error(kind)) for kind in _PARTS}
    if subtask == SIMILAR:
        found |= _top(points)
    if with_literal:
        found[f"{subtask}.literal"] = _literal(subtask, points)
        found[f"{subtask}.constant"] = _constant(subtask, points)
    return found


def _aggregate(name: str, points: Sequence[Point], *, resamples: int | None = None) -> Metric:
    rules = MetricRules(name=f"{BENCHMARK}:{name}", scale=_SCALE)
    return aggregate(points, rules if resamples is None else replace(rules, resamples=resamples))


def _counts(points: Sequence[Point]) -> dict[str, Json]:
    """Errors by kind, oddities by kind, index answers that would be right, and the undetermined."""
    details = [_detail(point.score) for point in points]
    errors = Counter(str(detail["error"]) for detail in details if detail.get("error"))
    odd = Counter(str(name) for detail in details for name in detail.get("oddities", ()))
    open_items = sum(detail.get("verdict") == "undetermined" for detail in details)
    found: dict[str, Json] = {"errors": dict(sorted(errors.items()))}
    if odd:
        found["oddities"] = dict(sorted(odd.items()))
    if any("index_right" in detail for detail in details):
        found["index_answers_right"] = sum(detail.get("index_right") is True for detail in details)
    return found | {"undetermined": open_items, "undetermined_share": _SCALE * open_items / len(points)}


# ---- awareness -----------------------------------------------------------------------------------------


def _retrieval(points: Sequence[Point]) -> dict[str, Metric]:
    """Precision, recall and F1 of "a tool is needed"; what is open or missing is not predicted positive.

    Source:  paper, table 2; spec 3.1.
    """
    pairs = Counter(
        (str(detail.get("truth")), str(detail.get("verdict")))
        for detail in (_detail(point.score) for point in points)
    )
    hits, false = pairs["yes", "yes"], pairs["no", "yes"]
    positives = sum(count for (truth, _), count in pairs.items() if truth == "yes")
    confusion = {
        "true_positive": hits,
        "false_positive": false,
        "true_negative": pairs["no", "no"],
        "false_negative": pairs["yes", "no"],
    }
    precision = _ratio(hits, hits + false, planned=len(points))
    recall = _ratio(hits, positives, planned=len(points))
    both = (precision.value or 0.0) + (recall.value or 0.0)
    score = 2 * (precision.value or 0.0) * (recall.value or 0.0) / both if both else None
    if score is None and positives:
        score = 0.0
    return {
        f"{AWARENESS}.precision": precision,
        f"{AWARENESS}.recall": recall,
        f"{AWARENESS}.f1": Metric(value=score, n=positives, planned=len(points), detail=confusion),
    }


def _ratio(part: int, whole: int, *, planned: int) -> Metric:
    return Metric(value=_SCALE * part / whole if whole else None, n=whole, planned=planned)


# ---- selection -----------------------------------------------------------------------------------------


def _share(points: Sequence[Point], holds: Callable[[Score], bool]) -> Metric:
    """Share of all planned items whose score is of a kind."""
    hits = sum(holds(point.score) for point in points)
    missing = sum(point.score.value is None for point in points)
    return replace(_ratio(hits, len(points), planned=len(points)), missing=missing)


def _has_error(kind: str) -> Callable[[Score], bool]:
    return lambda score: _detail(score).get("error") == kind


def _top(points: Sequence[Point]) -> dict[str, Metric]:
    """Share of wrong choices that are among the k nearest neighbours of the truth (paper, table 3)."""
    ranks = [rank for point in points if (rank := _detail(point.score).get("rank"))]
    return {
        f"{SIMILAR}.top@{k}": _ratio(sum(rank <= k for rank in ranks), len(ranks), planned=len(points))
        for k in _TOP
    }


# ---- beside every figure -------------------------------------------------------------------------------


def _literal(subtask: str, points: Sequence[Point]) -> Metric:
    """What the published rules say word for word; answers they leave to a person are wrong, with bounds."""
    told = [_detail(point.score) for point in points]
    manual = sum("literal" in detail and detail["literal_correct"] is None for detail in told)
    read = [
        replace(point, score=scored(float(detail.get("literal_correct") is True)))
        if "literal" in detail
        else point
        for point, detail in zip(points, told, strict=True)
    ]
    figure = _aggregate(f"{subtask}.literal", read)
    if figure.value is None:
        return figure
    bounds = [figure.value, figure.value + _SCALE * (manual + figure.missing) / len(points)]
    return replace(figure, detail={**(figure.detail or {}), "manual": manual, "bounds": bounds})


def _constant(subtask: str, points: Sequence[Point]) -> Metric:
    """What the best constant answer scores: one word, or the same place or places of the list every time.

    Source:  spec, fact 4: upstream's order gives the truth away.
    """
    told = [_detail(point.score) for point in points]
    if subtask == AWARENESS:
        answers = Counter(str(detail["truth"]) for detail in told if "truth" in detail)
    elif subtask == RELIABILITY:
        answers = Counter("None" for detail in told if "positions" in detail)
    else:
        answers = Counter(
            " and ".join(map(str, detail["positions"])) for detail in told if detail.get("positions")
        )
    if not answers:
        return Metric(value=None, n=0, planned=len(points))
    best, hits = min(answers.items(), key=lambda item: (-item[1], item[0]))
    figure = _ratio(hits, answers.total(), planned=len(points))
    kind = "answer" if subtask in (AWARENESS, RELIABILITY) else "position"
    return replace(figure, detail={kind: best})


def _detail(score: Score) -> dict[str, Json]:
    return score.detail if isinstance(score.detail, dict) else {}


def _ordered(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda v: (METRICS.index(v.metric), v.split, v.task, v.trial))
