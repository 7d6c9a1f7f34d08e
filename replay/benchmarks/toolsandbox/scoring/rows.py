"""A table's rows against target rows: every row takes a target, similarities multiply.

A row's similarity is the geometric mean over the target's columns, a table's the geometric mean over its rows
under the best assignment. Official numbers are reproduced to the last bits: costs are 32-bit logarithms.
Source: upstream common/evaluation.py at 165848b, snapshot_similarity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from replay.benchmarks.toolsandbox.records import Override
from replay.benchmarks.toolsandbox.scoring.assignment import assign_rows
from replay.benchmarks.toolsandbox.scoring.columns import CellScorer, as_single
from replay.benchmarks.toolsandbox.scoring.crashes import OfficialCrashError
from replay.benchmarks.toolsandbox.world.schema import COLUMNS
from replay.core.types import Json

__all__ = ["Row", "compare_rows"]

Row = Mapping[str, Json]

# Polars takes a logarithm to a base of its own: the 32-bit e, whose natural logarithm is just under 1.
_LOG_OF_E: Final = as_single(math.log(as_single(math.e)))


def compare_rows(
    rows: Sequence[Row],
    target: Sequence[Row],
    *,
    table: str,
    overrides: Mapping[str, Override],
    cells: CellScorer,
) -> float:
    """Score rows against target rows; columns that no target names do not count.

    Errors:  OfficialCrashError where the official evaluator raises.
    """
    columns = list(dict.fromkeys(name for row in target for name in row))
    if len(rows) != len(target) or not set(columns) <= COLUMNS[table].keys():
        return 0.0
    if not target:
        raise OfficialCrashError("ValueError", "need at least one array to stack")
    costs = []
    for wanted in target:
        line = []
        for row in rows:
            similarities = [
                cells.score(
                    table,
                    name,
                    cell=row.get(name),
                    target=wanted.get(name),
                    override=overrides.get(name),
                )
                for name in columns
            ]
            known = [_cost(similarity) for similarity in similarities if similarity is not None]
            if not known:  # the mean of nothing but nulls is none, and makes the assignment impossible
                return 0.0
            line.append(sum(known) / len(known))
        costs.append(line)
    chosen = assign_rows(costs)
    if chosen is None:
        return 0.0
    return math.exp(-sum(costs[number][column] for number, column in enumerate(chosen)) / len(costs))


def _cost(similarity: float) -> float:
    if similarity <= 0.0:
        return math.inf
    if similarity == 1.0:
        return 0.0
    return -as_single(as_single(math.log(similarity)) / _LOG_OF_E)
