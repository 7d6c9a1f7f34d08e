"""A finished conversation as the evaluator reads it: every table at every message.

Equal states are known as equal, by number. Source: upstream common/execution_context.py at 165848b: the
latest snapshot at or before an index, the first one where there is none; headguard rows are never seen.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from replay.benchmarks.toolsandbox.scoring.rows import Row
from replay.benchmarks.toolsandbox.world.schema import AGENT, COLUMNS, ENVIRONMENT, INDEX, SANDBOX
from replay.benchmarks.toolsandbox.world.tables import Tables

__all__ = ["History"]


class History:
    """Read-only view of the tables of one episode."""

    def __init__(self, tables: Tables) -> None:
        """Sort every row under its snapshot, once."""
        self.first: int = tables.first_user_index
        """Index of the first message of the user that is no demonstration, -1 without one."""
        self.last: int = tables.last_index
        """Index of the last message."""
        self._indices: dict[str, list[int]] = {}
        self._snapshots: dict[str, list[tuple[Row, ...]]] = {}
        self._classes: dict[str, list[int]] = {}
        for table, rows in tables.to_json().items():
            self._sort(table, rows)
        self._class_at = {table: self._spread(table) for table in self._indices}
        self._starts = self._find_starts()

    def rows(self, table: str, index: int) -> tuple[Row, ...]:
        """Rows of a table as they were at a message; of the message table, the message itself."""
        at = self._position(table, index)
        return self._snapshots[table][at] if at >= 0 else ()

    def class_of(self, table: str, index: int) -> int:
        """Name the state of a table at a message by a number that equal states share."""
        return self._class_at[table][index + 1]

    def classes_of(self, table: str) -> list[int]:
        """Names of a table's states at messages -1 (before the first), 0, 1, ... to the last."""
        return self._class_at[table]

    def is_same(self, table: str, left: int, right: int, *, ordered: bool = True) -> bool:
        """Tell whether a table holds the same rows at two messages, and in the same order."""
        if self.class_of(table, left) == self.class_of(table, right):
            return True
        return not ordered and Counter(self._keys(table, left)) == Counter(self._keys(table, right))

    @property
    def tables(self) -> frozenset[str]:
        """Tables that there are."""
        return frozenset(self._indices)

    @functools.cached_property
    def trace_classes(self) -> list[int]:
        """Names of what the tool traces of messages tell, from message -1; all without a trace are alike."""
        names = []
        for index in range(-1, self.last + 1):
            rows = self.rows(SANDBOX, index)
            has_trace = len(rows) == 1 and bool(rows[0].get("tool_trace"))
            names.append(index if has_trace else -1 - len(rows))
        return names

    def start_of_batch(self, index: int) -> int:
        """Index of the first reply of the batch that a message belongs to; its own outside of batches."""
        return self._starts.get(index, index)

    def messages(self) -> list[Row]:
        """All messages in order."""
        return [row for snapshot in self._snapshots[SANDBOX] for row in snapshot]

    def _sort(self, table: str, rows: Sequence[Row]) -> None:
        grouped: dict[int, list[Row]] = {}
        seen_any = False
        for row in rows:
            kept = grouped.setdefault(row[INDEX], [])
            cells = {name: row[name] for name in COLUMNS[table]}
            if any(value is not None for value in cells.values()):
                kept.append(cells)
                seen_any = True
        self._indices[table] = sorted(grouped) if seen_any else []
        self._snapshots[table] = [tuple(grouped[index]) for index in self._indices[table]]
        names: dict[tuple[object, ...], int] = {}
        self._classes[table] = [
            number
            if table == SANDBOX
            else names.setdefault(tuple(tuple(row.values()) for row in snapshot), len(names))
            for number, snapshot in enumerate(self._snapshots[table])
        ]

    def _spread(self, table: str) -> list[int]:
        positions = (self._position(table, index) for index in range(-1, self.last + 1))
        return [self._classes[table][at] if at >= 0 else -1 for at in positions]

    def _keys(self, table: str, index: int) -> tuple[tuple[object, ...], ...]:
        return tuple(tuple(row.values()) for row in self.rows(table, index))

    def _position(self, table: str, index: int) -> int:
        indices = self._indices[table]
        return max(bisect_right(indices, index) - 1, 0) if indices else -1

    def _find_starts(self) -> dict[int, int]:
        starts: dict[int, int] = {}
        start = -1
        for index in range(self.last + 1):
            rows = self.rows(SANDBOX, index)
            is_reply = bool(rows) and rows[0]["sender"] == ENVIRONMENT and rows[0]["recipient"] == AGENT
            if not is_reply:
                start = -1
                continue
            start = index if start < 0 else start
            starts[index] = start
        return starts
