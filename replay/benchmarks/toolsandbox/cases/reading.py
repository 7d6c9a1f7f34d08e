"""Single cases as the records that scoring reads: constraints, milestones, messages, table changes.

Cases spell things shorter than a dump does: `fn` beside `target`, `exact` for an official function's name,
traces as objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from replay.benchmarks.toolsandbox.records import Constraint, Ending, Milestone, Override, Scenario
from replay.benchmarks.toolsandbox.world.schema import COLUMNS, SANDBOX, TABLES
from replay.benchmarks.toolsandbox.world.tables import Row, Tables
from replay.core.errors import InputError
from replay.core.types import Json

__all__ = ["read_case_ending", "read_case_scenario", "read_override", "read_overrides", "write_traces"]

_FUNCTIONS: Final[Mapping[str, str]] = {
    "exact": "column_exact_match_similarity",
    "close": "column_close_similarity",
    "one": "column_one_similarity",
    "contains": "column_contains_similarity",
    "tool_trace": "column_tool_trace_exact_match_similarity",
    "rouge_l": "column_rouge_l_similarity",
}
"""Short names of similarities with their official ones."""


def read_override(value: Json) -> Override:
    """Read an override: a function's name, short or long, alone or with tolerances."""
    if isinstance(value, str):
        return Override(fn=_FUNCTIONS.get(value, value))
    name = value.get("fn", value.get("function"))
    return Override(fn=_FUNCTIONS.get(name, name), atol_dict=value.get("atol_dict", value.get("atol")))


def read_overrides(values: Json) -> dict[str, Override]:
    """Read the overrides of a constraint by column."""
    return {column: read_override(value) for column, value in (values or {}).items()}


def read_case_scenario(case: Mapping[str, Json]) -> Scenario:
    """Make a scenario of nothing but what is scored."""
    return Scenario(
        name="case",
        base="case",
        categories=(),
        now="1970-01-01T00:00:00Z",
        tables={},
        messages=(),
        tools=(),
        milestones=_milestones(case.get("milestones", ())),
        milestone_edges=_edges(case.get("edges")),
        minefields=_milestones(case.get("minefields", ())),
        minefield_edges=_edges(case.get("minefield_edges")),
    )


def read_case_ending(case: Mapping[str, Json]) -> Ending:
    """Write the messages down from index 0; a change `at` a message is made while that message is handled."""
    tables = Tables.start({})
    for number, message in enumerate(case["messages"]):
        for change in case.get("database_snapshots", ()):
            if change["at"] == number:
                tables.replace(_table(change["database"]), _full(change["database"], change["rows"]))
        row = {name: value for name, value in message.items() if name != "tool_trace"}
        shown = [message["sender"], message["recipient"]]
        traces = write_traces(message.get("tool_trace"))
        tables.add(SANDBOX, [{"visible_to": shown, **row, "tool_trace": traces}])
    return Ending(tables=tables)


def write_traces(traces: Json) -> list[str] | None:
    """Write traces as the texts that a table holds."""
    if traces is None:
        return None
    return [trace if isinstance(trace, str) else json.dumps(trace) for trace in traces]


def _milestones(entries: Iterable[Mapping[str, Json]]) -> tuple[Milestone, ...]:
    made = []
    for entry in entries:
        kept = entry.get("guardrails", entry.get("guardrail_database_list")) or TABLES
        left_out = entry.get("guardrail_database_exclusion_list") or ()
        constraints = tuple(_constraint(one) for one in entry["constraints"])
        guardrails = tuple(name for name in kept if name not in left_out)
        made.append(Milestone(constraints=constraints, guardrails=guardrails))
    return tuple(made)


def _constraint(data: Mapping[str, Json]) -> Constraint:
    return Constraint(
        database=_table(data["database"]),
        fn=data.get("fn", "snapshot_similarity"),
        target=tuple(data.get("target", ())),
        reference=data.get("reference"),
        overrides=read_overrides(data.get("overrides")),
        fill_to=data.get("fill_to", ""),
        extractor=data.get("extractor", ""),
    )


def _table(name: Json) -> str:
    if name not in TABLES:
        raise InputError(f"unknown table {name!r}", expected=f"one of {', '.join(TABLES)}")
    return str(name)


def _full(table: str, rows: Iterable[Mapping[str, Json]]) -> list[Row]:
    return [{column: row.get(column) for column in COLUMNS[table]} for row in rows]


def _edges(edges: Sequence[Sequence[int]] | None) -> tuple[tuple[int, int], ...] | None:
    return None if edges is None else tuple((left, right) for left, right in edges)
