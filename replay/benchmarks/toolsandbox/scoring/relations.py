"""A snapshot of a table against its target and, where the relation has one, a reference snapshot.

Officially relations join on all columns after nulls have become 0, "" or false; `rows-joined` and
`null-filled` compare multisets of rows as they are. Source: upstream common/evaluation.py at 165848b.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from replay.benchmarks.toolsandbox.records import Constraint
from replay.benchmarks.toolsandbox.scoring.columns import CellScorer, read_traces
from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError, OfficialCrashError
from replay.benchmarks.toolsandbox.scoring.extractors import extract_values, fill_text
from replay.benchmarks.toolsandbox.scoring.rows import Row, compare_rows
from replay.benchmarks.toolsandbox.scoring.rules import OFFICIAL, Rules
from replay.benchmarks.toolsandbox.world.schema import COLUMNS, SANDBOX
from replay.core.types import Json

__all__ = ["ADDITION", "GUARDRAIL", "REMOVAL", "SNAPSHOT", "TRACE_DEPENDANT", "UPDATE", "RelationScorer"]

SNAPSHOT: Final = "snapshot_similarity"
ADDITION: Final = "addition_similarity"
REMOVAL: Final = "removal_similarity"
UPDATE: Final = "update_similarity"
GUARDRAIL: Final = "guardrail_similarity"
TRACE_DEPENDANT: Final = "tool_trace_dependant_similarity"

_ZEROS: Final[Mapping[str, Json]] = {"str": "", "bool": False, "float": 0.0}
_FILLS: Final = ("tool_trace", "content")

_Keyed = tuple[tuple[Json, ...], Row]


class RelationScorer:
    """Scores one constraint on one pair of snapshots."""

    def __init__(self, rules: Rules = OFFICIAL) -> None:
        """Choose which defects are mended."""
        self._rules = rules
        self._cells = CellScorer(rules)

    def score(self, constraint: Constraint, rows: Sequence[Row], reference: Sequence[Row] | None) -> float:
        """Score a constraint; reference is None without a reference milestone.

        Errors:  OfficialCrashError where the official evaluator raises; DefinitionError for an unknown table
                 or relation.
        """
        if constraint.database not in COLUMNS:
            raise DefinitionError(f"unknown table {constraint.database!r}; known: {', '.join(COLUMNS)}")
        if constraint.fn == SNAPSHOT:
            return self._compare(constraint, rows, constraint.target)
        if reference is None:
            raise OfficialCrashError("AssertionError", f"{constraint.fn} without a reference")
        if constraint.fn == GUARDRAIL:
            return 1.0 if self._is_same(constraint.database, rows, reference) else 0.0
        if constraint.fn == TRACE_DEPENDANT:
            return self._follow_traces(constraint, rows, reference)
        if constraint.fn == ADDITION:
            return self._added(constraint, rows, reference)
        if constraint.fn == REMOVAL:
            return self._added(constraint, reference, rows)
        if constraint.fn == UPDATE:
            return self._updated(constraint, rows, reference)
        known = (SNAPSHOT, ADDITION, REMOVAL, UPDATE, GUARDRAIL, TRACE_DEPENDANT)
        raise DefinitionError(f"unknown relation {constraint.fn!r}; known: {', '.join(known)}")

    def rules_out(self, constraint: Constraint, rows: Sequence[Row]) -> bool:
        """Tell whether a message cannot meet a trace-dependent constraint, whatever the traces tell."""
        if constraint.fn != TRACE_DEPENDANT or constraint.database != SANDBOX or len(rows) != 1:
            return False
        return any(
            self._cells.score(
                SANDBOX,
                name,
                cell=rows[0].get(name),
                target=target,
                override=constraint.overrides.get(name),
            )
            == 0.0
            for row in constraint.target
            for name, target in row.items()
            if name != constraint.fill_to and name in COLUMNS[SANDBOX]
        )

    def _compare(self, constraint: Constraint, rows: Sequence[Row], target: Sequence[Row]) -> float:
        return compare_rows(
            rows,
            target,
            table=constraint.database,
            overrides=constraint.overrides,
            cells=self._cells,
        )

    # ---- what changed --------------------------------------------------------------------------------

    def _added(self, constraint: Constraint, larger: Sequence[Row], smaller: Sequence[Row]) -> float:
        """Compare what `larger` has beyond `smaller` with the target; all of `smaller` must be in it."""
        now, before = self._keyed(constraint, larger), self._keyed(constraint, smaller)
        counts = Counter(key for key, _ in before)
        if "rows-joined" in self._rules:
            if counts - Counter(key for key, _ in now):
                return 0.0
        elif sum(counts[key] for key, _ in now) != len(before):
            return 0.0
        return self._compare(constraint, self._rest(now, counts), self._target(constraint))

    def _updated(self, constraint: Constraint, rows: Sequence[Row], reference: Sequence[Row]) -> float:
        now, before = self._keyed(constraint, rows), self._keyed(constraint, reference)
        if len(now) != len(before):
            return 0.0
        counts = Counter(key for key, _ in before)
        return self._compare(constraint, self._rest(now, counts), self._target(constraint))

    def _rest(self, now: Sequence[_Keyed], counts: Counter[tuple[Json, ...]]) -> list[Row]:
        """Rows that are not in the reference; each row of it takes away all equal ones or, mended, one."""
        if "rows-joined" not in self._rules:
            return [row for key, row in now if not counts[key]]
        left, rest = counts.copy(), []
        for key, row in now:
            if left[key]:
                left[key] -= 1
            else:
                rest.append(row)
        return rest

    def _target(self, constraint: Constraint) -> list[Row]:
        """Give the target rows with every column that one of them names."""
        names = dict.fromkeys(name for row in constraint.target for name in row)
        full = [{name: row.get(name) for name in names} for row in constraint.target]
        if "null-filled" in self._rules:
            return list(full)
        return [_fill_nulls(constraint.database, row) for row in full]

    def _keyed(self, constraint: Constraint, rows: Sequence[Row]) -> list[_Keyed]:
        """Give each row every column of its table, beside all its values as a key."""
        columns = COLUMNS[constraint.database]
        full: list[Row] = [{name: row.get(name) for name in columns} for row in rows]
        if "null-filled" not in self._rules:
            full = [_fill_nulls(constraint.database, row) for row in full]
        return [(tuple(_as_key(value) for value in row.values()), row) for row in full]

    def _is_same(self, table: str, rows: Sequence[Row], reference: Sequence[Row]) -> bool:
        columns = COLUMNS[table]
        now = [tuple(_as_key(row.get(name)) for name in columns) for row in rows]
        before = [tuple(_as_key(row.get(name)) for name in columns) for row in reference]
        return Counter(now) == Counter(before) if "row-order" in self._rules else now == before

    # ---- what a tool told ----------------------------------------------------------------------------

    def _follow_traces(self, constraint: Constraint, rows: Sequence[Row], reference: Sequence[Row]) -> float:
        """Fill what the reference's traces tell into the target, and keep the best match."""
        if constraint.database != SANDBOX:
            raise OfficialCrashError("SchemaError", "tool traces are in the message table only")
        if len(rows) != 1 or len(reference) != 1:
            raise OfficialCrashError("SchemaError", "tool traces are compared one message with one other")
        if constraint.fill_to not in _FILLS:
            raise OfficialCrashError("ValueError", f"fill_to {constraint.fill_to!r}: neither of {_FILLS}")
        traces = reference[0].get("tool_trace")
        if traces is None:
            return 0.0
        try:
            decoded = read_traces(traces)
        except ValueError as error:
            raise OfficialCrashError("JSONDecodeError", str(error)) from None
        best = 0.0
        try:
            for trace in decoded:
                for values in extract_values(constraint.extractor, trace):
                    filled = _fill(constraint, values)
                    best = max(best, self._compare(constraint, rows, filled))
        except (IndexError, KeyError):
            return 0.0
        return best


def _fill(constraint: Constraint, values: Mapping[str, Json]) -> list[Row]:
    first = constraint.target[0]
    if constraint.fill_to == "content":
        if not isinstance(first["content"], str):
            raise OfficialCrashError("AttributeError", "the target's content is no text")
        filled: Json = fill_text(first["content"], values)
    else:
        golden = first["tool_trace"]
        filled = []
        for trace in golden if isinstance(golden, list) else [golden]:
            filled.append({**trace, "arguments": {**trace["arguments"], **values}})
            filled.append({**trace, "arguments": {**values, **trace["arguments"]}})
    return [{**row, constraint.fill_to: filled} for row in constraint.target]


def _fill_nulls(table: str, row: Row) -> Row:
    kinds = COLUMNS[table]
    return {
        name: _ZEROS.get(kinds.get(name, ""), value) if value is None else value
        for name, value in row.items()
    }


def _as_key(value: Json) -> Json:
    """Make a cell hashable; lists are compared as they are."""
    return tuple(value) if isinstance(value, list) else value
