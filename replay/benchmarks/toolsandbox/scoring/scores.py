"""What a milestone scores at a message, given where the milestones before it were placed.

One object scores one graph on one history and remembers every constraint by the states it compared. Mended
scoring adds two rules: nothing counts after an unmet predecessor, and one message serves one of two ordered
milestones only. Source: upstream common/evaluation.py at 165848b, CachedSimilarityCalculator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from replay.benchmarks.toolsandbox.records import Constraint
from replay.benchmarks.toolsandbox.scoring.crashes import OfficialCrashError
from replay.benchmarks.toolsandbox.scoring.graph import START, Graph
from replay.benchmarks.toolsandbox.scoring.history import History
from replay.benchmarks.toolsandbox.scoring.matching import Placed
from replay.benchmarks.toolsandbox.scoring.relations import (
    GUARDRAIL,
    SNAPSHOT,
    TRACE_DEPENDANT,
    RelationScorer,
)
from replay.benchmarks.toolsandbox.scoring.rules import Rules
from replay.benchmarks.toolsandbox.world.schema import SANDBOX

__all__ = ["MilestoneScores"]

_ClassOf = Callable[[int], int]


class MilestoneScores:
    """Scores of the milestones of one graph; the matcher asks it."""

    def __init__(self, graph: Graph, history: History, relations: RelationScorer, rules: Rules) -> None:
        """Score nothing yet."""
        self.graph = graph
        self._history = history
        self._relations = relations
        self._blocks = "unmet-predecessor" in rules
        self._one_each = "one-message-for-two" in rules
        self._is_bare_fine = "no-own-constraint" in rules
        self._is_ordered = "row-order" not in rules
        self._in_batches = "batch-order" in rules
        self._known: dict[tuple[int, int, int, int], float] = {}
        self._free: dict[tuple[int, int], float] = {}
        self._speaks = {number for number, node in graph.nodes.items() if node.constrains(SANDBOX)}
        self._classes = {number: self._reference_classes(number) for number in graph.nodes}

    def floor(self, index: int) -> int:
        """Earliest message that the next milestone may take after one at `index`."""
        return self._history.start_of_batch(index) if self._in_batches else index

    def bound(self, number: int, index: int) -> float:
        """Most that a milestone can score at a message, whatever it refers to.

        Errors:  OfficialCrashError where a constraint without a reference raises.
        """
        return self._mean(number, self._free_product(number, index))

    def score(self, number: int, index: int, placed: Mapping[int, Placed]) -> float:
        """Score a milestone at a message.

        Errors:  OfficialCrashError where the official evaluator raises, also for a reference not placed.
        """
        node = self.graph.nodes[number]
        product = self._free_product(number, index)
        for place, constraint in enumerate(node.own):
            if constraint.reference is not None:
                at = self._at(constraint.reference, placed)
                product *= self._constraint(number, place, index, at)
        for table, reference in node.guardrails:
            at = self._at(reference, placed)
            if product and not self._is_kept(table, index, at):
                product = 0.0
        if product and not all(self._is_kept(table, self._history.last, index) for table in node.end_tables):
            product = 0.0
        value = self._mean(number, product)
        return 0.0 if value and self._is_void(number, index, placed) else value

    def open_key(
        self, placed: Mapping[int, Placed], remaining: frozenset[int], start: int
    ) -> tuple[object, ...]:
        """Name all that the places taken can still do to the scores of the remaining milestones."""
        key: list[object] = []
        for number in sorted(remaining):
            for reference, class_of in self._classes[number]:
                if reference in placed:
                    key.append(class_of(placed[reference].message))
            if self._blocks:
                before = self.graph.predecessors[number]
                key.append(tuple(placed[one].score > 0.0 for one in sorted(before) if one in placed))
            if self._one_each and number in self._speaks:
                before = self.graph.ancestors[number]
                taken = (placed[one].message for one in sorted(before & self._speaks) if one in placed)
                key.append(tuple(index for index in taken if index >= start))
        return tuple(key)

    def constraint_scores(self, number: int, placed: Mapping[int, Placed]) -> list[tuple[Constraint, float]]:
        """Each of the author's constraints of a milestone, guardrails left out, with what it scored."""
        node = self.graph.nodes[number]
        found = []
        for place, constraint in enumerate(node.own):
            if constraint.fn == GUARDRAIL:
                continue
            value = 0.0
            if number in placed:
                index = placed[number].message
                at = None if constraint.reference is None else self._at(constraint.reference, placed)
                value = self._constraint(number, place, index, at)
            found.append((constraint, value))
        return found

    # ---- parts -----------------------------------------------------------------------------------------

    def _free_product(self, number: int, index: int) -> float:
        known = self._free.get((number, index))
        if known is None:
            known = 1.0
            for place, constraint in enumerate(self.graph.nodes[number].own):
                if constraint.reference is None:
                    known *= self._constraint(number, place, index, None)
            self._free[number, index] = known
        return known

    def _mean(self, number: int, product: float) -> float:
        weight = self.graph.nodes[number].weight
        if weight == 0:
            if self._is_bare_fine:
                return product
            raise OfficialCrashError("ZeroDivisionError", "division by zero")
        return math.pow(product, 1 / weight)

    def _at(self, reference: int, placed: Mapping[int, Placed]) -> int:
        if reference == START:
            return self._history.first
        if reference not in placed:
            raise OfficialCrashError("KeyError", str(reference))
        return placed[reference].message

    def _constraint(self, number: int, place: int, index: int, at: int | None) -> float:
        constraint = self.graph.nodes[number].own[place]
        table = constraint.database
        now = self._history.class_of(table, index) if table in self._history.tables else index
        before = -2 if at is None else at
        if at is not None and table in self._history.tables:
            before = self._history.class_of(table, at)
        key = (number, place, now, before)
        if key not in self._known:
            is_table = table in self._history.tables
            rows = self._history.rows(table, index) if is_table else ()
            reference = self._history.rows(table, at) if is_table and at is not None else None
            self._known[key] = self._relations.score(constraint, rows, reference)
        return self._known[key]

    def _is_kept(self, table: str, index: int, at: int) -> bool:
        return self._history.is_same(table, index, at, ordered=self._is_ordered)

    def _is_void(self, number: int, index: int, placed: Mapping[int, Placed]) -> bool:
        if self._blocks and any(
            placed[one].score <= 0.0 for one in self.graph.predecessors[number] if one in placed
        ):
            return True
        return (
            self._one_each
            and number in self._speaks
            and any(
                placed[one].message == index
                for one in self.graph.ancestors[number] & self._speaks
                if one in placed
            )
        )

    def _reference_classes(self, number: int) -> list[tuple[int, _ClassOf]]:
        """For each reference of a node, what of a place matters to it."""
        node = self.graph.nodes[number]
        found: list[tuple[int, _ClassOf]] = []
        for constraint in node.own:
            if constraint.reference is None or constraint.reference == START or constraint.fn == SNAPSHOT:
                continue
            if constraint.fn == TRACE_DEPENDANT:
                found.append((constraint.reference, self._history.trace_class))
            else:
                found.append((constraint.reference, self._class_in(constraint.database)))
        for table, reference in node.guardrails:
            if reference != START:
                found.append((reference, self._class_in(table)))
        return found

    def _class_in(self, table: str) -> _ClassOf:
        return lambda index: self._history.class_of(table, index)
