"""Few-shot examples for prompts that upstream published none of, drawn by the rule its files show.

Source: spec 2: five examples, three with a tool of the list and two with None, in random order. Upstream's
own code for it is in no commit, so the draw is ours: seeded by the task, never showing the task's own query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replay.benchmarks.metatool.importing.queries import QueryBook
from replay.benchmarks.metatool.records import BENCHMARK, Example
from replay.core.determinism import Stream

__all__ = ["NONE", "draw_examples"]

NONE: Final = "None"
_WITH_TOOL: Final = 3
_WITHOUT: Final = 2
_TRIES: Final = 200
"""A query file with hardly any queries gives fewer examples, never an endless search."""


def draw_examples(
    task: str, query: str, candidates: Sequence[str], book: QueryBook, tools: Sequence[str]
) -> tuple[Example, ...]:
    """Draw up to five examples for one task; fewer when the query file does not hold enough."""
    stream = Stream(BENCHMARK, "examples", task)
    listed = set(candidates)
    others = [tool for tool in tools if tool not in listed]
    # A query of several tools would be a false None, or a doubtful tool: it is no example.
    used = {query}
    found = _draw(stream, [tool for tool in candidates if book.by_tool.get(tool)], _WITH_TOOL, book, used)
    found += [
        Example(query=example.query, answer=NONE)
        for example in _draw(
            stream, [tool for tool in others if book.by_tool.get(tool)], _WITHOUT, book, used
        )
    ]
    stream.shuffle(found)
    return tuple(found)


def _draw(stream: Stream, tools: Sequence[str], count: int, book: QueryBook, used: set[str]) -> list[Example]:
    found: list[Example] = []
    for _ in range(_TRIES if tools else 0):
        tool = stream.choice(tools)
        query = stream.choice(book.by_tool[tool])
        if query not in used and len(book.labels[query]) == 1:
            used.add(query)
            found.append(Example(query=query, answer=tool))
        if len(found) == count:
            break
    return found
