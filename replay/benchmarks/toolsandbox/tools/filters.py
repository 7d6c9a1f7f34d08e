"""Criteria of the search tools: exact, fuzzy and range. Source: upstream common/utils.py at 165848b."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from replay.benchmarks.toolsandbox.libraries import load_library
from replay.benchmarks.toolsandbox.tools.failures import (
    CODE_FAULTS,
    COMPUTE,
    ToolError,
    WrongValueError,
    describe,
)
from replay.benchmarks.toolsandbox.tools.tool import NOT_GIVEN
from replay.benchmarks.toolsandbox.world.tables import Row
from replay.core.types import Json

__all__ = ["CLOSE_TEXT", "SAME_NAME", "Criterion", "at_least", "at_most", "exact", "fuzzy", "search"]

SAME_NAME: Final = 90
"""Least score (0..100) of names and relationships."""
CLOSE_TEXT: Final = 50
"""Least score (0..100) of message and reminder texts."""

Rule = Callable[[list[Row], str, Json], list[Row]]
Criterion = tuple[str, Json, Rule]
"""Column, wanted value (or NOT_GIVEN) and how it is compared."""


def search(rows: list[Row], criteria: Sequence[Criterion]) -> list[Row]:
    """Keep the rows that meet every criterion that was given. Raises WrongValueError without any."""
    if all(value is NOT_GIVEN for _, value, _ in criteria):
        raise WrongValueError(
            "No search criteria are given. At least one search criteria should be provided among "
            f"{tuple(column for column, _, _ in criteria)}"
        )
    for column, value, rule in criteria:
        if value is not NOT_GIVEN:
            rows = rule(rows, column, value)
    return rows


def exact(rows: list[Row], column: str, value: Json) -> list[Row]:
    """Keep rows whose cell equals the value; null equals nothing, a text and a number do not compare."""
    if isinstance(value, dict):
        text = f"cannot create expression literal for value of type dict: {value}"
        hint = "Hint: Pass `allow_object=True` to accept any value and create a literal of type Object."
        raise ToolError("TypeError", f"{text}\n\n{hint}")
    if isinstance(value, list):
        # A one-element column is spread over the rows.
        value = value[0] if len(value) == 1 else None
    if value is None:
        return []
    return [row for row in rows if row[column] is not None and _is_equal(row[column], value)]


def fuzzy(threshold: int) -> Rule:
    """Keep the five best rows by rapidfuzz's WRatio, best first, at or above a score of 0..100."""

    def rule(rows: list[Row], column: str, value: Json) -> list[Row]:
        process = load_library("rapidfuzz.process")
        scorer = load_library("rapidfuzz.fuzz").WRatio
        plain = load_library("rapidfuzz.utils").default_process
        cells = [row[column] for row in rows]
        try:
            found = process.extract(value, cells, processor=plain, scorer=scorer, score_cutoff=threshold)
        except CODE_FAULTS as error:
            raise describe(error) from None
        return [rows[match[-1]] for match in found]

    return rule


def at_least(rows: list[Row], column: str, value: Json) -> list[Row]:
    """Keep rows whose cell is not below the value."""
    return [row for row in rows if row[column] is not None and row[column] >= value]


def at_most(rows: list[Row], column: str, value: Json) -> list[Row]:
    """Keep rows whose cell is not above the value."""
    return [row for row in rows if row[column] is not None and row[column] <= value]


def _is_equal(cell: Json, value: Json) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(cell, str) and is_number:
        width = "f64" if isinstance(value, float) else "i32"
        raise ToolError(COMPUTE, f"cannot compare string with numeric type ({width})")
    return type(cell) is type(value) and cell == value if isinstance(cell, str) else bool(cell == value)
