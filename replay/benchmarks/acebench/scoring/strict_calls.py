"""Lists of calls as the paper means them: each call of the truth once, with its arguments and no others.

Owns the strict names of errors (the official ones where they fit) and one-to-one matching: since equality is
an equivalence, taking the first equal call is a best matching.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from replay.benchmarks.acebench.literals.plain import Call
from replay.benchmarks.acebench.scoring.official_calls import strip_number
from replay.benchmarks.acebench.scoring.strict_values import has_same_kind, is_same, is_same_object
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


def check_strict_calls(calls: Sequence[Call], truth: Json, find_names: Callable[[], Collection[str]]) -> str:
    """Compare calls with the truth, or with a pool of truths; the error's name, or empty.

    find_names: gives the names of all tools; asked only when a name could be one with a number behind it.
    """
    errors = []
    for candidate in truth if isinstance(truth, list) else [truth]:
        error = _check_one(list(calls), wanted_calls(candidate, find_names))
        if not error:
            return ""
        errors.append(error)
    return errors[0] if errors else "wrong functions number"


def wanted_calls(truth: Json, find_names: Callable[[], Collection[str]]) -> list[Call]:
    """Calls of a truth; a number behind a name goes only where no tool has that whole name."""
    calls = []
    for name, arguments in truth.items():
        stripped = strip_number(name)
        calls.append((name if stripped != name and name in find_names() else stripped, arguments))
    return calls


def count_matches(calls: Sequence[Call], wanted: Sequence[Call]) -> int:
    """Count the wanted calls that are there, each call taken once, in whatever order."""
    left = list(calls)
    return sum(_take(left, call) for call in wanted)


def _check_one(left: list[Call], wanted: list[Call]) -> str:
    if len(left) != len(wanted):
        return "wrong functions number"
    if len(wanted) == 1 and left[0][0] == wanted[0][0]:
        arguments = left[0][1]
        return "" if is_same_object(arguments, wanted[0][1]) else _name_error(arguments, wanted[0][1])
    if sorted([name for name, _ in left]) != sorted([name for name, _ in wanted]):
        return "function_mismatch"
    missed = [call for call in wanted if not _take(left, call)]
    if not missed:
        return ""
    name, arguments = missed[0]
    return _name_error(next(mine for called, mine in left if called == name), arguments)


def _take(left: list[Call], wanted: Call) -> bool:
    for place, (name, arguments) in enumerate(left):
        if name == wanted[0] and is_same_object(arguments, wanted[1]):
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
