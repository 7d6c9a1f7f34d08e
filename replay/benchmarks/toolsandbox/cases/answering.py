"""The answer to one case by its kind: a similarity, a conversation's numbers, a whole scripted scenario."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from replay.benchmarks.toolsandbox.cases.reading import (
    read_case_ending,
    read_case_scenario,
    read_override,
    read_overrides,
    write_traces,
)
from replay.benchmarks.toolsandbox.playing.rehearsal import rehearse
from replay.benchmarks.toolsandbox.records import Constraint, read_ending, read_scenario
from replay.benchmarks.toolsandbox.scoring.columns import CellScorer
from replay.benchmarks.toolsandbox.scoring.crashes import OfficialCrashError
from replay.benchmarks.toolsandbox.scoring.evaluation import Evaluation, evaluate_ending
from replay.benchmarks.toolsandbox.scoring.relations import RelationScorer
from replay.benchmarks.toolsandbox.scoring.rows import compare_rows
from replay.benchmarks.toolsandbox.scoring.rules import OFFICIAL
from replay.benchmarks.toolsandbox.world.schema import AGENT, ENVIRONMENT, INDEX, SANDBOX
from replay.benchmarks.toolsandbox.world.tables import Row
from replay.core.errors import InputError
from replay.core.types import Json, Task

__all__ = ["KINDS", "answer_case"]

Tasks = Mapping[str, Task]


def answer_case(kind: str, given: Mapping[str, Json], tasks: Tasks) -> Json:
    """Answer one case officially.

    Errors:  OfficialCrashError where upstream's program raises; InputError for what a case may not hold.
    """
    return _ANSWERS[kind](given, tasks)


def _column(given: Mapping[str, Json], _: Tasks) -> Json:
    override = read_override({"fn": given["function"], "atol_dict": given.get("atol")})
    cells = given["column_values"]
    if given["function"] == "tool_trace":
        cells = [write_traces(cell) for cell in cells]
    scorer = CellScorer(OFFICIAL)
    return [
        scorer.score(SANDBOX, "c", cell=cell, target=given["target"], override=override) for cell in cells
    ]


def _snapshot(given: Mapping[str, Json], _: Tasks) -> Json:
    return compare_rows(
        given["snapshot_rows"],
        given["target_rows"],
        table=given["database"],
        overrides=read_overrides(given.get("overrides")),
        cells=CellScorer(OFFICIAL),
    )


def _relation(name: str) -> Callable[[Mapping[str, Json], Tasks], Json]:
    def score(given: Mapping[str, Json], _: Tasks) -> Json:
        constraint = Constraint(
            database=given.get("database", "CONTACT"),
            fn=name,
            target=tuple(given.get("target_rows", ())),
            reference=0,
            overrides=read_overrides(given.get("overrides")),
        )
        return RelationScorer().score(constraint, given["snapshot_rows"], given["reference_rows"])

    return score


def _trace_dependant(given: Mapping[str, Json], _: Tasks) -> Json:
    constraint = Constraint(
        database=SANDBOX,
        fn="tool_trace_dependant_similarity",
        target=tuple(given["target_rows"]),
        reference=0,
        overrides=read_overrides(given.get("overrides")),
        fill_to=given["fill_to"],
        extractor=given["extractor"],
    )
    now, before = (
        [{**message, "tool_trace": write_traces(message.get("tool_trace"))}]
        for message in (given["snapshot"], given["reference"])
    )
    return RelationScorer().score(constraint, now, before)


def _trajectory(given: Mapping[str, Json], _: Tasks) -> Json:
    found = evaluate_ending(read_case_scenario(given), read_case_ending(given), OFFICIAL)
    return {
        **_numbers(found),
        "mapping": _places(found.milestones),
        "auto_guardrails": [sorted([table, at] for table, at in one) for one in found.guardrails],
    }


def _scenario(given: Mapping[str, Json], tasks: Tasks) -> Json:
    """Play a scripted scenario and tell everything that upstream's run shows of it."""
    task = tasks.get(given["scenario"])
    if task is None:
        raise InputError(f"unknown scenario {given['scenario']!r}", expected="a task of the archive")
    played = rehearse(
        task,
        agent=given["agent_script"],
        user=given["user_script"],
        fixtures=given.get("api_fixtures", ()),
    )
    scenario = read_scenario(task)
    ending = read_ending(played.end.outcome, where=task.id)
    found = evaluate_ending(scenario, ending, OFFICIAL)
    first = len(scenario.messages) - 1
    return {
        **_numbers(found),
        "milestone_mapping": _places(found.milestones),
        "minefield_mapping": _places(found.minefields),
        "api_requests": list(played.api_requests),
        "messages_after_setup": [_told(row) for row in ending.tables.messages() if row[INDEX] >= first],
    }


def _numbers(found: Evaluation) -> dict[str, Json]:
    if found.crash:
        kind, _, text = found.crash.partition(": ")
        raise OfficialCrashError(kind, text)
    if found.refused:
        raise InputError(found.refused)
    return {
        "similarity": found.similarity,
        "milestone_similarity": found.milestone_similarity,
        "minefield_similarity": found.minefield_similarity,
        "turn_count": found.turn_count,
    }


def _places(placed: Mapping[int, tuple[int, float]]) -> dict[str, Json]:
    return {str(number): list(place) for number, place in placed.items()}


def _told(row: Row) -> dict[str, Json]:
    """A message as cases show it: of a call the name of its function."""
    is_call = (row["sender"], row["recipient"]) == (AGENT, ENVIRONMENT)
    return {
        "index": row[INDEX],
        "sender": row["sender"],
        "recipient": row["recipient"],
        "content": row["openai_function_name"] if is_call else row["content"],
        "exception": row["tool_call_exception"],
        "tool_trace": [json.loads(trace) for trace in row["tool_trace"] or ()],
    }


_ANSWERS: Final[Mapping[str, Callable[[Mapping[str, Json], Tasks], Json]]] = {
    "column_similarity": _column,
    "snapshot_similarity": _snapshot,
    "tool_trace_dependant_similarity": _trace_dependant,
    "trajectory_evaluation": _trajectory,
    "scenario_replay": _scenario,
    **{
        name: _relation(name)
        for name in (
            "addition_similarity",
            "removal_similarity",
            "update_similarity",
            "guardrail_similarity",
        )
    },
}

KINDS: Final = tuple(sorted(_ANSWERS))
"""Kinds of cases."""
