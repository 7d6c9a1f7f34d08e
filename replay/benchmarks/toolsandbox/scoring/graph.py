"""Milestones as nodes of a directed graph, each with its own constraints and the automatic guardrails.

Source: upstream common/evaluation.py at 165848b, MilestoneMatcher: nodes are what the edges name (a single
milestone is one), guardrails compare with references and predecessors, and exempt the tables that the node,
they and, by a negative index, the last milestone (reference -1) constrain themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from replay.benchmarks.toolsandbox.records import Constraint, Milestone
from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError, OfficialCrashError
from replay.benchmarks.toolsandbox.scoring.relations import GUARDRAIL
from replay.benchmarks.toolsandbox.scoring.rules import Rules
from replay.benchmarks.toolsandbox.world.schema import COLUMNS, SANDBOX, TABLES
from replay.core.types import Record

__all__ = ["START", "Graph", "Node", "build_graph"]

START: Final = -1
"""Reference to the state at the first user message."""

_MOST_MILESTONES: Final = 64
"""Shipped scenarios have at most six; the search is meant for few."""


class Node(Record, frozen=True, kw_only=True):
    """One milestone that is placed."""

    own: tuple[Constraint, ...]
    """The author's constraints."""
    guardrails: tuple[tuple[str, int], ...] = ()
    """Automatic ones: table and reference."""
    end_tables: tuple[str, ...] = ()
    """Tables that must stay as they are from here to the end (mended scoring only)."""

    @property
    def weight(self) -> int:
        """Constraints that count in the mean: all but guardrails."""
        return sum(1 for constraint in self.own if constraint.fn != GUARDRAIL)

    @property
    def references(self) -> frozenset[int]:
        """Milestones that a constraint or guardrail compares with."""
        named = {c.reference for c in self.own if c.reference is not None}
        return frozenset(named | {reference for _, reference in self.guardrails})

    def constrains(self, table: str) -> bool:
        """Tell whether the author says anything of a table but that it stays."""
        return any(c.database == table and c.fn != GUARDRAIL for c in self.own)


class Graph(Record, frozen=True, kw_only=True):
    """Nodes by milestone number, with their direct predecessors and all their ancestors."""

    size: int
    """Listed milestones: what the mean divides by."""
    nodes: dict[int, Node]
    predecessors: dict[int, frozenset[int]]
    ancestors: dict[int, frozenset[int]]

    @property
    def is_cyclic(self) -> bool:
        """Tell whether a node comes before itself."""
        return any(node in before for node, before in self.ancestors.items())

    @property
    def refers_forward(self) -> bool:
        """Tell whether a node compares with one that need not come before it."""
        return any(
            reference != START and reference not in self.ancestors[number]
            for number, node in self.nodes.items()
            for reference in node.references
        )


def build_graph(
    milestones: Sequence[Milestone], edges: Iterable[tuple[int, int]] | None, rules: Rules
) -> Graph:
    """Build the graph of milestones (or minefields).

    Errors:  OfficialCrashError where upstream cannot build it; DefinitionError for what mended rules refuse.
    """
    if len(milestones) > _MOST_MILESTONES:
        raise DefinitionError(f"{len(milestones)} milestones; at most {_MOST_MILESTONES} are matched")
    pairs = _pairs(milestones, edges)
    numbers = {number for pair in pairs for number in pair}
    if len(milestones) == 1 or "edges-partial" in rules:
        numbers |= set(range(len(milestones)))
    predecessors = {
        number: frozenset(left for left, right in pairs if right == number) for number in sorted(numbers)
    }
    ancestors = _close(predecessors)
    own = {number: Node(own=_own(milestones[number])) for number in predecessors}
    bare = Graph(size=len(milestones), nodes=own, predecessors=predecessors, ancestors=ancestors)
    if "edges-cyclic" in rules and bare.is_cyclic:
        raise DefinitionError("the edges run in a circle")
    nodes = {number: _guarded(bare, number, milestones, rules) for number in own}
    graph = Graph(size=bare.size, nodes=nodes, predecessors=predecessors, ancestors=ancestors)
    if "reference-unplaced" in rules and graph.refers_forward:
        raise DefinitionError("a milestone refers to one that need not come before it")
    return graph


def _pairs(milestones: Sequence[Milestone], edges: Iterable[tuple[int, int]] | None) -> list[tuple[int, int]]:
    if edges is None:
        return [(number, number + 1) for number in range(len(milestones) - 1)]
    if len(milestones) == 1:
        return []
    pairs = sorted(set(edges))
    wrong = [number for pair in pairs for number in pair if not 0 <= number < len(milestones)]
    if wrong:
        raise OfficialCrashError("IndexError", f"an edge names milestone {wrong[0]} of {len(milestones)}")
    return pairs


def _close(predecessors: Mapping[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """All ancestors of each node; a node on a circle is its own."""
    found = {}
    for number, direct in predecessors.items():
        seen: set[int] = set()
        waiting = list(direct)
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting.extend(predecessors[one])
        found[number] = frozenset(seen)
    return found


def _own(milestone: Milestone) -> tuple[Constraint, ...]:
    return tuple(constraint for constraint in milestone.constraints if not constraint.auto)


def _guarded(graph: Graph, number: int, milestones: Sequence[Milestone], rules: Rules) -> Node:
    node = graph.nodes[number]
    unknown = [table for table in milestones[number].guardrails if table not in COLUMNS]
    if unknown:
        raise DefinitionError(f"unknown table {unknown[0]!r} in the guardrails of milestone {number}")
    tables = [table for table in TABLES if table in milestones[number].guardrails and table != SANDBOX]
    compared = set(node.references | graph.predecessors[number])
    if "guardrail-exemptions" in rules:
        guardrails = {
            (table, reference)
            for reference in compared
            for table in tables
            if not _may_change(graph, table, reference, number)
        }
    else:
        exempt = _exempt(milestones, {number, *compared})
        guardrails = {(table, reference) for reference in compared for table in tables if table not in exempt}
    end_tables: tuple[str, ...] = ()
    if "damage-outside" in rules:
        if not compared:
            guardrails |= {(t, START) for t in tables if not _may_change(graph, t, START, number)}
        if not any(number in before for before in graph.predecessors.values()):
            end_tables = tuple(table for table in tables if not _may_come_after(graph, table, number))
    ordered = sorted(guardrails, key=lambda pair: (pair[1], TABLES.index(pair[0])))
    return Node(own=node.own, guardrails=tuple(ordered), end_tables=end_tables)


def _exempt(milestones: Sequence[Milestone], numbers: set[int]) -> set[str]:
    """Tables that any of the milestones constrains; -1 is the last one, as a list index is."""
    found: set[str] = set()
    for number in numbers:
        if not -len(milestones) <= number < len(milestones):
            raise OfficialCrashError("IndexError", f"reference {number} of {len(milestones)} milestones")
        found |= {c.database for c in _own(milestones[number]) if c.fn != GUARDRAIL}
    return found


def _may_change(graph: Graph, table: str, reference: int, number: int) -> bool:
    """Tell whether a milestone that may be reached after the reference and up to here changes a table."""
    before = graph.ancestors.get(reference, frozenset()) | {reference}
    return any(
        node.constrains(table)
        for other, node in graph.nodes.items()
        if other == number or (other not in before and number not in graph.ancestors[other])
    )


def _may_come_after(graph: Graph, table: str, number: int) -> bool:
    before = graph.ancestors[number] | {number}
    return any(node.constrains(table) for other, node in graph.nodes.items() if other not in before)
