"""Agents' messages in our sandbox show and leave what the public code showed and left: every oracle line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.acebench.playing.messages import is_for_execution
from replay.benchmarks.acebench.records import AceTask
from replay.benchmarks.acebench.scoring.carrying_out import carry_out
from replay.benchmarks.acebench.scoring.official_agent import check_end_state, measure_process
from replay.core.types import Json
from tests.support.ace_agents import gold_messages, make_task, read_agent_records


@pytest.fixture(scope="module")
def records(shared_data: Path) -> dict[tuple[str, str], AceTask]:
    """Agent tasks by language and id."""
    folder = shared_data / "acebench"
    if not folder.is_dir():
        pytest.skip("no upstream ACEBench data (set REPLAY_TEST_DATA)")
    return read_agent_records(folder)


@pytest.fixture(scope="module")
def lines(shared_data: Path) -> list[Json]:
    """Lines of the oracle file that the sandbox can answer."""
    file = shared_data.parent / "oracles" / "acebench.jsonl"
    if not file.is_file():
        pytest.skip("no ACEBench oracle file beside the upstream data")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["category"].startswith(("sandbox_", "routing_"))]


def test_messages_go_where_upstream_sends_them(lines: list[Json]) -> None:
    """User or execution, for every routing line."""
    routing = [line for line in lines if line["category"].startswith("routing_")]
    assert routing
    expected = {line["model_output"]: line["recipient"] for line in routing}
    found = {text: "execution" if is_for_execution(text) else "user" for text in expected}
    assert expected == found


def test_observations_are_those_of_upstream(
    lines: list[Json], records: dict[tuple[str, str], AceTask]
) -> None:
    """Texts, errors and letters, message by message, and the end state where the line has it."""
    differing = []
    for line in (line for line in lines if line["category"].startswith("sandbox_")):
        played = carry_out(make_task(records[line["language"], line["id"]]), line["model_output"])
        shown = json.loads(json.dumps(played.observations))
        state = line.get("final_state", played.result)
        if line["observations"] != shown or state != played.result:
            differing.append((line["language"], line["id"], line["note"]))
    assert differing == []


def test_reached_states_are_judged_as_upstream_judges_them(
    lines: list[Json], records: dict[tuple[str, str], AceTask]
) -> None:
    """End-to-end verdict, error type and process accuracy of what our sandbox reached."""
    for line in (line for line in lines if line["category"].startswith("sandbox_")):
        record = records[line["language"], line["id"]]
        played = carry_out(make_task(record), line["model_output"])
        error = check_end_state(played.result, record.ground_truth)
        share = 1.0 if not error else round(measure_process(played.process, record.alternatives), 3)
        assert (line["verdict"], line["error_type"], line["process_accuracy"]) == (not error, error, share)


_NO_WAY = {
    "en": {"agent_multi_step": {0, 1, 12, 13, 14, 15, 16, 17}, "agent_multi_turn": {6}},
    "zh": {"agent_multi_step": {12, 13, 14, 15, 16, 17}, "agent_multi_turn": {6}},
}
"""Tasks none of whose lists of milestones leads to the truth when it is carried out; spec section 6."""


def test_milestones_lead_to_the_truth_but_for_the_known_ones(
    records: dict[tuple[str, str], AceTask],
) -> None:
    """Eight and one English tasks and six and one Chinese ones contradict themselves; all others do not."""
    failing: dict[str, dict[str, set[int]]] = {"en": {}, "zh": {}}
    for (language, name), record in records.items():
        if check_end_state(carry_out(make_task(record), gold_messages(record)).result, record.ground_truth):
            category, _, number = name.rpartition("_")
            failing[language].setdefault(category, set()).add(int(number))
    assert failing == _NO_WAY
