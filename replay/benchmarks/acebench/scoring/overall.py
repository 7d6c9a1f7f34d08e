"""The overall score of one language: official constants, and the square roots that they stand for.

Owns weights and roundings. Source: model_eval/evaluation_helper.py at commit 56dd66c; the paper says
"proportional to the square root of the sample size", which the constants are for 700, 150 and 50 sessions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from replay.benchmarks.acebench.records import (
    AGENT,
    ATOM,
    CATEGORIES,
    MULTI_TURN,
    NORMAL,
    SINGLE_TURN,
    SPECIAL,
)
from replay.core.protocols import Metric

__all__ = ["WEIGHTS", "make_overall", "official_mean", "official_overall", "part_of"]

WEIGHTS: Final[Mapping[str, float]] = {"special": 0.2676, "normal": 0.578, "agent": 0.1545}
"""Upstream's constants, in the order in which upstream adds them; they sum to 1.0001."""

PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "normal": NORMAL,
    "special": SPECIAL,
    "agent": AGENT,
    "atom": ATOM,
    "single-turn": SINGLE_TURN,
    "multi-turn": MULTI_TURN,
}
"""Categories of each part; the first three make the overall score."""


def official_mean(values: Sequence[float]) -> float:
    """Mean of category accuracies as upstream rounds it. Units: fractions."""
    return round(sum(values) / len(values), 3)


def official_overall(*, normal: float, special: float, agent: float) -> float:
    """The overall score upstream makes of its three parts. Units: fractions, three digits."""
    return round(special * WEIGHTS["special"] + normal * WEIGHTS["normal"] + agent * WEIGHTS["agent"], 3)


def part_of(figures: Mapping[str, Metric], part: str) -> Metric | None:
    """Figure of one part: the plain mean of its categories that are planned; None without any."""
    held = [figures[name] for name in PARTS[part] if name in figures]
    if not held:
        return None
    values = [figure.value for figure in held]
    known = [value for value in values if value is not None]
    return Metric(
        value=math.fsum(known) / len(held) if known else None,
        n=sum(figure.n for figure in held),
        planned=sum(figure.planned for figure in held),
        missing=sum(figure.missing for figure in held),
        detail={"official": official_mean([_fraction(figures, name) for name in PARTS[part]])},
    )


def make_overall(sessions: Mapping[str, Metric], turns: Mapping[str, Metric], *, side: str) -> Metric:
    """Weigh the three parts of one language.

    Shape:   compat counts a category that is not planned as 0, as upstream does; strict then has no value.
             Strict makes the weights sum to 1.
    """
    missing = [name for name in CATEGORIES if name not in sessions]
    official = official_overall(
        normal=_official_part(sessions, "normal"),
        special=_official_part(sessions, "special"),
        agent=_official_part(sessions, "agent"),
    )
    total = 1.0 if side == "compat" else math.fsum(WEIGHTS.values())
    value = 100.0 * math.fsum(weight / total * _share(sessions, part) for part, weight in WEIGHTS.items())
    return Metric(
        value=value if side == "compat" or not missing else None,
        n=sum(figure.n for figure in sessions.values()),
        planned=sum(figure.planned for figure in sessions.values()),
        missing=sum(figure.missing for figure in sessions.values()),
        detail={
            "official": official,
            "by_sessions": _by_sizes(sessions),
            "by_turns": _by_sizes(turns),
            **({"missing_categories": missing} if missing else {}),
        },
    )


def _official_part(figures: Mapping[str, Metric], part: str) -> float:
    return official_mean([_fraction(figures, name) for name in PARTS[part]])


def _fraction(figures: Mapping[str, Metric], category: str) -> float:
    """Accuracy of a category as upstream hands it on: in three digits, except for refusals."""
    value = figures[category].value if category in figures else None
    fraction = 0.0 if value is None else value / 100.0
    return fraction if category in SPECIAL else round(fraction, 3)


def _share(figures: Mapping[str, Metric], part: str) -> float:
    names = PARTS[part]
    values = [figures[name].value for name in names if name in figures]
    return math.fsum(value for value in values if value is not None) / len(names) / 100.0


def _by_sizes(figures: Mapping[str, Metric]) -> float | None:
    """Overall score with the square roots of the planned sizes for weights; None while a part is missing."""
    sizes = {part: sum(figures[name].planned for name in PARTS[part] if name in figures) for part in WEIGHTS}
    if not all(sizes.values()):
        return None
    roots = {part: math.sqrt(size) for part, size in sizes.items()}
    total = math.fsum(roots.values())
    return 100.0 * math.fsum(roots[part] / total * _share(figures, part) for part in WEIGHTS)
