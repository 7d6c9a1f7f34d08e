"""End states and processes of agents as the official checker compares them, quirks included (spec 3.7, 3.8).

Source: eval_main.py and model_eval/checker.py at commit 56dd66c.
"""

from __future__ import annotations

from collections.abc import Sequence

from replay.benchmarks.acebench.scoring.official_values import OfficialCrashError
from replay.core.types import Json

__all__ = ["check_end_state", "measure_process"]


def check_end_state(result: Json, truth: Json) -> str:
    """Compare the saved attributes of all classes; the error's name, or empty.

    A class of the truth whose names match no entry of the result is not compared at all.

    Errors:  OfficialCrashError where upstream raises.
    """
    wanted = truth if isinstance(truth, list) else [truth]
    if not isinstance(result, (list, dict, str)):
        raise OfficialCrashError("TypeError")
    if len(result) != len(wanted):
        return "wrong number of class"
    entries = [entry for entry in result if isinstance(entry, dict)]
    if len(entries) < len(result) or not all(isinstance(entry, dict) for entry in wanted):
        raise OfficialCrashError("AttributeError")
    is_right = True
    for entry in wanted:
        match = next((mine for mine in entries if mine.keys() == entry.keys()), None)
        if match:
            is_right = _check_class(next(iter(match.values())), next(iter(entry.values()))) and is_right
    return "" if is_right else "class attributes wrong"


def measure_process(process: Sequence[str], alternatives: Sequence[Sequence[str]]) -> float:
    """Share of the milestones that are found in order before the first that is not; the best alternative.

    Errors:  OfficialCrashError where upstream raises: a record without any milestone.
    """
    if not any(alternatives):
        raise OfficialCrashError("IndexError")
    if len(alternatives) == 1:
        return _measure(process, alternatives[0])
    return max(round(_measure(process, stones), 3) for stones in alternatives)


def _check_class(attributes: Json, truth: Json) -> bool:
    """Compare what the result saved; what only the truth has is not looked at."""
    if not isinstance(attributes, dict):
        raise OfficialCrashError("AttributeError")
    return all(name in truth and _check_attribute(mine, truth[name]) for name, mine in attributes.items())


def _check_attribute(mine: Json, wanted: Json) -> bool:
    if not isinstance(wanted, dict):
        return bool(mine == wanted)
    if not isinstance(mine, (dict, list, str)):
        raise OfficialCrashError("TypeError")
    for name, value in wanted.items():
        if name not in mine:
            return False
        if not isinstance(mine, dict):
            raise OfficialCrashError("TypeError")
        if mine[name] != value:
            return False
    return True


def _measure(process: Sequence[str], stones: Sequence[str]) -> float:
    if not stones:
        return 1.0
    found, messages = 0, iter(process)
    for stone in stones:
        wanted = stone.strip()
        if not any(message.strip() == wanted for message in messages):
            break  # the rest of the list is used up
        found += 1
    return found / len(stones)
