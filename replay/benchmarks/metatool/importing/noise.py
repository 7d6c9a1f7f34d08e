"""What is doubtful about a task's label: named flags, set by rule, never a change of the data.

Owns the closed list of flags. Scores are given with and without flagged tasks; nobody has to agree with a
flag to use the benchmark. Source: spec 1, "Data quality", and 6, "Label noise".
"""

from __future__ import annotations

import re
from typing import Final

from replay.benchmarks.metatool.importing.queries import QueryBook
from replay.benchmarks.metatool.records import AWARENESS, Sample

__all__ = ["FLAGS", "flags_of"]

FLAGS: Final = {
    "real-time-negative": "labelled as needing no tool, but it asks for what only holds now or here",
    "several-labels": "the query file gives this very query to several tools; one of them counts",
    "repeated-query": "the query file holds this query more than once",
    "names-its-tool": "the query holds its tool's own name, which makes the choice a search for a word",
}
"""Flag to what it says."""

_REAL_TIME: Final = re.compile(
    r"\b(?:right now|at the moment|as of now|currently (?:open|available|playing|trending|in stock)"
    r"|nearest|near me|around here|is now a (?:good|suitable|right) time"
    r"|(?:weather|forecast|traffic|temperature|score|price|rate)s?\b[^.?!\n]{0,60}"
    r"\b(?:now|today|tonight|tomorrow|this week)"
    r"|(?:latest|live|up-to-date|real-time|breaking) "
    r"(?:news|scores?|prices?|results?|weather|updates?|version)"
    r"|(?:exchange|mortgage|interest) rates? (?:now|today|between)"
    r"|what (?:time|day|date) is it|today's (?:date|news|weather|price|match|game))\b",
    re.IGNORECASE,
)
_LONG: Final = 240
"""A longer negative carries its own text or story; a word of time inside it asks for nothing."""


def flags_of(sample: Sample, book: QueryBook) -> tuple[str, ...]:
    """Flags of one sample, in the order of FLAGS."""
    named = sample.removed or (sample.truth[0] if len(sample.truth) == 1 else "")
    found = {
        "real-time-negative": sample.subtask == AWARENESS
        and sample.truth == ("no",)
        and len(sample.query) <= _LONG
        and _REAL_TIME.search(sample.query) is not None,
        "several-labels": len(book.labels.get(sample.query, ())) > 1,
        "repeated-query": book.counts[sample.query] > 1,
        "names-its-tool": sample.truth != ("no",) and _holds(sample.query, named, sample),
    }
    return tuple(flag for flag in FLAGS if found[flag])


def _holds(query: str, named: str, sample: Sample) -> bool:
    tools = sample.truth if len(sample.truth) > 1 else (named,)
    return any(tool and re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", query, re.IGNORECASE) for tool in tools)
