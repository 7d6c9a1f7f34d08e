"""Tab- and comma-separated result files, told apart by their heading line."""

from __future__ import annotations

import csv
import io
from typing import Final

from replay.benchmarks.stabletoolbench.faults import Faults

__all__ = ["FAC_COLUMNS", "PASS_RATE_COLUMNS", "PREFERENCE_COLUMNS", "read_table", "table_kind"]

PASS_RATE_COLUMNS: Final = frozenset({"query", "query_id", "is_solved"})
PREFERENCE_COLUMNS: Final = frozenset({"query_id", "preference_label", "ref_model", "output_model"})
FAC_COLUMNS: Final = frozenset({"query", "final_answer", "evaluation", "prompt"})
_KINDS: Final = {"pass-rate": PASS_RATE_COLUMNS, "preference": PREFERENCE_COLUMNS, "fac": FAC_COLUMNS}
_FIELD_LIMIT: Final = 16 << 20
"""A long answer's steps are one field; the csv module's own limit of 131,072 characters is too small."""


def table_kind(text: str) -> str | None:
    """Say which result table a text is by its columns, or None."""
    columns = set(_split(text.split("\n", maxsplit=1)[0]))
    return next((kind for kind, wanted in _KINDS.items() if wanted <= columns), None)


def read_table(file: str, text: str, faults: Faults) -> list[dict[str, str]]:
    """Read the rows of a table by column name; a row of another width is a fault and leaves all out."""
    delimiter = _delimiter(text)
    before = csv.field_size_limit(_FIELD_LIMIT)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        faults.add(f"not a table: {error}", file=file, expected="a complete table, quotes closed")
        return []
    finally:
        # The limit belongs to the process; it is left as it was.
        csv.field_size_limit(before)
    if not rows:
        return []
    heading, *body = rows
    heading = [_clean(name) for name in heading]
    for number, row in enumerate(body):
        if len(row) != len(heading):
            what = f"a row of {len(row)} fields under {len(heading)} columns"
            faults.add(what, file=file, record=number, expected="one field for each column")
            return []
    return [dict(zip(heading, row, strict=True)) for row in body]


def _delimiter(text: str) -> str:
    return "\t" if "\t" in text.split("\n", maxsplit=1)[0] else ","


def _split(line: str) -> list[str]:
    delimiter = _delimiter(line)
    return [_clean(name) for name in line.split(delimiter)]


def _clean(name: str) -> str:
    """A column's name without what spreadsheets put around it: a byte order mark, blanks, quotes."""
    return name.removeprefix("\ufeff").strip().strip('"')
