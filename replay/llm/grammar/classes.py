"""Sets of characters as sorted ranges of code points: those JSON strings hold and those patterns name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from replay.llm.grammar.expressions import Ranges

__all__ = ["ANY", "DIGITS", "DOT", "PLAIN", "SPACE", "WORD", "complement", "intersect", "points", "union"]

ANY: Final[Ranges] = ((0, 0xD7FF), (0xE000, 0x10FFFF))
"""Every character there is: all code points but surrogates."""


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort ranges and join those that touch."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return intersect(tuple(joined), ANY)


def intersect(first: Ranges, second: Ranges) -> Ranges:
    """Keep what is in both."""
    return tuple(
        (max(low, other_low), min(high, other_high))
        for low, high in first
        for other_low, other_high in second
        if max(low, other_low) <= min(high, other_high)
    )


def complement(ranges: Ranges) -> Ranges:
    """Take every character that is not in the ranges."""
    start = 0
    gaps: list[tuple[int, int]] = []
    for low, high in ranges:
        gaps.append((start, low - 1))
        start = high + 1
    gaps.append((start, 0x10FFFF))
    return intersect(tuple(gap for gap in gaps if gap[0] <= gap[1]), ANY)


def points(text: str) -> Ranges:
    """Make the set of the characters of a text."""
    return union((ord(char), ord(char)) for char in text)


DIGITS: Final[Ranges] = ((0x30, 0x39),)
WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))

SPACE: Final[Ranges] = points(
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""WhiteSpace and LineTerminator of ECMA 262: what `\\s` means in JSON Schema."""

DOT: Final[Ranges] = complement(points("\n\r\u2028\u2029"))

PLAIN: Final[Ranges] = (
    (0x20, 0x21),
    (0x23, 0x5B),
    (0x5D, 0x7E),
    (0xA0, 0xD7FF),
    (0xE000, 0xFFFD),
    (0x10000, 0x10FFFF),
)
"""What a generated string holds as it stands: no quote, no backslash, no control character (DEL and the C1
block are such too), no noncharacter at the end of the basic plane."""
