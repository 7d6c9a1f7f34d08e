"""What a milestone scores at a message, given where the milestones before it were placed.

One object scores one graph on one history and remembers every constraint by the states it compared. Mended
scoring adds two rules: nothing counts after an unmet predecessor, and one message serves one of two ordered
milestones only. Source: upstream common/evaluation.py at 165848b, CachedSimilarityCalculator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

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
        self._fixed: dict[tuple[int, int], float] = {}
        self._bounds: dict[tuple[int, int], float] = {}
        self._hopes: dict[tuple[int, ...], float] = {}
        self._hopeless: dict[int, bool] = {}
        self._read: dict[frozenset[int], list[tuple[int, list[int]]]] = {}
        self._weights = {number: node.weight for number, node in graph.nodes.items()}
        self._speaks = {number for number, node in graph.nodes.items() if node.constrains(SANDBOX)}

    def floor(self, index: int) -> int:
        """Earliest message that the next milestone may take after one at `index`."""
        return self._history.start_of_batch(index) if self._in_batches else index

    def bound(self, number: int, index: int) -> float:
        """Most that a milestone can score at a message, whatever the places of those before it.

        Errors:  OfficialCrashError where a constraint without a milestone for reference raises.
        """
        known = self._bounds.get((number, index))
        if known is None:
            known = self._mean(number, self._fixed_product(number, index))
            if known and self._blocks and any(map(self._is_hopeless, self.graph.predecessors[number])):
                known = 0.0
            self._bounds[number, index] = known
        return known

    def hope(self, number: int, start: int, placed: Mapping[int, Placed]) -> float:
        """Most that a milestone can score at or after a message, guardrails with placed milestones kept."""
        if self._blocks and any(
            one in placed and placed[one].score <= 0.0 for one in self.graph.predecessors[number]
        ):
            return 0.0
        guards = [
            (table, placed[reference].message)
            for table, reference in self.graph.nodes[number].guardrails
            if reference in placed
        ]
        key = (number, start, *(self._history.class_of(table, at) for table, at in guards))
        known = self._hopes.get(key)
        if known is None:
            known = 0.0
            for index in range(start, self._history.last + 1):
                bound = self.bound(number, index)
                if bound > known and all(self._is_kept(table, index, at) for table, at in guards):
                    known = bound
            self._hopes[key] = known
        return known

    def score(self, number: int, index: int, placed: Mapping[int, Placed]) -> float:
        """Score a milestone at a message.

        Errors:  OfficialCrashError where the official evaluator raises, also for a reference not placed.
        """
        node = self.graph.nodes[number]
        product = self._fixed_product(number, index)
        for place, constraint in enumerate(node.own):
            if constraint.reference is not None and constraint.reference != START:
                product *= self._constraint(number, place, index, _at(constraint.reference, placed))
        for table, reference in node.guardrails:
            if reference != START:
                at = _at(reference, placed)
                if product and not self._is_kept(table, index, at):
                    product = 0.0
        value = self._mean(number, product)
        return 0.0 if value and self._is_void(number, index, placed) else value

    def open_key(
        self, placed: Mapping[int, Placed], remaining: frozenset[int], start: int
    ) -> tuple[object, ...]:
        """Name all that the places taken can still do to the scores of the remaining milestones."""
        read = self._read.get(remaining)
        if read is None:
            read = self._read[remaining] = self._what_is_read(remaining)
        key: list[object] = [
            classes[placed[reference].message + 1] for reference, classes in read if reference in placed
        ]
        for number in sorted(remaining) if self._blocks or self._one_each else ():
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
        found = []
        for place, constraint in enumerate(self.graph.nodes[number].own):
            if constraint.fn == GUARDRAIL:
                continue
            value = 0.0
            if number in placed:
                at = None
                if constraint.reference is not None:
                    is_start = constraint.reference == START
                    at = self._history.first if is_start else _at(constraint.reference, placed)
                value = self._constraint(number, place, placed[number].message, at)
            found.append((constraint, value))
        return found

    # ---- parts -----------------------------------------------------------------------------------------

    def _fixed_product(self, number: int, index: int) -> float:
        """Multiply all that does not depend on where other milestones are placed."""
        known = self._fixed.get((number, index))
        if known is not None:
            return known
        node, first = self.graph.nodes[number], self._history.first
        known = 1.0
        for place, constraint in enumerate(node.own):
            if constraint.reference is None or constraint.reference == START:
                at = None if constraint.reference is None else first
                known *= self._constraint(number, place, index, at)
            elif known and self._relations.rules_out(constraint, self._history.rows(SANDBOX, index)):
                known = 0.0
        kept = [(table, first) for table, reference in node.guardrails if reference == START]
        kept += [(table, self._history.last) for table in node.end_tables]
        if known and not all(self._is_kept(table, index, at) for table, at in kept):
            known = 0.0
        self._fixed[number, index] = known
        return known

    def _is_hopeless(self, number: int) -> bool:
        """Tell whether a milestone scores 0 wherever it is placed."""
        known = self._hopeless.get(number)
        if known is None:
            self._hopeless[number] = False  # on a circle nothing is ever placed
            indices = range(self._history.first, self._history.last + 1)
            known = not any(self.bound(number, index) for index in indices)
            self._hopeless[number] = known
        return known

    def _mean(self, number: int, product: float) -> float:
        weight = self._weights[number]
        if weight == 0:
            if self._is_bare_fine:
                return product
            raise OfficialCrashError("ZeroDivisionError", "division by zero")
        return math.pow(product, 1 / weight)

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

    def _what_is_read(self, remaining: frozenset[int]) -> list[tuple[int, list[int]]]:
        """Milestones that the remaining ones refer to, each with the states that tell places apart."""
        found: dict[tuple[int, str], list[int]] = {}
        for number in sorted(remaining):
            node = self.graph.nodes[number]
            for constraint in node.own:
                table, reference = constraint.database, constraint.reference
                if reference is None or constraint.fn == SNAPSHOT or table not in self._history.tables:
                    continue
                is_traced = constraint.fn == TRACE_DEPENDANT and table == SANDBOX
                classes = self._history.trace_classes if is_traced else self._history.classes_of(table)
                found[reference, constraint.fn if is_traced else table] = classes
            for table, reference in node.guardrails:
                found[reference, table] = self._history.classes_of(table)
        return [(reference, classes) for (reference, _), classes in sorted(found.items())]


def _at(reference: int, placed: Mapping[int, Placed]) -> int:
    if reference not in placed:
        raise OfficialCrashError("KeyError", str(reference))
    return placed[reference].message
