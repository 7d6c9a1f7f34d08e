"""Upstream's result folders in and out, and lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.toolsandbox.importing.outputs import read_outputs
from replay.benchmarks.toolsandbox.playing.output_files import conversation, write_outputs
from replay.benchmarks.toolsandbox.records import read_ending
from replay.core.errors import InputError
from replay.core.types import Json, Task
from tests.support.sandboxes import make_scenario, make_task, play_scripted

TASK = make_task(make_scenario())
TASKS = {TASK.id: TASK}
CALL = {"calls": [{"name": "set_wifi_status", "arguments": {"on": False}}]}


def make_outcome() -> Json:
    """The outcome of a short conversation."""
    return play_scripted(TASK, [CALL, {"say": "Done."}])[0].outcome


def write_run(folder: Path, summary: Json = None) -> Path:
    """A result folder of upstream's form."""
    run = folder / "agent_Acme_user_GPT_2024"
    write_outputs([(TASK, 0, make_outcome())], run, "execution-context")
    if summary is not None:
        (run / "result_summary.json").write_text(json.dumps({"per_scenario_results": [summary]}))
    return run


def test_result_folder_round_trip(tmp_path: Path) -> None:
    """What is written is read back; the candidate is the folder's agent."""
    output = read_outputs(write_run(tmp_path).parent, TASKS)[0]
    assert ("Acme", TASK.id, make_outcome()) == (output.candidate, output.task, output.data)


def test_exception_of_the_summary_is_kept(tmp_path: Path) -> None:
    """A scenario that upstream lost stays lost."""
    lost = {"name": TASK.id, "exception_type": "KeyError", "traceback": "Traceback\nKeyError: 'fly'"}
    output = read_outputs(write_run(tmp_path, lost), TASKS)[0]
    assert {"type": "KeyError", "text": "KeyError: 'fly'"} == output.data["exception"]


def test_lines_round_trip(tmp_path: Path) -> None:
    """Lines hold whole outcomes, trials apart; a bare context will do."""
    write_outputs([(TASK, 1, make_outcome()), (TASK, 0, None)], tmp_path, "lines")
    file = tmp_path / "outcomes.jsonl"
    with file.open("a") as lines:
        lines.write(json.dumps({"id": TASK.id, "model_output": make_outcome()["context"]}) + "\n")
    assert [(0, make_outcome()), (1, make_outcome())] == [
        (o.trial, o.data) for o in read_outputs(file, TASKS)
    ]


def test_summary_tells_official_numbers(tmp_path: Path) -> None:
    """A written run has a summary with each scenario and means by category."""
    run = write_run(tmp_path)
    summary = json.loads((run / "result_summary.json").read_text())
    (result,) = summary["per_scenario_results"]
    assert (TASK.id, 1.0, 3, None) == tuple(
        result[name] for name in ("name", "similarity", "turn_count", "exception_type")
    )
    assert {"similarity": 1.0, "turn_count": 3.0} == summary["category_aggregated_results"]["ALL_CATEGORIES"]


def test_lost_scenarios_are_zero_and_thirty_turns(tmp_path: Path) -> None:
    """An episode that ended upstream's program is written as upstream writes it, and read back as lost."""
    outcome = play_scripted(TASK, [{"calls": [{"name": "fly", "arguments": {}}]}])[0].outcome
    write_outputs([(TASK, 0, outcome)], tmp_path, "execution-context")
    (result,) = json.loads((tmp_path / "result_summary.json").read_text())["per_scenario_results"]
    assert (0.0, 30, "KeyError") == tuple(
        result[name] for name in ("similarity", "turn_count", "exception_type")
    )
    assert "KeyError" == read_outputs(tmp_path, TASKS)[0].data["exception"]["type"]


def test_conversation_is_chat_messages() -> None:
    """The agent's side as chat messages, with what changed at each."""
    turns = conversation(read_ending(make_outcome(), where="t").tables)
    assert ["system", "user", "assistant", "tool", "assistant"] == [turn["role"] for turn in turns]
    assert {"name": "set_wifi_status", "arguments": '{"on": false}'} == turns[2]["tool_calls"][0]["function"]
    assert [False] == [row["wifi"] for row in turns[3]["tool_details"]["database_update"]["SETTING"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5", "a line without an id"),
        ("{", "no JSON"),
        (json.dumps({"id": "nobody", "model_output": {}}), "unknown scenario 'nobody'"),
        (json.dumps({"id": TASK.id, "model_output": "text"}), "no execution context"),
        (json.dumps({"id": TASK.id, "trial": -1}), "trial -1"),
        (json.dumps({"id": TASK.id, "model_output": {"_dbs": {"MAPS": []}}}), "unknown table 'MAPS'"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    """What cannot be read is told with its line."""
    file = tmp_path / "outcomes.jsonl"
    file.write_text(line)
    with pytest.raises(InputError, match=message):
        read_outputs(file, TASKS)


def test_one_scenario_twice_is_refused(tmp_path: Path) -> None:
    """Which of two results counts is not for us to choose."""
    line = json.dumps({"id": TASK.id, "model_output": make_outcome()})
    file = tmp_path / "outcomes.jsonl"
    file.write_text(f"{line}\n{line}\n")
    with pytest.raises(InputError, match="twice"):
        read_outputs(file, TASKS)


def test_wrong_places_and_forms_are_refused(tmp_path: Path) -> None:
    """An empty folder, an absent file and an unknown form are said."""
    with pytest.raises(InputError, match="no results"):
        read_outputs(tmp_path, {"x": Task(id="x", split="", data=None)})
    with pytest.raises(InputError, match="no such file"):
        read_outputs(tmp_path / "none", TASKS)
    with pytest.raises(InputError, match="unknown output form 'xml'"):
        write_outputs([], tmp_path, "xml")
