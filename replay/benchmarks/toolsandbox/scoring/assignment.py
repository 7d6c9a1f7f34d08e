"""Rows to rows at the least total cost, where some pairs may be impossible."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["assign_rows"]


def assign_rows(costs: Sequence[Sequence[float]]) -> tuple[int, ...] | None:
    """Give each row a column of its own so that the sum of costs is least; None when no choice is finite.

    Shape:   costs is square; the answer holds the column of each row.
    Units:   a cost is a number or infinity (an impossible pair), never NaN.
    Source:  the Hungarian method with potentials, one shortest augmenting path a row; O(n^3).
    """
    assignment = _Assignment(costs)
    if not all(assignment.add(row) for row in range(len(costs))):
        return None
    chosen = [0] * len(costs)
    for column, row in enumerate(assignment.row_of[:-1]):
        chosen[row] = column
    return tuple(chosen)


class _Assignment:
    """Best assignment of the rows added so far. The column after the last is where each path starts."""

    def __init__(self, costs: Sequence[Sequence[float]]) -> None:
        self._costs = costs
        self._start = len(costs)
        self.row_of = [-1] * (len(costs) + 1)
        self._row_potential = [0.0] * len(costs)
        self._column_potential = [0.0] * (len(costs) + 1)

    def add(self, row: int) -> bool:
        """Add one row by a shortest augmenting path; False when there is none."""
        self.row_of[self._start] = row
        column, used = self._start, [self._start]
        nearest = dict.fromkeys(range(self._start), math.inf)
        came_from: dict[int, int] = {}
        while True:
            self._look_around(column, nearest, came_from)
            before, column = column, min(nearest, key=nearest.__getitem__, default=column)
            if column == before or nearest[column] == math.inf:
                return False
            step = nearest.pop(column)
            for one in used:
                self._row_potential[self.row_of[one]] += step
                self._column_potential[one] -= step
            for one in nearest:
                nearest[one] -= step
            if self.row_of[column] < 0:
                break
            used.append(column)
        while column != self._start:
            self.row_of[column] = self.row_of[came_from[column]]
            column = came_from[column]
        return True

    def _look_around(self, column: int, nearest: dict[int, float], came_from: dict[int, int]) -> None:
        row = self.row_of[column]
        for other, known in nearest.items():
            reduced = self._costs[row][other] - self._row_potential[row] - self._column_potential[other]
            if reduced < known:
                nearest[other], came_from[other] = reduced, column
