"""Shapes that every part of this benchmark shares: what a task holds and what an outcome is.

Tasks. `Task.id` is the scenario's upstream name, `Task.split` the kind of its tool list (one of SPLITS),
`Task.tools` the specs in upstream's frozen order. `Task.data` is one Scenario as JSON.

Outcomes. `{"context": CONTEXT, "exception": null | {"type": ..., "text": ...}}`. CONTEXT has the form of
upstream's execution_context.json, so an outside result and a run of ours are read by one reader; `exception`
is what ended upstream's program (it scores 0 and counts 30 turns then). None: nothing was produced.
"""

from __future__ import annotations

from typing import Final

import msgspec

from replay.benchmarks.toolsandbox.world.schema import TABLES
from replay.benchmarks.toolsandbox.world.tables import Tables
from replay.core.errors import InputError
from replay.core.types import Json, Record, Task

__all__ = [
    "AUGMENTATIONS",
    "BENCHMARK",
    "CATEGORIES",
    "MAX_MESSAGES",
    "SPLITS",
    "Constraint",
    "Ending",
    "Failure",
    "Milestone",
    "Override",
    "Scenario",
    "make_context",
    "make_outcome",
    "read_ending",
    "read_scenario",
]

BENCHMARK: Final = "toolsandbox"

MAX_MESSAGES: Final = 30
"""Upstream's bound of messages after the seeded ones, the same in every scenario."""

CATEGORIES: Final = (
    "SINGLE_TOOL_CALL",
    "MULTIPLE_TOOL_CALL",
    "SINGLE_USER_TURN",
    "MULTIPLE_USER_TURN",
    "STATE_DEPENDENCY",
    "CANONICALIZATION",
    "INSUFFICIENT_INFORMATION",
)

AUGMENTATIONS: Final = (
    "TOOL_DESCRIPTION_SCRAMBLED",
    "ARG_TYPE_SCRAMBLED",
    "ARG_DESCRIPTION_SCRAMBLED",
    "TOOL_NAME_SCRAMBLED",
)

SPLITS: Final = (
    "NO_DISTRACTION_TOOLS",
    "THREE_DISTRACTION_TOOLS",
    "TEN_DISTRACTION_TOOLS",
    "ALL_TOOLS_AVAILABLE",
    *AUGMENTATIONS,
)
"""The eight tool lists each base scenario comes with."""


class Override(Record, frozen=True, kw_only=True):
    """Another similarity for one column of a constraint, by upstream's function name."""

    fn: str
    """column_contains_similarity, column_close_similarity, column_exact_match_similarity, ..."""
    atol_dict: dict[str, Json] | None = None
    """Tolerance by argument or column name; the text `Infinity` stands for any number."""


class Constraint(Record, frozen=True, kw_only=True):
    """One condition of a milestone on one table."""

    database: str
    fn: str = "snapshot_similarity"
    """snapshot_, addition_, removal_, update_, guardrail_ or tool_trace_dependant_similarity."""
    target: tuple[dict[str, Json], ...] = ()
    """Rows looked for; a `tool_trace` cell is one golden trace or a list of them, as objects."""
    reference: int | None = None
    """Milestone whose snapshot is compared with; -1 is the state at the first user message."""
    overrides: dict[str, Override] = msgspec.field(default_factory=dict)
    fill_to: str = ""
    """tool_trace or content (tool_trace_dependant_similarity only)."""
    extractor: str = ""
    """Upstream's name of the function that reads values out of the reference's traces."""
    auto: bool = False
    """True for a guardrail that upstream's matcher added; kept for comparison, not for matching."""


class Milestone(Record, frozen=True, kw_only=True):
    """Something that must be (or, as a minefield, must not be) seen in a trajectory."""

    constraints: tuple[Constraint, ...]
    guardrails: tuple[str, ...] = TABLES
    """Tables that automatic guardrails may watch at this milestone."""


class Scenario(Record, frozen=True, kw_only=True):
    """One scenario with everything it starts from and is scored by; values are already resolved."""

    name: str
    base: str
    """Name of the base scenario it is a variant of; its own for a base scenario."""
    categories: tuple[str, ...]
    now: str
    """The frozen time, ISO 8601 UTC: what the targets were computed for and what the clock tools tell."""
    tables: dict[str, tuple[dict[str, Json], ...]]
    """Rows of SETTING, CONTACT, MESSAGING and REMINDER at the start."""
    messages: tuple[dict[str, Json], ...]
    """The seeded messages, one an index."""
    goal: str = ""
    """What the simulated user is told."""
    tools: tuple[str, ...]
    """Allowed tools by their true names, in the order they are shown."""
    augmentations: tuple[str, ...] = ()
    milestones: tuple[Milestone, ...] = ()
    milestone_edges: tuple[tuple[int, int], ...] | None = None
    """None is a chain 0 -> 1 -> 2 ...; an empty list is what it says."""
    minefields: tuple[Milestone, ...] = ()
    minefield_edges: tuple[tuple[int, int], ...] | None = None
    max_messages: int = MAX_MESSAGES


class Failure(Record, frozen=True, kw_only=True):
    """What ended upstream's program: the class of the exception and its text."""

    type: str
    text: str


class Ending(Record, frozen=True, kw_only=True):
    """A finished (or broken off) conversation, ready to be scored."""

    tables: Tables
    exception: Failure | None = None


def read_scenario(task: Task) -> Scenario:
    """Decode a task's data. Raises InputError with the JSON path of what does not fit."""
    try:
        return msgspec.convert(task.data, Scenario)
    except msgspec.ValidationError as error:
        raise InputError(f"unusable scenario: {error}", where=f"task {task.id}") from None


def make_context(tables: Tables, scenario: Scenario) -> dict[str, Json]:
    """Write an execution context in upstream's form (without its console)."""
    return {
        "_dbs": tables.to_json(),
        "interactive_console": None,
        "tool_allow_list": list(scenario.tools),
        "tool_deny_list": None,
        "trace_tool": True,
        "tool_augmentation_list": list(scenario.augmentations),
        "preferred_tool_backend": "DEFAULT",
    }


def make_outcome(context: Json, exception: Failure | None = None) -> dict[str, Json]:
    """Join a context and what broke the episode off to an outcome."""
    return {"context": context, "exception": msgspec.to_builtins(exception)}


def read_ending(outcome: Json, *, where: str) -> Ending:
    """Read an outcome back. Raises InputError with the JSON path of what does not fit."""
    context = outcome.get("context") if isinstance(outcome, dict) else None
    if not isinstance(context, dict) or not isinstance(context.get("_dbs"), dict):
        raise InputError("no execution context", where=f"{where}, $.context._dbs", expected="tables by name")
    try:
        exception = msgspec.convert(outcome.get("exception"), Failure | None)
    except msgspec.ValidationError as error:
        raise InputError(f"unusable exception: {error}", where=f"{where}, $.exception") from None
    return Ending(
        tables=Tables.from_json(context["_dbs"], where=f"{where}, $.context._dbs"), exception=exception
    )
