"""Lists of calls as the paper means them: each call of the truth once, with its arguments and no others.

Owns the strict names of errors (the official ones where they fit) and one-to-one matching: since equality is
an equivalence, taking the first equal call is a best matching.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from replay.benchmarks.acebench.literals.plain import Call
from replay.benchmarks.acebench.scoring.official_calls import strip_number
from replay.benchmarks.acebench.scoring.strict_values import has_same_kind, is_same
from replay.core.types import Json

__all__ = ["check_strict_calls", "count_matches", "wanted_calls"]

_KINDS: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "list/tuple",
    dict: "object",
    type(None): "null",
}


def check_strict_calls(calls: Sequence[Call], truth: Json, tool_names: Collection[str]) -> str:
    """Compare calls with the truth, or with a pool of truths; the error's name, or empty."""
    errors = []
    for candidate in truth if isinstance(truth, list) else [truth]:
        error = _check_one(list(calls), wanted_calls(candidate, tool_names))
        if not error:
            return ""
        errors.append(error)
    return errors[0] if errors else "wrong functions number"


def wanted_calls(truth: Json, tool_names: Collection[str]) -> list[Call]:
    """Calls of a truth; a number behind a name goes only where no tool has that whole name."""
    return [
        (name if name in tool_names else strip_number(name), arguments) for name, arguments in truth.items()
    ]


def count_matches(calls: Sequence[Call], wanted: Sequence[Call]) -> int:
    """Count the wanted calls that are there, each call taken once, in whatever order."""
    left = list(calls)
    return sum(_take(left, call) for call in wanted)


def _check_one(left: list[Call], wanted: list[Call]) -> str:
    if len(left) != len(wanted):
        return "wrong functions number"
    if Counter(name for name, _ in left) != Counter(name for name, _ in wanted):
        return "function_mismatch"
    missed = [call for call in wanted if not _take(left, call)]
    if not missed:
        return ""
    name, arguments = missed[0]
    return _name_error(next(mine for called, mine in left if called == name), arguments)


def _take(left: list[Call], wanted: Call) -> bool:
    for place, (name, arguments) in enumerate(left):
        if name == wanted[0] and is_same(arguments, wanted[1]):
            del left[place]
            return True
    return False


def _name_error(mine: dict[str, Json], wanted: dict[str, Json]) -> str:
    """Name what is wrong with the arguments of one call."""
    if wanted.keys() - mine.keys():
        return "lack_args"
    if mine.keys() - wanted.keys():
        return "addition_args"
    name = next(name for name in wanted if not is_same(mine[name], wanted[name]))
    if not has_same_kind(mine[name], wanted[name]):
        return "type_error"
    return f"value_error:{_KINDS[type(wanted[name])]}"
