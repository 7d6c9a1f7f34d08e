"""Which tools an answer chooses: the published rules and our default, for one tool and for two.

Owns the readings and what is odd about an answer; knows no truth. The strict reading is in `strict`.
Sources: paper, appendix C.2 and table 3; spec 3.2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from replay.benchmarks.metatool.scoring.mentions import NameFinder, is_named
from replay.core.types import Record

__all__ = ["MANUAL", "NONE", "Reading", "index_of", "oddities", "read_default", "read_literal"]

NONE: Final = "None"
MANUAL: Final = "manual"

_NONE_WORD: Final = re.compile(r"(?<![^\W_])none(?![^\W_])")
_NUMBER: Final = re.compile(r"\W*(?:(?:tool|no|number|option|answer)\W{0,3})?([0-9]{1,3})\W*", re.IGNORECASE)
_ODD_HEAD: Final = 2048
"""How much of an answer is searched for names that nobody listed."""
_FOREIGN: Final = re.compile(
    r"(?<!\w)(?:[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*)(?!\w)"
    r"|\b(?:[Uu]s(?:e|ing)|[Cc]hoos(?:e|ing)|[Ss]elect(?:ing)?|[Rr]ecommend|[Cc]all(?:ing)?)\s+(?:the\s+)?"
    r"[\"'`*]*(?!None\b|The\b|A\b)[A-Z]\w+"
)
_LONE_WORD: Final = re.compile(r"\W*(?!(?:none|no|yes|na|nothing)\b)[A-Za-z][\w&]*\W*", re.IGNORECASE)
_MAX_LONE: Final = 80


class Reading(Record, frozen=True, kw_only=True):
    """What one way of reading makes of an answer."""

    chosen: tuple[str, ...]
    """Tools that are taken as chosen, in order of mention; empty for none."""
    named: tuple[str, ...] = ()
    """Every listed tool that is named, in order of first mention."""
    oddities: tuple[str, ...] = ()
    """Some of ambiguous, empty, fabricated, index_answer."""
    index: int = 0
    """The number an index answer gives; 0 for none."""
    is_open: bool = False
    """True: the reading decides nothing (undetermined)."""


def _literal_names(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names of the list that the answer holds as plain substrings, in list order.

    Source:  paper, appendix C.2; its case is not stated and read as case-sensitive (spec 3.2).
    """
    return tuple(name for name in names if name in text)


def read_literal(text: str, names: Sequence[str], *, wanted: int) -> tuple[str, ...] | None:
    """Read the chosen tools as the published rules say; None where they leave the answer to a person.

    Source:  paper, appendix C.2. Two names, or a name and None, are not spoken of for one tool; more than two
             are left to a person for both.
    """
    found = _literal_names(text, names)
    if wanted > 1:
        return found if len(found) <= wanted else None
    if not found:
        return ()
    return found if len(found) == 1 and NONE not in text else None


def read_default(text: str, finder: NameFinder, *, wanted: int, outside: Sequence[str] = ()) -> Reading:
    """Read the chosen tools.

    Shape:   wanted 1: the first named tool, none where the word None stands before it. wanted 2: every named
             tool; whether there are too many is for the score to say.
    outside: names of tools off the list, which an answer may give all the same.
    Source:  spec 3.2. Differs from the literal rules: whole names in any case, the longest first; several
             names and None after a name are decided, by what comes first.
    """
    lowered = text.lower()
    mentions = finder.first(lowered)
    named = tuple(name for _, name in mentions)
    if not named:
        number = index_of(text)
        return Reading(chosen=(), oddities=oddities(text, outside), index=number)
    if wanted > 1:
        return Reading(chosen=named, named=named)
    none = _NONE_WORD.search(lowered, 0, mentions[0][0])
    ambiguous = ("ambiguous",) if len(named) > 1 else ()
    return Reading(chosen=() if none else named[:1], named=named, oddities=ambiguous)


def oddities(text: str, outside: Sequence[str] = ()) -> tuple[str, ...]:
    """What is odd about an answer that names no tool of its list."""
    if not text.strip():
        return ("empty",)
    if index_of(text):
        return ("index_answer",)
    head = text[:_ODD_HEAD]
    if _NONE_WORD.search(head.lower()):
        return ()
    lone = len(text) <= _MAX_LONE and _LONE_WORD.fullmatch(text) is not None
    lowered = head.lower()
    known = any(is_named(lowered, name.lower()) for name in outside)
    return ("fabricated",) if lone or known or _FOREIGN.search(head) else ()


def index_of(text: str) -> int:
    """The number that is all an answer says; 0 for anything else."""
    found = _NUMBER.fullmatch(text) if len(text) <= _MAX_LONE else None
    return int(found.group(1)) if found else 0
