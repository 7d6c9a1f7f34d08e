"""Equality of JSON values with their types: what the paper calls an exact match.

Owns which values are one: numbers by value whatever their spelling (`5` and `5.0`), never a boolean for a
number, never a text for either, lists in order, objects by name.
"""

from __future__ import annotations

from typing import Final

import msgspec

from replay.core.types import Json

__all__ = ["has_same_kind", "is_same", "is_same_object"]

_NUMBERS: Final = frozenset({int, float})


_encode: Final = msgspec.json.Encoder().encode


def is_same_object(mine: dict[str, Json], wanted: dict[str, Json]) -> bool:
    """Tell whether two objects are one; fast when they are equal to the letter, or not equal at all."""
    if mine != wanted:
        return False  # values that are the same are equal; the other way round, types are still open
    try:
        if _encode(mine) == _encode(wanted):
            return True
    except (TypeError, ValueError):  # what a candidate wrote need not be JSON
        pass
    return is_same(mine, wanted)


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
