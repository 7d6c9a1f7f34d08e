"""One dumped scenario, or a variant of one, to our record of it.

Dump: `scenarios_base.json` {"scenarios": [BASE]}, `scenario_variants.json` {"variants": [VARIANT]},
`world_state.json` (rows that all worlds start with, the frozen time). A BASE may carry `tables` with rows of
its own in place of the shared ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from replay.benchmarks.toolsandbox.importing.values import resolve
from replay.benchmarks.toolsandbox.importing.wording import GOAL_MARK, demonstrations, seeded_text
from replay.benchmarks.toolsandbox.records import (
    AUGMENTATIONS,
    MAX_MESSAGES,
    SPLITS,
    Constraint,
    Milestone,
    Override,
    Scenario,
)
from replay.benchmarks.toolsandbox.tools.catalogue import TOOLS
from replay.benchmarks.toolsandbox.world.schema import COLUMNS, ROLES, TABLES
from replay.benchmarks.toolsandbox.world.tables import Row
from replay.core.determinism import FrozenClock
from replay.core.errors import InputError
from replay.core.types import Json

__all__ = ["World", "read_base", "read_variant", "split_of"]

_MAX_SEEDED: Final = 500
_FUNCTIONS: Final = (
    "snapshot_similarity",
    "addition_similarity",
    "removal_similarity",
    "update_similarity",
    "guardrail_similarity",
    "tool_trace_dependant_similarity",
)


class World:
    """What all scenarios of a dump start with."""

    def __init__(self, data: Json) -> None:
        """Read `world_state.json`. Raises InputError for a form that is not known."""
        if not isinstance(data, dict) or not isinstance(data.get("base_world_state"), dict):
            raise InputError("no base_world_state", expected="rows by table")
        self.now = str(data.get("frozen_now", ""))
        self.clock = FrozenClock(self.now)
        self.tables: dict[str, Json] = resolve(data["base_world_state"], self.clock)


def read_base(data: Json, world: World) -> Scenario:
    """Read a base scenario. Raises InputError saying what does not fit."""
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        raise InputError("a scenario without a name", expected="an object with name, messages, milestones")
    data = resolve(data, world.clock)
    messages, goal = _read_messages(data.get("messages"))
    try:
        return Scenario(
            name=data["name"],
            base=data["name"],
            categories=_texts(data, "categories"),
            now=world.now,
            tables=_read_tables(data, world),
            messages=messages,
            goal=goal,
            tools=_read_tools(data.get("tool_order_seed42", data.get("necessary_tools"))),
            milestones=_read_milestones(data.get("milestones", [])),
            milestone_edges=_edges(data.get("milestone_edges")),
            minefields=_read_milestones(data.get("minefields", [])),
            minefield_edges=_edges(data.get("minefield_edges")),
            max_messages=msgspec.convert(data.get("max_messages", MAX_MESSAGES), int),
        )
    except msgspec.ValidationError as error:
        raise InputError(f"unusable field: {error}") from None


def read_variant(data: Json, bases: Mapping[str, Scenario]) -> Scenario:
    """Read a variant: another list of tools and other augmentations of a base scenario."""
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        raise InputError("a variant without a name", expected="an object with name and tools")
    fitting = [name for name in bases if data["name"].startswith(f"{name}_")]
    base = str(data.get("base", max(fitting, key=len, default="")))
    if base not in bases:
        raise InputError(
            f"no base scenario of {data['name']!r}", expected="a name that begins with its base's"
        )
    augmentations = _texts(data, "augmentations")
    unknown = sorted(set(augmentations) - set(AUGMENTATIONS))
    if unknown:
        raise InputError(
            f"unknown augmentation {unknown[0]!r}", expected=f"some of {', '.join(AUGMENTATIONS)}"
        )
    return msgspec.structs.replace(
        bases[base],
        name=data["name"],
        categories=_texts(data, "categories"),
        tools=_read_tools(data.get("tools")),
        augmentations=augmentations,
    )


def split_of(scenario: Scenario) -> str:
    """Name the kind of a scenario's tool list: its augmentation, else how many distractors there are."""
    kinds = [kind for kind in reversed(SPLITS) if kind in (*scenario.augmentations, *scenario.categories)]
    return kinds[0] if kinds else SPLITS[0]


def _texts(data: Mapping[str, Json], name: str) -> tuple[str, ...]:
    return msgspec.convert(data.get(name, []), tuple[str, ...])


def _edges(value: Json) -> tuple[tuple[int, int], ...] | None:
    return msgspec.convert(value, tuple[tuple[int, int], ...] | None)


def _read_tools(names: Json) -> tuple[str, ...]:
    tools = msgspec.convert(names, tuple[str, ...])
    unknown = sorted(set(tools) - set(TOOLS))
    if unknown:
        raise InputError(f"unknown tool {unknown[0]!r}", expected=f"some of {', '.join(TOOLS)}")
    return tools


def _read_tables(data: Mapping[str, Json], world: World) -> dict[str, tuple[Row, ...]]:
    own = data.get("tables", {})
    given = {**world.tables, **(own if isinstance(own, dict) else {})}
    unknown = sorted(set(given) - set(TABLES))
    if unknown:
        raise InputError(f"unknown table {unknown[0]!r}", expected=f"some of {', '.join(TABLES)}")
    tables = msgspec.convert(given, dict[str, tuple[dict[str, Json], ...]])
    tables["SETTING"] = tuple({**row, **data.get("settings", {})} for row in tables.get("SETTING", ()))
    for table, rows in tables.items():
        for name in sorted({name for row in rows for name in row} - set(COLUMNS[table])):
            raise InputError(f"unknown column {name!r} of {table}", expected=", ".join(COLUMNS[table]))
    return tables


def _read_messages(data: Json) -> tuple[tuple[Row, ...], str]:
    """Lay out the seeded messages, demonstrations at their places, and find the goal."""
    entries = msgspec.convert(data, list[dict[str, Json]])
    rows: list[Row] = []
    goal = ""
    for entry in entries:
        kind = entry.get("kind") or ""
        if kind == "demonstration_block":
            rows.extend(demonstrations(min(msgspec.convert(entry.get("count"), int), _MAX_SEEDED)))
            continue
        for end in ("sender", "recipient"):
            if entry.get(end) not in ROLES:
                raise InputError(f"{end} {entry.get(end)!r}", expected=f"one of {', '.join(ROLES)}")
        content = seeded_text(kind, str(entry.get("content", "")))
        if kind == "user_goal":
            goal = content = content.removeprefix(GOAL_MARK)
        row = {"sender": entry["sender"], "recipient": entry["recipient"], "content": content}
        rows.append({**row, "visible_to": entry.get("visible_to")})
    if not rows or rows[-1]["sender"] != "USER":
        raise InputError("the seeded messages do not end with one of the user", expected="an opening line")
    return tuple(rows), goal


def _read_milestones(data: Json) -> tuple[Milestone, ...]:
    return tuple(_read_milestone(entry) for entry in msgspec.convert(data, list[dict[str, Json]]))


def _read_milestone(data: Mapping[str, Json]) -> Milestone:
    guardrails = msgspec.convert(data.get("guardrail_databases", list(TABLES)), tuple[str, ...])
    for name in guardrails:
        _check_table(name)
    constraints = msgspec.convert(data.get("constraints", []), list[dict[str, Json]])
    return Milestone(
        constraints=tuple(_read_constraint(entry) for entry in constraints), guardrails=guardrails
    )


def _read_constraint(data: Mapping[str, Json]) -> Constraint:
    table = str(data.get("database"))
    _check_table(table)
    rule = msgspec.convert(data.get("constraint", {"fn": "snapshot_similarity"}), dict[str, str])
    if rule.get("fn") not in _FUNCTIONS:
        raise InputError(f"unknown constraint {rule.get('fn')!r}", expected=f"one of {', '.join(_FUNCTIONS)}")
    target = msgspec.convert(data.get("target", []), tuple[dict[str, Json], ...])
    for name in sorted({name for row in target for name in row} - set(COLUMNS[table])):
        raise InputError(f"unknown column {name!r} of {table}", expected=", ".join(COLUMNS[table]))
    overrides = msgspec.convert(data.get("column_similarity_overrides", {}), dict[str, Override])
    return Constraint(
        database=table,
        fn=rule["fn"],
        target=target,
        reference=msgspec.convert(data.get("reference"), int | None),
        overrides=overrides,
        fill_to=rule.get("fill_to", ""),
        extractor=rule.get("extractor", ""),
        auto=bool(data.get("auto", False)),
    )


def _check_table(name: str) -> None:
    if name not in TABLES:
        raise InputError(f"unknown table {name!r}", expected=f"one of {', '.join(TABLES)}")
