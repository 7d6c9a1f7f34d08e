"""Which tools an answer means: the strict reading.

Differs from the default where that credits what nobody said: an empty or invented answer is no "None", a tool
that the answer rejects is not chosen, an everyday word is not a tool, and of several tools none is the first
merely by standing first. What stays open is undetermined; a judge may decide it, under a key of its own.
Source: paper, section 3.2 (what the candidate is asked for); spec 3.2 and 6.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from replay.benchmarks.metatool.scoring.mentions import NameFinder
from replay.benchmarks.metatool.scoring.selection import Reading, oddities

__all__ = ["STRICT_HEAD", "is_everyday", "read_strict"]

STRICT_HEAD: Final = 1 << 14
"""Characters that are looked at: 512 tokens, upstream's limit, are some 3,000."""
_MENTIONS: Final = 50
"""Mentions of one name that are looked at."""
_CLAUSE: Final = 120
"""How far around a mention its rejection is looked for."""

_APOSTROPHE: Final = "\N{RIGHT SINGLE QUOTATION MARK}"
_BREAK: Final = re.compile(
    r"[.;:!?\n]|,\s*(?:so|but|and|because|since)\b|\b(?:but|however|so|therefore|thus|whereas|while)\b"
)
_REJECTED: Final = re.compile(
    r"^[^\w]*(?:tool |plugin )?(?:is|are|was|would be|does|do|did|can|could|will|would|seems?)?\s*"
    r"(?:not\b|n't\b|never\b|cannot\b|irrelevant|unsuitable|unrelated|inappropriate|unnecessary)"
)
_REJECTING: Final = re.compile(
    r"(?:\bnot|\bneither|\bnor|\binstead of|\brather than|\bunlike|\bwithout|\bexclud(?:e|ing)"
    r"|\bruled? out|n't|\bavoid(?:ing)?)\s+(?:\w+\s+){0,2}[\"'`*]*$"
)
_NONE: Final = re.compile(
    r"(?<![^\W_])none(?![^\W_])"
    r"|(?:\b(?:no|not any|not an?)|n't (?:any|an?)) (?:\w+ ){0,3}(?:tools?|plugins?|options?)\b"
    r"|\b(?:tools?|plugins?)\b[^.!?\n]{0,40}\b(?:not|cannot|never) (?:\w+ ){0,2}"
    r"(?:applicable|suitable|relevant|apply|appropriate|help)"
)
_NONE_LEADS: Final = re.compile(
    r"[\W_]*(?:(?:answer|tool|result|choice|selection)\W+(?:is\W+)?)?none(?![^\W_])"
)
_NONE_OF_OTHERS: Final = re.compile(r"[\W_]*none of the (?:other|rest|remaining)")
_LEAD: Final = re.compile(
    r"[\W_]*(?:[0-9]{1,2}[.):]\s*)?"
    r"(?:(?:the |my )?(?:chosen |selected |best |final |applicable |appropriate )?"
    r"(?:tools?|answer|choice|selection|name|tool name)\W+(?:is\W+|are\W+|name\W+)?)?[\W_]*"
)
_JOINED: Final = re.compile(r"[\W_]*(?:(?:and|or|plus|with|as well as|und|[0-9]{1,2})[\W_]*){0,2}")
_EVERYDAY: Final = re.compile(r"[a-z]+|[A-Z][a-z]+")
_MID_SENTENCE: Final = re.compile(r"[^\s.!?:]\s+$")
_ACTS: Final = re.compile(r"\s+(?:is|can|would|will|could|should|helps?|provides?|offers?|finds?)\b")
_ITEM_ENDS: Final = re.compile(r"\s*(?:$|[.,;:!?)\]\n&/]|(?:and|or)\b)")
_MARK_BEFORE: Final = re.compile(r"(?:[\"'`*\[({<]|\b(?:tool|tools|name|named|called)\W{1,3})$")
_MARK_AFTER: Final = re.compile(r"[\"'`*\])}>]|\s+(?:tool|plugin|api)\b")


def read_strict(text: str, finder: NameFinder, *, wanted: int, outside: Sequence[str] = ()) -> Reading:
    """Read the tools that an answer chooses; `is_open` when it cannot be told.

    Shape:   wanted 1: one tool or none. wanted 2: every tool that is not rejected.
    """
    head = unicodedata.normalize("NFKC", text[:STRICT_HEAD]).replace("\\_", "_").replace(_APOSTROPHE, "'")
    lowered = head.lower()
    mentions = finder.every(lowered, limit=_MENTIONS)
    meant = _without_everyday(head, [m for m in mentions if not _is_rejected(lowered, *m)])
    named = _distinct(mentions)
    kept = _distinct(meant)
    if not kept:
        says_none = _NONE.search(lowered) is not None
        odd = () if says_none else oddities(head, outside)
        return Reading(chosen=(), named=named, oddities=odd, is_open=not says_none)
    if wanted > 1:
        return Reading(chosen=kept, named=named)
    if _NONE_LEADS.match(lowered) and not _NONE_OF_OTHERS.match(lowered):
        return Reading(chosen=(), named=named)
    if len(kept) == 1:
        return Reading(chosen=kept, named=named)
    if _leads(lowered, meant):
        return Reading(chosen=kept[:1], named=named)
    return Reading(chosen=(), named=named, oddities=("ambiguous",), is_open=True)


def is_everyday(name: str) -> bool:
    """Tell whether a tool's name is a word that any answer may hold (search, form, Now)."""
    return _EVERYDAY.fullmatch(name) is not None


def _distinct(mentions: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name in mentions))


def _is_rejected(lowered: str, place: int, name: str) -> bool:
    """Tell whether the clause around a mention says that it is not the one."""
    end = place + len(name)
    after = lowered[end : end + _CLAUSE]
    stop = _BREAK.search(after)
    if _REJECTED.match(after[: stop.start()] if stop else after):
        return True
    before = lowered[max(0, place - _CLAUSE) : place]
    starts = [match.end() for match in _BREAK.finditer(before)]
    return _REJECTING.search(before[starts[-1] :] if starts else before) is not None


def _without_everyday(head: str, mentions: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Drop mentions of everyday words that are not marked as names, unless nothing else is named."""
    spelled = [
        (place, name)
        for place, name in mentions
        if not is_everyday(name) or head.startswith(name, place)  # a word of prose has another case
    ]
    marked = [
        (place, name)
        for index, (place, name) in enumerate(spelled)
        if not is_everyday(name)
        or _is_marked(head, place, name)
        or (index > 0 and _is_listed(head, spelled[index - 1], (place, name)))
    ]
    return marked or spelled


def _is_marked(head: str, place: int, name: str) -> bool:
    """Tell whether a word is marked as a name: by where it stands, by signs around it, or by its capital."""
    lead = _LEAD.match(head.lower())
    if lead is not None and lead.end() == place:
        return True
    before, after = head[max(0, place - 16) : place], head[place + len(name) : place + len(name) + 8]
    if name[:1].isupper() and (_MID_SENTENCE.search(before) or _ACTS.match(head, place + len(name))):
        return True
    return _MARK_BEFORE.search(before) is not None or _MARK_AFTER.match(after) is not None


def _is_listed(head: str, previous: tuple[int, str], mention: tuple[int, str]) -> bool:
    """Tell whether a word is an item of a list of names: joined to the one before, and followed by an end."""
    start, end = previous[0] + len(previous[1]), mention[0] + len(mention[1])
    is_joined = _JOINED.fullmatch(head, start, mention[0]) is not None
    return is_joined and _ITEM_ENDS.match(head, end) is not None


def _leads(lowered: str, meant: Sequence[tuple[int, str]]) -> bool:
    """Tell whether the answer begins with one tool, and goes on to others only later."""
    place, name = meant[0]
    lead = _LEAD.match(lowered)
    if lead is None or lead.end() != place:
        return False
    second = next(other for other, other_name in meant if other_name != name)
    return _JOINED.fullmatch(lowered, place + len(name), second) is None
