"""What a summary lists item by item: verdicts whose two readings differ, and tasks with data errors."""

from __future__ import annotations

from collections.abc import Iterable

from replay.core.types import Json, Score, Verdict

__all__ = ["describe_difference", "list_flagged"]


def describe_difference(verdict: Verdict) -> Json:
    """Write a verdict down with both values, or the reason where one has none, and what parts them."""
    return {
        "task": verdict.task,
        "trial": verdict.trial,
        "metric": verdict.metric,
        "compat": _shown(verdict.compat),
        "strict": _shown(verdict.strict),
        "difference": verdict.differs,
    }


def list_flagged(verdicts: Iterable[Verdict]) -> tuple[Json, ...]:
    """List the tasks that carry flags, sorted by id."""
    flags = {verdict.task: verdict.flags for verdict in verdicts if verdict.flags}
    return tuple({"task": task, "flags": list(flags[task])} for task in sorted(flags))


def _shown(score: Score) -> Json:
    return score.unscored if score.value is None else score.value
