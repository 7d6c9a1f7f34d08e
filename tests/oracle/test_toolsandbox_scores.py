"""ToolSandbox's evaluator against upstream's own numbers: similarities, relations, matching, baselines."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.benchmarks.toolsandbox.importing.importer import ToolSandboxImporter
from replay.benchmarks.toolsandbox.records import Constraint, Scenario, read_scenario
from replay.benchmarks.toolsandbox.scoring.baselines import make_baseline
from replay.benchmarks.toolsandbox.scoring.columns import CellScorer
from replay.benchmarks.toolsandbox.scoring.crashes import OfficialCrashError
from replay.benchmarks.toolsandbox.scoring.evaluation import evaluate_ending
from replay.benchmarks.toolsandbox.scoring.graph import build_graph
from replay.benchmarks.toolsandbox.scoring.relations import RelationScorer
from replay.benchmarks.toolsandbox.scoring.rows import compare_rows
from replay.benchmarks.toolsandbox.scoring.rules import OFFICIAL, STRICT
from tests.support.data import find_shared_data
from tests.support.toolsandbox_rows import (
    FUNCTIONS,
    make_ending,
    make_override,
    make_overrides,
    make_scenario,
    with_trace_texts,
)

SHARED = find_shared_data()
SOURCE = SHARED / "toolsandbox" if SHARED else Path("nowhere")
ORACLE = SHARED.parent / "oracles" / "toolsandbox.jsonl" if SHARED else Path("nowhere")

needs_data = pytest.mark.skipif(not SOURCE.is_dir(), reason="no ToolSandbox data beside the checkout")

TOLERANCE = 1e-6

KNOWN_EXCEPTIONS: dict[str, str] = {}
"""Oracle row to the entry of the difference table that explains it; there is none."""


def rows() -> list[Any]:
    """Rows of the oracle file that need no conversation to be played."""
    if not ORACLE.is_file():
        return [pytest.param({}, id="none", marks=pytest.mark.skip(reason="no ToolSandbox oracle file"))]
    found = [json.loads(line) for line in ORACLE.read_text().splitlines()]
    return [pytest.param(row, id=row["id"]) for row in found if row["kind"] in ANSWERS]


def column_similarity(given: Any) -> Any:
    """Similarity of each cell of a column."""
    override = make_override({"fn": FUNCTIONS[given["function"]], "atol_dict": given["atol"]})
    cells = given["column_values"]
    if given["function"] == "tool_trace":
        cells = [with_trace_texts(cell) for cell in cells]
    scorer = CellScorer(OFFICIAL)
    return [
        scorer.score("SANDBOX", "c", cell=cell, target=given["target"], override=override) for cell in cells
    ]


def snapshot_similarity(given: Any) -> Any:
    """Similarity of a table and target rows."""
    return compare_rows(
        given["snapshot_rows"],
        given["target_rows"],
        table=given["database"],
        overrides=make_overrides(given.get("overrides")),
        cells=CellScorer(OFFICIAL),
    )


def relation(name: str) -> Callable[[Any], Any]:
    """Similarity of a table, its reference and target rows."""

    def score(given: Any) -> Any:
        constraint = Constraint(
            database=given.get("database", "CONTACT"),
            fn=name,
            target=tuple(given.get("target_rows", ())),
            reference=0,
            overrides=make_overrides(given.get("overrides")),
        )
        return RelationScorer().score(constraint, given["snapshot_rows"], given["reference_rows"])

    return score


def tool_trace_dependant_similarity(given: Any) -> Any:
    """Similarity of a message and a target filled from the traces of another."""
    constraint = Constraint(
        database="SANDBOX",
        fn="tool_trace_dependant_similarity",
        target=tuple(given["target_rows"]),
        reference=0,
        overrides=make_overrides(given.get("overrides")),
        fill_to=given["fill_to"],
        extractor=given["extractor"],
    )
    messages = [
        {**message, "tool_trace": with_trace_texts(message.get("tool_trace"))}
        for message in (given["snapshot"], given["reference"])
    ]
    return RelationScorer().score(constraint, messages[:1], messages[1:])


def trajectory_evaluation(given: Any) -> Any:
    """All numbers of a conversation."""
    scenario = make_scenario(
        given["milestones"],
        given["edges"],
        given["minefields"],
        minefield_edges=given.get("minefield_edges"),
    )
    ending = make_ending(given["messages"], given["database_snapshots"])
    found = evaluate_ending(scenario, ending, OFFICIAL)
    if found.crash:
        raise OfficialCrashError(*found.crash.split(": ", maxsplit=1))
    return {
        "milestone_similarity": found.milestone_similarity,
        "minefield_similarity": found.minefield_similarity,
        "similarity": found.similarity,
        "turn_count": found.turn_count,
        "mapping": {str(number): list(place) for number, place in found.milestones.items()},
        "auto_guardrails": [sorted([table, at] for table, at in one) for one in found.guardrails],
    }


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "column_similarity": column_similarity,
    "snapshot_similarity": snapshot_similarity,
    "tool_trace_dependant_similarity": tool_trace_dependant_similarity,
    "trajectory_evaluation": trajectory_evaluation,
    **{
        name: relation(name)
        for name in (
            "addition_similarity",
            "removal_similarity",
            "update_similarity",
            "guardrail_similarity",
        )
    },
}


def is_near(found: Any, expected: Any) -> bool:
    """Compare two answers, numbers within the tolerance."""
    if isinstance(expected, dict):
        return found.keys() >= expected.keys() and all(is_near(found[k], v) for k, v in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(is_near, found, expected))
    if isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        return math.isclose(found, expected, rel_tol=0, abs_tol=TOLERANCE)
    return bool(found == expected)


@pytest.mark.parametrize("row", rows())
def test_official_numbers_come_again(row: Any) -> None:
    """Each row of the oracle file gives upstream's number, null or exception."""
    answer = ANSWERS[row["kind"]]
    if "expected_error" in row:
        with pytest.raises(OfficialCrashError) as caught:
            answer(row["input"])
        assert (row["expected_error"], row["error_text"]) == (caught.value.kind, caught.value.text)
        return
    expected = row["expected"]
    if row["kind"] == "trajectory_evaluation":
        expected = {**expected, "auto_guardrails": [sorted(one) for one in expected["auto_guardrails"]]}
        assert expected["mapping"].keys() == answer(row["input"])["mapping"].keys()
    assert is_near(answer(row["input"]), expected), (expected, answer(row["input"]))


# ---- the 129 base scenarios ----------------------------------------------------------------------------

PUBLISHED = {
    "do-nothing": {"ALL": 0.2099, "INSUFFICIENT_INFORMATION": 0.9668, "STATE_DEPENDENCY": 0.0},
    "last-sentence": {
        "ALL": 0.3807,
        "SINGLE_TOOL_CALL": 0.3889,
        "SINGLE_USER_TURN": 0.2294,
        "MULTIPLE_TOOL_CALL": 0.1674,
        "STATE_DEPENDENCY": 0.1614,
        "MULTIPLE_USER_TURN": 0.1562,
        "CANONICALIZATION": 0.0994,
        "INSUFFICIENT_INFORMATION": 1.0,
    },
}
"""Baselines that section 11 of the specification states, measured with upstream's evaluator."""


@functools.cache
def scenarios() -> tuple[Scenario, ...]:
    """The base scenarios."""
    result = ToolSandboxImporter().load(SOURCE, {"variants": "leave-out"})
    return tuple(read_scenario(task) for task in result.tasks)


@needs_data
@pytest.mark.parametrize("name", PUBLISHED)
def test_baselines_are_the_published_ones(name: str) -> None:
    """An agent that does nothing, and one that only says the last sentence, score as published."""
    found: dict[str, list[float]] = {}
    for scenario in scenarios():
        score = evaluate_ending(scenario, make_baseline(name, scenario), OFFICIAL).similarity
        for category in ("ALL", *scenario.categories):
            found.setdefault(category, []).append(score)
    means = {category: round(sum(found[category]) / len(found[category]), 4) for category in PUBLISHED[name]}
    assert PUBLISHED[name] == means


@needs_data
def test_a_liar_earns_nothing_strictly() -> None:
    """Strictly, saying the last sentence without a call earns nothing where something was to be done."""
    needing = [s for s in scenarios() if len(s.milestones) > 1]
    scores = [evaluate_ending(s, make_baseline("last-sentence", s), STRICT).similarity for s in needing]
    assert [0.0] * len(needing) == scores


@needs_data
def test_automatic_guardrails_are_those_of_the_dump() -> None:
    """The guardrails that upstream's matcher added to the 129 scenarios come again, 724 in all."""
    total = 0
    for scenario in scenarios():
        graph = build_graph(scenario.milestones, scenario.milestone_edges, OFFICIAL)
        for number, milestone in enumerate(scenario.milestones):
            added = {(one.database, one.reference) for one in milestone.constraints if one.auto}
            assert added == set(graph.nodes[number].guardrails), scenario.name
            total += len(added)
    assert total == 724
