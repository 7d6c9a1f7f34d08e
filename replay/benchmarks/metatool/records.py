"""What a MetaTool task holds: one question with its candidates, its truth and its few-shot examples.

Owns the shape of `Task.data`. The importer writes it, play and evaluation read it; nothing else of the
upstream files is needed once an archive is made.
"""

from __future__ import annotations

from typing import Final

import msgspec

from replay.core.errors import InputError
from replay.core.types import Record, Task

__all__ = [
    "AWARENESS",
    "BENCHMARK",
    "METRICS",
    "MULTI",
    "RELIABILITY",
    "SCENARIO",
    "SELECTION",
    "SIMILAR",
    "Example",
    "Sample",
    "sample_of",
]

BENCHMARK: Final = "metatool"

AWARENESS: Final = "awareness"
SIMILAR: Final = "similar"
SCENARIO: Final = "scenario"
RELIABILITY: Final = "reliability"
MULTI: Final = "multi-tool"

SELECTION: Final = (SIMILAR, SCENARIO, RELIABILITY, MULTI)
METRICS: Final = (AWARENESS, *SELECTION)
"""One metric a subtask: accuracy of awareness, and the correct selection rate (CSR) of the others."""


class Example(Record, frozen=True, kw_only=True):
    """One solved question of a few-shot prompt."""

    query: str
    answer: str
    """Yes or No for awareness, else a tool name or None."""


class Sample(Record, frozen=True, kw_only=True):
    """One question."""

    subtask: str
    """One of METRICS."""
    query: str
    truth: tuple[str, ...] = ()
    """`yes` or `no` for awareness; else the tools to choose, none of them for reliability."""
    candidates: tuple[str, ...] = ()
    """Tool names in upstream's order; empty for awareness."""
    removed: str = ""
    """The tool that the question is for: of an awareness positive, or taken off the list (reliability)."""
    masks: tuple[str, ...] = ()
    """Tools off the list whose names hold a listed name: naming them is not naming the listed one."""
    examples: tuple[Example, ...] = ()
    examples_from: str = ""
    """published (read from upstream's own file) or built (drawn here by the same rule)."""
    labels: tuple[str, ...] = ()
    """All tools that the query file gives this very query to, where they are several."""
    line: int = 0
    """Place in the published file, or in the list that was rebuilt; from 0."""


def sample_of(task: Task) -> Sample:
    """Decode a task's data. Raises InputError naming the task when it is none of this benchmark."""
    try:
        return msgspec.convert(task.data, Sample)
    except msgspec.ValidationError as error:
        raise InputError(
            f"a task without MetaTool data: {error}",
            where=f"task {task.id}",
            expected="a task of an archive that `replay import metatool` made",
        ) from None
