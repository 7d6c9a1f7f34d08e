"""How large a generated value may be where its schema does not say: every grammar here is of bounded texts.

A grammar allows less than its schema, never more: a schema without `maxLength` still gets strings of a
bounded length, so that a small model that has lost its thread comes to the end of the value all the same.
"""

from __future__ import annotations

from replay.core.errors import InputError
from replay.core.types import Record
from replay.llm.grammar.rulebook import MAX_REPEAT

__all__ = ["Bounds", "check_bounds"]


class Bounds(Record, frozen=True, kw_only=True):
    """Limits that stand in where a schema has none."""

    string_chars: int = 1000
    """Characters of a string."""
    array_items: int = 32
    """Items of an array."""
    listed_items: int = MAX_REPEAT
    """Items of an array whose schema gives a number for the most; never fewer than it demands."""
    extra_members: int = 8
    """Members of an object beside those its schema names; also the members and items of a free value."""
    free_depth: int = 3
    """Containers in one another where a schema allows any value."""


def check_bounds(bounds: Bounds) -> Bounds:
    """Return the bounds if a grammar can be made with them. Raises InputError naming the field."""
    for name, value, least, most in (
        ("string_chars", bounds.string_chars, 1, MAX_REPEAT),
        ("array_items", bounds.array_items, 1, MAX_REPEAT),
        ("listed_items", bounds.listed_items, 1, MAX_REPEAT),
        ("extra_members", bounds.extra_members, 1, 64),
        ("free_depth", bounds.free_depth, 0, 16),
    ):
        if not least <= value <= most:
            raise InputError(f"grammar bound {name} = {value}", expected=f"a number from {least} to {most}")
    return bounds
