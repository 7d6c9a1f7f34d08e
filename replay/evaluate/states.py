"""Verdict states: a score is a number or a named reason why there is none.

Owns the closed list of reasons and the rule for when the official and the corrected score disagree. A
benchmark builds its verdicts here and nowhere else, so no item can be dropped, or become 0 or 1, in silence.
"""

from __future__ import annotations

import enum
import math
from typing import Final

from replay.core.errors import InternalError
from replay.core.types import Json, Score, Task, Verdict

__all__ = ["TOLERANCE", "Unscored", "has_same_result", "make_verdict", "scored", "unscored"]

TOLERANCE: Final = 1e-12
"""Two scores closer than this are one score: means of the same runs in another order differ by less."""


class Unscored(enum.StrEnum):
    """Why an item has no score."""

    MISSING_OUTPUT = "missing-output"
    """The candidate produced nothing for the task."""
    MISSING_REFERENCE = "missing-reference"
    """The candidate that preferences compare with produced nothing for the task."""
    UNUSABLE_OUTPUT = "unusable-output"
    """There is an output, but not the part of it that this metric reads."""
    NOT_IN_RESULT_FILE = "not-in-result-file"
    """The official evaluator would have no record of the item (compat scores only)."""
    EVALUATOR_CRASH = "evaluator-crash"
    """The official evaluator itself would stop on this item and score nothing (compat scores only)."""
    JUDGE_MISS = "judge-miss"
    """No verdict is recorded and no judge may be asked."""
    JUDGE_ERROR = "judge-error"
    """Every answer of the judge was unreadable; the raw texts are kept."""
    NO_VERDICT = "no-verdict"
    """The item is in the plan, but the run holds no verdict for it."""
    DATA_ERROR = "data-error"
    """The benchmark's own ground truth for the item cannot be read."""
    TOOL_MISS = "tool-miss"
    """The episode ended on a tool call that nothing recorded answers."""
    CANDIDATE_MISS = "candidate-miss"
    """The episode ended on a candidate completion that is not recorded."""
    USER_MISS = "user-miss"
    """The episode ended on a user-simulator completion that is not recorded."""
    USER_FAILED = "user-failed"
    """The episode ended because the simulated user said nothing usable."""
    TOOL_ERROR = "tool-error"
    """The episode ended on a tool that broke."""
    NETWORK_BLOCKED = "network-blocked"
    """The episode reached for the network and is void."""


def scored(
    value: float,
    *,
    runs: tuple[float, ...] = (),
    why: str = "",
    abstained: int = 0,
    detail: Json = None,
) -> Score:
    """Build a score from a fraction.

    Units:   `value` and `runs` in 0..1.
    Errors:  InternalError for a number outside 0..1: a score of that kind is a bug of the evaluator.
    """
    for number in (value, *runs):
        if not (math.isfinite(number) and 0.0 <= number <= 1.0):
            raise InternalError(f"score {number!r} is not a fraction", expected="a number in 0..1")
    return Score(value=float(value), runs=runs, why=why, abstained=abstained, detail=detail)


def unscored(reason: str, *, why: str = "", detail: Json = None) -> Score:
    """Build the score of an item that has none.

    Errors:  InternalError for a reason outside the closed list `Unscored`.
    """
    known = [member.value for member in Unscored]
    if reason not in known:
        raise InternalError(
            f"unscored for an unnamed reason {reason!r}", expected=f"one of {', '.join(known)}"
        )
    return Score(value=None, unscored=str(reason), why=why, detail=detail)


def has_same_result(left: Score, right: Score) -> bool:
    """Tell whether two scores say the same: equal numbers, or the same reason for having none."""
    if left.value is None or right.value is None:
        return left.value is None and right.value is None and left.unscored == right.unscored
    return abs(left.value - right.value) <= TOLERANCE


def make_verdict(
    task: Task, trial: int, *, metric: str, compat: Score, strict: Score, cause: str = ""
) -> Verdict:
    """Put the official and the corrected score of one item side by side.

    Errors:  InternalError when they disagree and `cause` names no entry of the benchmark's difference table.
    """
    differs = "" if has_same_result(compat, strict) else cause
    if not differs and not has_same_result(compat, strict):
        raise InternalError(
            f"{metric}: compat {_shown(compat)} and strict {_shown(strict)} differ without a cause",
            where=f"task {task.id}, trial {trial}",
        )
    return Verdict(
        task=task.id,
        trial=trial,
        split=task.split,
        metric=metric,
        compat=compat,
        strict=strict,
        differs=differs,
        flags=task.flags,
    )


def _shown(score: Score) -> str:
    return f"unscored ({score.unscored})" if score.value is None else repr(score.value)
