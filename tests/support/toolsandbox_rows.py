"""Rows of the ToolSandbox oracle file, and the like, as the records that the scoring reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replay.benchmarks.toolsandbox.records import Constraint, Ending, Milestone, Override, Scenario
from replay.benchmarks.toolsandbox.world.schema import COLUMNS, SANDBOX
from replay.benchmarks.toolsandbox.world.tables import Tables

__all__ = [
    "FUNCTIONS",
    "make_constraint",
    "make_ending",
    "make_milestones",
    "make_override",
    "make_overrides",
    "make_scenario",
    "make_tables",
    "with_trace_texts",
]

FUNCTIONS = {
    "exact": "column_exact_match_similarity",
    "close": "column_close_similarity",
    "one": "column_one_similarity",
    "contains": "column_contains_similarity",
    "tool_trace": "column_tool_trace_exact_match_similarity",
    "rouge_l": "column_rouge_l_similarity",
}
"""Short names of similarities in oracle rows, with their official ones."""


def make_override(value: Any) -> Override:
    """Read an override: a function's name, short or long, alone or with tolerances."""
    if isinstance(value, str):
        return Override(fn=FUNCTIONS.get(value, value))
    name = value.get("fn", value.get("function"))
    return Override(fn=FUNCTIONS.get(name, name), atol_dict=value.get("atol_dict", value.get("atol")))


def make_overrides(values: Mapping[str, Any] | None) -> dict[str, Override]:
    """Read the overrides of a constraint by column."""
    return {column: make_override(value) for column, value in (values or {}).items()}


def make_constraint(data: Mapping[str, Any]) -> Constraint:
    """Read a constraint of an oracle row."""
    return Constraint(
        database=data["database"],
        fn=data.get("fn", "snapshot_similarity"),
        target=tuple(data.get("target", ())),
        reference=data.get("reference"),
        overrides=make_overrides(data.get("overrides")),
        fill_to=data.get("fill_to", ""),
        extractor=data.get("extractor", ""),
    )


def make_milestones(data: Iterable[Mapping[str, Any]]) -> tuple[Milestone, ...]:
    """Read milestones or minefields of an oracle row."""
    made = []
    for entry in data:
        constraints = tuple(make_constraint(one) for one in entry["constraints"])
        tables = entry.get("guardrails", entry.get("guardrail_database_list"))
        left_out = entry.get("guardrail_database_exclusion_list") or ()
        milestone = Milestone(constraints=constraints)
        kept = milestone.guardrails if tables is None else tables
        made.append(
            Milestone(constraints=constraints, guardrails=tuple(t for t in kept if t not in left_out))
        )
    return tuple(made)


def make_scenario(
    milestones: Iterable[Mapping[str, Any]] = (),
    edges: Sequence[Sequence[int]] | None = None,
    minefields: Iterable[Mapping[str, Any]] = (),
    *,
    minefield_edges: Sequence[Sequence[int]] | None = None,
) -> Scenario:
    """Make a scenario of nothing but what is scored."""
    return Scenario(
        name="made",
        base="made",
        categories=(),
        now="2024-06-14T12:00:00Z",
        tables={},
        messages=(),
        tools=(),
        milestones=make_milestones(milestones),
        milestone_edges=_pairs(edges),
        minefields=make_milestones(minefields),
        minefield_edges=_pairs(minefield_edges),
    )


def make_tables(messages: Iterable[Mapping[str, Any]], changes: Iterable[Mapping[str, Any]] = ()) -> Tables:
    """Write messages down, from index 0; a change `at` a message happens while that message is handled.

    The handled message is the next one to be written down, as in the oracle rows.
    """
    tables = Tables.start({})
    waiting = list(changes)
    for number, message in enumerate(messages):
        for change in waiting:
            if change["at"] == number:
                tables.replace(change["database"], _full(change["database"], change["rows"]))
        row = {name: value for name, value in message.items() if name != "tool_trace"}
        traces = message.get("tool_trace")
        shown = [message["sender"], message["recipient"]]
        tables.add(SANDBOX, [{"visible_to": shown, **row, "tool_trace": with_trace_texts(traces)}])
    return tables


def make_ending(messages: Iterable[Mapping[str, Any]], changes: Iterable[Mapping[str, Any]] = ()) -> Ending:
    """Finish a conversation."""
    return Ending(tables=make_tables(messages, changes))


def with_trace_texts(traces: Any) -> list[str] | None:
    """Write traces as the texts that a table holds."""
    if traces is None:
        return None
    return [trace if isinstance(trace, str) else json.dumps(trace) for trace in traces]


def _full(table: str, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{column: row.get(column) for column in COLUMNS[table]} for row in rows]


def _pairs(edges: Sequence[Sequence[int]] | None) -> tuple[tuple[int, int], ...] | None:
    return None if edges is None else tuple((left, right) for left, right in edges)
