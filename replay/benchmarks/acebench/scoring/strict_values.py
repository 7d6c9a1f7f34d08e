"""Equality of JSON values with their types: what the paper calls an exact match.

Owns which values are one: numbers by value whatever their spelling (`5` and `5.0`), never a boolean for a
number, never a text for either, lists in order, objects by name.
"""

from __future__ import annotations

from typing import Final

from replay.core.types import Json

__all__ = ["has_same_kind", "is_same"]

_NUMBERS: Final = frozenset({int, float})


def is_same(mine: Json, wanted: Json) -> bool:
    """Tell whether two values are one."""
    kind = type(mine)
    if kind is not type(wanted):
        return kind in _NUMBERS and type(wanted) in _NUMBERS and bool(mine == wanted)
    if kind is dict:
        return mine.keys() == wanted.keys() and all(is_same(mine[name], wanted[name]) for name in mine)
    if kind is list:
        return len(mine) == len(wanted) and all(map(is_same, mine, wanted))
    return bool(mine == wanted)


def has_same_kind(mine: Json, wanted: Json) -> bool:
    """Tell whether two values have one type, numbers being one."""
    return type(mine) is type(wanted) or (type(mine) in _NUMBERS and type(wanted) in _NUMBERS)
