"""One text of a normal category, checked officially and strictly, each distinct text once a task.

Owns what the two checkers share: the reading of a plain text, and the memory of what was checked. Candidates
and trials agree to the letter more often than not, so many outputs of a task have been seen before.
"""

from __future__ import annotations

from typing import Final

from replay.benchmarks.acebench.literals.official import read_official
from replay.benchmarks.acebench.literals.plain import Call, read_plain
from replay.benchmarks.acebench.literals.strict import read_strict
from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.benchmarks.acebench.records import MULTI_TURN
from replay.benchmarks.acebench.scoring.cases import Case, Errors
from replay.benchmarks.acebench.scoring.official_calls import check_call_list
from replay.benchmarks.acebench.scoring.official_values import OfficialCrashError
from replay.benchmarks.acebench.scoring.strict_calls import check_strict_calls
from replay.core.types import Json

__all__ = ["CRASH", "FORMAT_ERROR", "check_calls"]

FORMAT_ERROR: Final = "wrong_output_format"
CRASH: Final = "CRASH:"
"""Begins the official error of an item on which upstream raises."""

_MAX_REMEMBERED: Final = 64
"""Texts a task; beyond, each is checked anew."""
_MAX_LENGTH: Final = 4_096
"""Characters of a text that is remembered; real answers are shorter."""


def check_calls(case: Case, output: Json) -> Errors:
    """Names of the official and of the strict error, empty where there is none."""
    if not isinstance(output, str):
        return _official(case, output, None), FORMAT_ERROR
    known = case.checked.get(output)
    if known is not None:
        return known
    plain = read_plain(output.strip())
    errors = _official(case, output, plain), _strict(case, output, plain)
    if len(output) <= _MAX_LENGTH and len(case.checked) < _MAX_REMEMBERED:
        case.checked[output] = errors
    return errors


def _official(case: Case, output: Json, plain: list[Call] | None) -> str:
    try:
        calls = read_official(output, multi_turn=case.category in MULTI_TURN, plain=plain)
        return check_call_list(calls, case.truth, case.find_tool)
    except LiteralError:
        return FORMAT_ERROR
    except OfficialCrashError as crash:
        return f"{CRASH}{crash}"


def _strict(case: Case, output: str, plain: list[Call] | None) -> str:
    try:
        calls = read_strict(output, plain=plain)
    except LiteralError:
        return FORMAT_ERROR
    return check_strict_calls(calls, case.truth, lambda: case.tool_names)
