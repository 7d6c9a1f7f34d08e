"""Scripted real scenarios, carried out by our world and scored: upstream's numbers, from the record alone."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import pytest

from replay.benchmarks.toolsandbox.importing.importer import ToolSandboxImporter
from replay.benchmarks.toolsandbox.playing.rehearsal import rehearse
from replay.benchmarks.toolsandbox.records import Ending, Scenario, read_ending, read_scenario
from replay.benchmarks.toolsandbox.scoring.evaluation import Evaluation, evaluate_ending
from replay.benchmarks.toolsandbox.scoring.rules import OFFICIAL, STRICT
from replay.core.types import Task
from tests.support.data import find_shared_data

SHARED = find_shared_data()
SOURCE = SHARED / "toolsandbox" if SHARED else Path("nowhere")
ORACLE = SHARED.parent / "oracles" / "toolsandbox.jsonl" if SHARED else Path("nowhere")

needs_data = pytest.mark.skipif(
    not (SOURCE.is_dir() and ORACLE.is_file()), reason="no ToolSandbox data beside the checkout"
)

EXACT = 1e-12
"""The full digits of upstream's numbers come again, not only the promised six."""


def rows() -> list[Any]:
    """Scripted scenarios of the oracle file."""
    if not (SOURCE.is_dir() and ORACLE.is_file()):
        return [pytest.param({}, id="none", marks=pytest.mark.skip(reason="no ToolSandbox oracle file"))]
    found = [json.loads(line) for line in ORACLE.read_text().splitlines()]
    return [pytest.param(row, id=row["id"]) for row in found if row["kind"] == "scenario_replay"]


@functools.cache
def tasks() -> dict[str, Task]:
    """Base scenarios by name."""
    result = ToolSandboxImporter().load(SOURCE, {"variants": "leave-out"})
    return {task.id: task for task in result.tasks}


def play(name: str, agent: Any, user: Any, fixtures: Any = ()) -> tuple[Scenario, Ending]:
    """Carry a script out in a base scenario, write its record as text and read that back."""
    task = tasks()[name]
    rehearsal = rehearse(task, agent=agent, user=user, fixtures=fixtures)
    record = json.loads(json.dumps(rehearsal.end.outcome))
    return read_scenario(task), read_ending(record, where=name)


def calls(tool: str, /, **arguments: Any) -> dict[str, Any]:
    """One turn of the agent with one call."""
    return {"calls": [{"name": tool, "arguments": arguments}]}


def score(name: str, *turns: dict[str, Any]) -> tuple[Evaluation, Evaluation]:
    """Play the agent's turns in a base scenario; the user ends after the first sentence."""
    scenario, ending = play(name, turns, [{"end": True}])
    return evaluate_ending(scenario, ending, OFFICIAL), evaluate_ending(scenario, ending, STRICT)


@pytest.mark.parametrize("row", rows())
def test_scripted_scenarios_score_as_upstream(row: Any) -> None:
    """Similarities, mapping and turn count of each scripted scenario are upstream's, read from its record."""
    given, expected = row["input"], row["expected"]
    scenario, ending = play(
        given["scenario"], given["agent_script"], given["user_script"], given["api_fixtures"]
    )
    found = evaluate_ending(scenario, ending, OFFICIAL)
    for name in ("similarity", "milestone_similarity", "minefield_similarity"):
        assert math.isclose(expected[name], getattr(found, name), rel_tol=0, abs_tol=EXACT), name
    assert expected["turn_count"] == found.turn_count
    for name, places in (
        ("milestone_mapping", found.milestones),
        ("minefield_mapping", found.minefields),
    ):
        wanted = {int(number): tuple(place) for number, place in expected[name].items()}
        assert {number: at for number, (at, _) in wanted.items()} == {n: at for n, (at, _) in places.items()}
        assert all(math.isclose(s, places[n][1], abs_tol=1e-6) for n, (_, s) in wanted.items()), name


SEND = {"phone_number": "+12453344098", "content": "How's the new album coming along."}


@needs_data
def test_a_dependent_batch_shows_its_race() -> None:
    """Enabling the service and sending in one batch scores 0.6224993172017348, in seven turns (acc-03)."""
    both = [
        {"name": "set_cellular_service_status", "arguments": {"on": True}},
        {"name": "send_message_with_phone_number", "arguments": SEND},
    ]
    official, _ = score(
        "send_message_with_contact_content_cellular_off",
        calls("search_contacts", name="Fredrik Thordendal"),
        {"calls": both},
        {"say": "Sent."},
    )
    assert math.isclose(official.similarity, 0.6224993172017348, abs_tol=EXACT)
    assert official.turn_count == 7
    assert {0: 20, 1: 17, 2: 20, 3: 22} == {number: at for number, (at, _) in official.milestones.items()}


PHONE = "+12453344098"
FREDRIK = "9e137f06-916a-5310-8174-cf0b7e9f7054"
JOHN = "a22e1984-6c6c-530c-8831-c3ea3b5138e7"
REMOVED = {"say": f"Phone number {PHONE} has been removed from your contact"}


@needs_data
def test_a_right_removal_scores_one_on_both_sides() -> None:
    """Removing the right contact scores 1.0 officially and strictly (acc-07)."""
    official, strict = score(
        "remove_contact_by_phone",
        calls("search_contacts", phone_number=PHONE),
        calls("remove_contact", person_id=FREDRIK),
        REMOVED,
    )
    assert (1.0, 1.0) == (official.similarity, strict.similarity)


@needs_data
def test_a_further_wrong_removal_goes_unseen_officially_only() -> None:
    """A second, wrong removal still scores 1.0 officially (acc-08); strictly it costs the last milestone."""
    official, strict = score(
        "remove_contact_by_phone",
        calls("search_contacts", phone_number=PHONE),
        calls("remove_contact", person_id=FREDRIK),
        calls("remove_contact", person_id=JOHN),
        REMOVED,
    )
    assert official.similarity == 1.0
    assert math.isclose(strict.similarity, 2 / 3)


@needs_data
def test_both_turn_rules_of_the_published_trajectory() -> None:
    """acc-02 counts 9 turns by upstream's code, 12 by its README, 10 with the opening line."""
    official, _ = score(
        "send_message_with_contact_content_cellular_off",
        calls("search_contacts", name="Fredrik Thordendal"),
        calls("send_message_with_phone_number", **SEND),
        calls("set_cellular_service_status", on=True),
        calls("send_message_with_phone_number", **SEND),
        {"say": f'Message has been successfully sent to Fredrik Thordendal asking: "{SEND["content"]}"'},
    )
    assert math.isclose(official.similarity, 0.9706467684812784, abs_tol=EXACT)
    assert (9, 12, 10) == (official.turns.compat, official.turns.readme, official.turns.strict)
