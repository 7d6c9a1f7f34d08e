"""End states and processes of agents as the paper means them: every attribute equal, milestones as calls.

Owns which class of a truth is meant when its name is mistyped, and what an unreadable milestone is: a data
error of its record, never a score.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from replay.benchmarks.acebench.literals.milestones import read_milestone
from replay.benchmarks.acebench.literals.strict import find_call_lists
from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.benchmarks.acebench.scoring.strict_calls import count_matches
from replay.benchmarks.acebench.scoring.strict_values import is_same
from replay.core.types import Json

__all__ = ["check_strict_state", "correct_class", "measure_strict_process"]


def check_strict_state(result: Json, truth: Json, involved: Sequence[str]) -> str:
    """Compare the saved attributes of all classes, both ways; the error's name, or empty."""
    mine = _by_class(result)
    wanted = {correct_class(name, involved): value for name, value in (_by_class(truth) or {}).items()}
    if mine is None or mine.keys() != wanted.keys():
        return "wrong number of class"
    return "" if is_same(mine, wanted) else "class attributes wrong"


def correct_class(name: str, involved: Sequence[str]) -> str:
    """Name of the involved class that a truth means: itself, or the one it is a mistyped form of."""
    if name in involved or not involved:
        return name
    near = difflib.get_close_matches(name.lower(), [other.lower() for other in involved], n=1, cutoff=0.8)
    return next((other for other in involved if near and other.lower() == near[0]), name)


def measure_strict_process(process: Sequence[str], alternatives: Sequence[Sequence[str]]) -> float | None:
    """Share of the milestones' calls that the messages make, each once, in any order; the best alternative.

    Shape:   None when a record has no milestones or one that cannot be read.
    """
    calls = [call for message in process for calls in find_call_lists(message) for call in calls]
    try:
        wanted = [[call for stone in stones for call in read_milestone(stone)] for stones in alternatives]
    except LiteralError:
        return None
    if not all(wanted) or not wanted:
        return None
    return max(count_matches(calls, stones) / len(stones) for stones in wanted)


def _by_class(entries: Json) -> dict[str, Json] | None:
    """Attributes by class name; None for what is no list of such objects, or names one twice."""
    found: dict[str, Json] = {}
    for entry in entries if isinstance(entries, list) else [entries]:
        if not isinstance(entry, dict) or found.keys() & entry.keys():
            return None
        found |= entry
    return found
