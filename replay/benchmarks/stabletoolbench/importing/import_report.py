"""Counts of what was imported, as the import report shows them: queries, functions, names, parameters."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from replay.benchmarks.stabletoolbench.importing.specs import (
    drops_parameters,
    has_colliding_parameters,
    parameters_of,
)
from replay.benchmarks.stabletoolbench.importing.tasks import PlannedTask
from replay.benchmarks.stabletoolbench.naming import (
    FUNCTION_NAME_LIMIT,
    full_function_name,
    old_tool_identity,
    parameter_name,
    standardize,
)
from replay.core.types import Json

__all__ = ["count_functions", "count_queries", "moved_identities"]

_FOR: Final = "_for_"


def count_queries(planned: Sequence[PlannedTask]) -> dict[str, Json]:
    """Count tasks by group and name those with each flag."""
    flagged: dict[str, list[str]] = defaultdict(list)
    for task in planned:
        for flag in task.flags:
            flagged[flag].append(task.id)
    groups = Counter(task.query.split for task in planned)
    return {
        "total": len(planned),
        "by_group": dict(sorted(groups.items())),
        "flagged": {flag: len(ids) for flag, ids in sorted(flagged.items())},
        "flagged_ids": {flag: sorted(ids) for flag, ids in sorted(flagged.items())},
    }


def count_functions(planned: Sequence[PlannedTask]) -> dict[str, Json]:
    """Count function entries, the APIs behind them, and what upstream's name rules do to them.

    Shape:   `entries` and everything about parameters counts an API once for each query that lists it;
             `distinct` counts it once.
    """
    entries = [entry for task in planned for entry in _entries(task)]
    lengths = [len(full_function_name(entry["api_name"], entry["tool_name"])) for entry in entries]
    parameters = [parameter for entry in entries for parameter, _ in parameters_of(entry)]
    renamed = sum(1 for item in parameters if parameter_name(item["name"]) != item["name"])
    types = Counter(item.get("type", "") for item in parameters)
    return {
        "entries": len(entries),
        "by_group": _by_group(planned),
        "distinct": _distinct(entries),
        "truncated_names": sum(1 for length in lengths if length > FUNCTION_NAME_LIMIT),
        "longest_name": max(lengths, default=0),
        "entries_with_dropped_parameters": _count(entries, drops_parameters),
        "entries_with_colliding_parameters": _count(entries, has_colliding_parameters),
        "entries_with_template_response": _count(entries, lambda entry: "template_response" in entry),
        "parameters": len(parameters),
        "renamed_parameters": renamed,
        "parameter_types": dict(sorted(types.items())),
    }


def moved_identities(planned: Iterable[PlannedTask]) -> frozenset[str]:
    """Identities under which the API-name rule before 2024-09-10 put APIs that have another name today."""
    found = set()
    for task in planned:
        for spec in task.specs:
            old = old_tool_identity(*_names(spec.extra))
            if old != spec.identity:
                found.add(old)
    return frozenset(found)


def _distinct(entries: Sequence[Json]) -> dict[str, Json]:
    apis = {_names(entry) for entry in entries}
    tools = {(category, tool) for category, tool, _ in apis}
    old: dict[str, list[str]] = defaultdict(list)
    for names in sorted(apis):
        old[old_tool_identity(*names)].append(names[2])
    for_tools = sorted(tool for tool in tools if _FOR in standardize(tool[1]))
    return {
        "categories": len({category for category, _ in tools}),
        "tools": len(tools),
        "apis": len(apis),
        "apis_with_for": sum(1 for _, _, api in apis if _FOR in parameter_name(api)),
        "old_rule_collisions": {name: found for name, found in sorted(old.items()) if len(found) > 1},
        "tools_with_for": [f"{category}/{tool}" for category, tool in for_tools],
        "apis_of_tools_with_for": sum(1 for _, tool, _ in apis if _FOR in standardize(tool)),
    }


def _by_group(planned: Sequence[PlannedTask]) -> dict[str, Json]:
    grouped: dict[str, list[Json]] = defaultdict(list)
    for task in planned:
        grouped[task.query.split].extend(_entries(task))
    return {
        group: {
            "entries": len(entries),
            "tools": len({_names(entry)[:2] for entry in entries}),
            "apis": len({_names(entry) for entry in entries}),
        }
        for group, entries in sorted(grouped.items())
    }


def _entries(task: PlannedTask) -> list[Json]:
    """Entries as the query has them; names-only forms with what documents add."""
    return [spec.extra for spec in task.specs]


def _names(entry: Json) -> tuple[str, str, str]:
    return entry["category_name"], entry["tool_name"], entry["api_name"]


def _count(entries: Iterable[Json], holds: Callable[[Json], bool]) -> int:
    return sum(1 for entry in entries if holds(entry))
