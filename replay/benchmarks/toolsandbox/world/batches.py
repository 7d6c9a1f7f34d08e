"""Calls that were made at once: every order of them must succeed, or the first that does not is shown.

Upstream runs all k! orders on copies of the state. Here orders that cannot differ are left out: whether the
rest of an order fails depends only on which calls are left and on the tables they read, so each such
situation is looked at once. Source: upstream roles/execution_environment.py at 165848b.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from replay.benchmarks.toolsandbox.tools.catalogue import TOOLS
from replay.benchmarks.toolsandbox.tools.tool import Tool
from replay.benchmarks.toolsandbox.world.console import Reply
from replay.benchmarks.toolsandbox.world.snippets import SnippetFault, read_snippet
from replay.benchmarks.toolsandbox.world.tables import Row, Tables

__all__ = ["Batch", "TooManyOrdersError", "run_batch"]

Run = Callable[[Tables, Row], Reply]

_MAX_CALLS_TRIED: Final = 6_000
"""Eight calls that all depend on one another need about 1,000; a batch far beyond that is refused."""


class TooManyOrdersError(Exception):
    """A batch has more orders that may differ than are tried."""


class Batch:
    """What came of calls made at once."""

    def __init__(self, tables: Tables, replies: list[tuple[Row, Reply]]) -> None:
        """Keep the tables afterwards and each call with its reply, in the order that is shown."""
        self.tables = tables
        self.replies = replies

    @property
    def has_failed(self) -> bool:
        """Whether any call failed."""
        return any(reply.exception is not None for _, reply in self.replies)


def run_batch(tables: Tables, messages: Sequence[Row], run: Run) -> Batch:
    """Carry calls out in the given order, or in the first order in which one fails.

    The tables that are passed in stay as they are.

    Errors:  TooManyOrdersError; whatever `run` asks for.
    """
    made = _run_in_order(tables, messages, run)
    if len(messages) == 1 or made.has_failed:
        return made
    failing = _Orders(messages, run).find_failing(tables)
    return made if failing is None else _run_in_order(tables, failing, run)


def _run_in_order(tables: Tables, messages: Sequence[Row], run: Run) -> Batch:
    copy = tables.copy()
    return Batch(copy, [(message, run(copy, message)) for message in messages])


class _Orders:
    """The search for the first order, in the order of permutations, in which a call fails."""

    def __init__(self, messages: Sequence[Row], run: Run) -> None:
        self._messages = messages
        self._run = run
        tools = [_tool_of(message) for message in messages]
        self._read = sorted({name for tool in tools if tool is not None for name in tool.reads})
        self._linked = frozenset(
            number
            for number, tool in enumerate(tools)
            if tool is not None and _is_linked(tool, number, tools)
        )
        self._clean: set[tuple[frozenset[int], str]] = set()
        self._tried = 0

    def find_failing(self, tables: Tables) -> list[Row] | None:
        order = self._search(tables, (), tuple(range(len(self._messages))))
        return None if order is None else [self._messages[number] for number in order]

    def _search(self, tables: Tables, done: tuple[int, ...], left: tuple[int, ...]) -> tuple[int, ...] | None:
        situation = (self._linked.intersection(left), self._fingerprint(tables))
        if situation in self._clean:
            return None
        for number in left:
            rest = tuple(other for other in left if other != number)
            copy = tables.copy()
            self._tried += 1
            if self._tried > _MAX_CALLS_TRIED:
                raise TooManyOrdersError(f"a batch of {len(self._messages)} calls has too many orders to try")
            if self._run(copy, self._messages[number]).exception is not None:
                return (*done, number, *rest)
            found = self._search(copy, (*done, number), rest)
            if found is not None:
                return found
        self._clean.add(situation)
        return None

    def _fingerprint(self, tables: Tables) -> str:
        """Write down what the calls may read; the order of rows never decides whether one fails."""
        return repr([(name, sorted(repr(row) for row in tables.read(name))) for name in self._read])


def _tool_of(message: Row) -> Tool | None:
    try:
        return TOOLS.get(read_snippet(message["content"] or "").name)
    except SnippetFault:
        return None


def _is_linked(tool: Tool, number: int, tools: Sequence[Tool | None]) -> bool:
    """Tell whether another call writes what this one reads, or reads what it writes."""
    return any(
        bool(other.writes & tool.reads) or bool(tool.writes & other.reads)
        for position, other in enumerate(tools)
        if other is not None and position != number
    )
