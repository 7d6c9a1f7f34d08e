"""What evaluators read: the answer of one task, decoded from an outcome that may come from outside."""

from __future__ import annotations

from replay.benchmarks.metatool.records import Sample
from replay.benchmarks.metatool.scoring.verdicts import Answered
from replay.core.types import Json

__all__ = ["read_outcome"]


def read_outcome(outcome: Json, sample: Sample) -> Answered | str:
    """Decode an outcome, or say why it cannot be read; foreign fields are tolerated."""
    if not isinstance(outcome, dict):
        return f"the outcome is a JSON {type(outcome).__name__}, not an object"
    text = outcome.get("answer")
    if not isinstance(text, str):
        return "the outcome has no text `answer`"
    order = outcome.get("order") or []
    if not isinstance(order, list) or not all(isinstance(name, str) for name in order):
        return "`order` is no list of tool names"
    if order and sorted(order) != sorted(sample.candidates):
        return "`order` does not hold the tools of the task's list"
    return Answered(text=text, order=tuple(order))
