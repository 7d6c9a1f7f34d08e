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
    size = len(costs)
    row_of = [-1] * (size + 1)  # column -> row; the last column is where each path starts
    row_potential, column_potential = [0.0] * size, [0.0] * (size + 1)
    for row in range(size):
        row_of[size] = row
        column = size
        nearest = [math.inf] * size
        came_from = [-1] * size
        used = [False] * (size + 1)
        while row_of[column] != -1:
            used[column] = True
            current = row_of[column]
            for other in range(size):
                if used[other]:
                    continue
                reduced = costs[current][other] - row_potential[current] - column_potential[other]
                if reduced < nearest[other]:
                    nearest[other], came_from[other] = reduced, column
            column = min(
                (other for other in range(size) if not used[other]), key=nearest.__getitem__, default=size
            )
            if column == size or nearest[column] == math.inf:
                return None
            step = nearest[column]
            for other in range(size + 1):
                if used[other]:
                    row_potential[row_of[other]] += step
                    column_potential[other] -= step
                elif other < size:
                    nearest[other] -= step
        while column != size:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    chosen = [0] * size
    for column in range(size):
        chosen[row_of[column]] = column
    return tuple(chosen)
