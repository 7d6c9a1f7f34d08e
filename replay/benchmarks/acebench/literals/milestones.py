"""Milestones of agent tasks as calls, with one repair: apostrophes in texts that upstream did not escape.

Owns how the truth's own texts are read, and what is said about those that are not valid as they stand.
"""

from __future__ import annotations

import re
from typing import Final

from replay.benchmarks.acebench.literals.plain import Call
from replay.benchmarks.acebench.literals.strict import read_strict_list
from replay.benchmarks.acebench.literals.syntax import LiteralError

__all__ = ["is_valid_message", "read_milestone", "repair_quotes"]

_INNER: Final = re.compile(r"(?<![\[\](){},:=\s\\])'(?!\s*(?:[,)\]}:]|$))|(?<=[^=\[({,:\s\\])'(?=s\s)")
"""A single quote between two pieces of text: nothing opens before it, nothing closes after it."""


def is_valid_message(milestone: str) -> bool:
    """Tell whether a milestone is a list of calls as it stands."""
    try:
        read_strict_list(milestone.strip())
    except LiteralError:
        return False
    return True


def read_milestone(milestone: str) -> list[Call]:
    """Read the calls of a milestone, repaired where it must be.

    Errors:  LiteralError when it cannot be read even so.
    """
    text = milestone.strip()
    try:
        return read_strict_list(text)
    except LiteralError:
        return read_strict_list(repair_quotes(text))


def repair_quotes(text: str) -> str:
    """Escape apostrophes inside single-quoted texts."""
    return _INNER.sub(r"\\'", text)
