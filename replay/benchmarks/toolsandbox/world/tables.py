"""The tables with their whole history, and how they are read and written.

A message index owns a snapshot of every table. A write made while a message is handled goes to the index of
the reply about to be written (last index + 1), into a copy of the newest snapshot; a table that does not
change gets no snapshot. Each table holds an all-null *headguard* row in every snapshot, so that an empty one
can be told from none. Source: upstream common/execution_context.py at 165848b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from replay.benchmarks.toolsandbox.world.schema import COLUMNS, INDEX, ROLES, SANDBOX, TABLES, USER
from replay.core.errors import InputError
from replay.core.types import Json

__all__ = ["NoRowError", "Row", "Tables"]

Row = dict[str, Json]
"""One row by column name. Rows are never changed in place."""

_MAX_ROWS: Final = 100_000


class NoRowError(LookupError):
    """A removal that matched no row."""


class Tables:
    """The five tables of one episode; equal calls in equal order give equal tables."""

    def __init__(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Take rows with their message index, headguards included, as `to_json` gives them."""
        self._rows: dict[str, list[Row]] = {name: list(rows.get(name, ())) for name in TABLES}
        self._last = max((row[INDEX] for row in self._rows[SANDBOX] if not _is_headguard(row)), default=-1)

    @classmethod
    def start(cls, rows: Mapping[str, Iterable[Mapping[str, Json]]]) -> Tables:
        """Make the tables of a starting world: a headguard and the given rows of each, all at index 0."""
        tables = cls({name: [_headguard(name, 0)] for name in TABLES})
        for name, given in rows.items():
            tables.add(name, given)
        return tables

    @classmethod
    def from_json(cls, data: Json, *, where: str = "execution context") -> Tables:
        """Read the tables of an execution context.

        Errors:  InputError with the JSON path of what is not a table, a row or a value of its column.
        """
        if not isinstance(data, dict):
            raise InputError(
                "tables are no object", where=where, expected=f"an object of {', '.join(TABLES)}"
            )
        unknown = sorted(set(data) - set(TABLES))
        if unknown:
            expected = f"some of {', '.join(TABLES)}"
            raise InputError(f"unknown table {unknown[0]!r}", where=where, expected=expected)
        return cls({name: _read_rows(name, data.get(name, []), where) for name in TABLES})

    def to_json(self) -> dict[str, Json]:
        """Give every row of every table with its message index first, as upstream stores them."""
        return {
            name: [{column: row[column] for column in (INDEX, *COLUMNS[name])} for row in rows]
            for name, rows in self._rows.items()
        }

    def copy(self) -> Tables:
        """Copy the tables; rows are shared, for they never change."""
        made = Tables.__new__(Tables)
        made._rows = {name: list(rows) for name, rows in self._rows.items()}  # noqa: SLF001  our own copy
        made._last = self._last  # noqa: SLF001
        return made

    @property
    def last_index(self) -> int:
        """Index of the last message, -1 without one."""
        return self._last

    @property
    def first_user_index(self) -> int:
        """Index of the first message of the user that is no demonstration, -1 without one."""
        for row in self.messages():
            if row["sender"] == USER and row["visible_to"] != [USER]:
                return int(row[INDEX])
        return -1

    def messages(self) -> list[Row]:
        """All messages in order, with their index."""
        return [row for row in self._rows[SANDBOX] if not _is_headguard(row)]

    def message(self, index: int) -> Row | None:
        """Return the message at an index, if there is one."""
        found = [row for row in self._rows[SANDBOX] if row[INDEX] == index and not _is_headguard(row)]
        return found[-1] if found else None

    def snapshot_indices(self, table: str) -> list[int]:
        """Indices at which a table has a snapshot, ascending."""
        return sorted({row[INDEX] for row in self._rows[table]})

    def read(self, table: str, index: int | None = None) -> list[Row]:
        """Read the latest snapshot of a table at or before an index; without one, the newest.

        The message table gives the one message at that index.
        """
        at = self._snapshot_at(table, self._last + 1 if index is None else index)
        return [
            _without_index(row) for row in self._rows[table] if row[INDEX] == at and not _is_headguard(row)
        ]

    def add(self, table: str, rows: Iterable[Mapping[str, Json]]) -> None:
        """Add rows: messages one index each, rows of other tables to the snapshot of the coming reply.

        Errors:  KeyError for an unknown column, ValueError for a row of nulls only.
        """
        given = [dict(row) for row in rows]
        columns = COLUMNS[table]
        unknown = sorted({name for row in given for name in row} - set(columns) - {INDEX})
        if unknown:
            raise KeyError(f"unknown column {', '.join(unknown)} of table {table}")
        full = [{name: _fit(row.get(name), kind) for name, kind in columns.items()} for row in given]
        if any(all(value is None for value in row.values()) for row in full):
            raise ValueError("a row of nulls only is kept for the headguard")
        if table == SANDBOX:
            self._append(full)
            return
        self._open_snapshot(table)
        self._rows[table].extend({INDEX: self._last + 1, **row} for row in full)

    def remove(self, table: str, predicate: Callable[[Row], bool]) -> None:
        """Remove the rows of the newest snapshot that fit; the snapshot stays even when none does.

        Errors:  KeyError for the message table; NoRowError when no row fits.
        """
        if table == SANDBOX:
            raise KeyError("messages cannot be removed")
        self._open_snapshot(table)
        at = self._last + 1
        kept = [
            row
            for row in self._rows[table]
            if row[INDEX] != at or _is_headguard(row) or not predicate(_without_index(row))
        ]
        if len(kept) == len(self._rows[table]):
            raise NoRowError(f"no row of {table} fits")
        self._rows[table] = kept

    def replace(self, table: str, rows: Iterable[Row]) -> None:
        """Replace the newest snapshot's rows; of the message table, the last message."""
        at = self._last if table == SANDBOX else self._last + 1
        if table != SANDBOX:
            self._open_snapshot(table)
        kept = [row for row in self._rows[table] if row[INDEX] != at]
        fresh = [{INDEX: at, **row} for row in rows]
        self._rows[table] = [*kept, _headguard(table, at), *fresh]

    def _append(self, rows: Iterable[Row]) -> None:
        last = self.message(self._last)
        active = True if last is None else last["conversation_active"]
        for row in rows:
            if row["conversation_active"] is not None:
                active = row["conversation_active"]
            self._last += 1
            self._rows[SANDBOX].append({INDEX: self._last, **row, "conversation_active": active})

    def _snapshot_at(self, table: str, index: int) -> int:
        rows = self._rows[table]
        if all(_is_headguard(row) for row in rows):
            return -1  # an empty table counts as not there yet
        if index > self._last + 1:
            raise IndexError(f"message {index} is past the coming reply {self._last + 1}")
        indices: set[int] = {row[INDEX] for row in rows}
        return max((found for found in indices if found <= index), default=min(indices))

    def _open_snapshot(self, table: str) -> None:
        """Copy the newest snapshot to the index of the coming reply, once."""
        at = self._last + 1
        if any(row[INDEX] == at for row in self._rows[table]):
            return
        newest = self._snapshot_at(table, self._last)
        self._rows[table].extend({**row, INDEX: at} for row in self._rows[table] if row[INDEX] == newest)


def _headguard(table: str, index: int) -> Row:
    return {INDEX: index, **dict.fromkeys(COLUMNS[table])}


def _is_headguard(row: Row) -> bool:
    return all(value is None for name, value in row.items() if name != INDEX)


def _without_index(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != INDEX}


def _fit(value: Json, kind: str) -> Json:
    """Store a number in a column of floats as a float, as upstream's typed columns do."""
    return float(value) if kind == "float" and isinstance(value, (int, float)) else value


def _read_rows(table: str, rows: Json, where: str) -> list[Row]:
    if not isinstance(rows, list) or len(rows) > _MAX_ROWS:
        raise InputError("no list of rows", where=f"{where}, $.{table}", expected=f"at most {_MAX_ROWS} rows")
    made = []
    for number, row in enumerate(rows):
        place = f"{where}, $.{table}[{number}]"
        if not isinstance(row, dict):
            raise InputError(f"a row is no object: {str(row)[:40]!r}", where=place, expected="an object")
        index = row.get(INDEX)
        if type(index) is not int:
            raise InputError(f"{INDEX} = {index!r}", where=place, expected="a whole number")
        unknown = sorted(set(row) - {INDEX, *COLUMNS[table]})
        if unknown:
            expected = f"columns {', '.join(COLUMNS[table])}"
            raise InputError(f"unknown column {unknown[0]!r}", where=place, expected=expected)
        for name, kind in COLUMNS[table].items():
            if not _is_kind(row.get(name), kind):
                what = f"{name} = {str(row[name])[:40]!r}"
                raise InputError(what, where=f"{place}.{name}", expected=f"{kind} or null")
        made.append({INDEX: index, **{n: _fit(row.get(n), k) for n, k in COLUMNS[table].items()}})
    return made


def _is_kind(value: Json, kind: str) -> bool:
    if value is None:
        return True
    if kind.startswith("list["):
        return isinstance(value, list) and all(_is_kind(item, kind[5:-1]) for item in value)
    if kind == "role":
        return value in ROLES
    if kind == "float":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is {"str": str, "bool": bool}[kind]
