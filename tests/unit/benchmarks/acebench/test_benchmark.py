"""ACEBench behind the common interface: settings, verdicts, differences, single cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.acebench.benchmark import AceBench
from replay.benchmarks.acebench.differences import DIFFERENCES, SCORE_DIFFERENCES, cause_of
from replay.benchmarks.acebench.records import CATEGORIES
from replay.benchmarks.acebench.scoring.line_cases import AceBenchCases
from replay.core.errors import InputError
from replay.core.protocols import Settings
from replay.core.types import Json, Task
from tests.support.ace_agents import make_record, make_task
from tests.support.ace_tables import make_call_task, make_tool

_TOOL = make_tool(x="string")


def _tasks() -> dict[str, Task]:
    single = make_call_task({"book": {"x": "a"}}, _TOOL)
    turns = [
        make_call_task(
            {"book": {"x": "a"}}, _TOOL, category="normal_multi_turn_user_switch", number=f"4_{turn}"
        )
        for turn in range(2)
    ]
    agent = make_task(
        make_record(
            "agent_multi_turn",
            ground_truth=[{"BaseApi": {"wifi": True, "logged_in": True}}, {"MessageApi": {}}],
            mile_stone=["[turn_on_wifi()]"],
        )
    )
    return {task.id: task for task in (single, *turns, agent)}


def _score(path: Path, *rows: Json) -> list[Json]:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    found = AceBenchCases().score_cases(path, _tasks())
    assert found is not None
    return list(found)


def test_evaluation_asks_no_judge() -> None:
    """Every verdict is there at once."""
    task = make_call_task({"book": {"x": "a"}}, _TOOL)
    bench = AceBench()
    play = bench.evaluate(task, {"output": "[book(x='a')]"}, trial=2, settings=Settings(), reference=None)
    with pytest.raises(StopIteration) as stopped:
        next(play)
    (verdict,) = stopped.value.value
    assert (1.0, 1.0, 2) == (verdict.compat.value, verdict.strict.value, verdict.trial)


def test_tasks_without_an_outcome_have_a_reason_for_every_metric() -> None:
    """Two for agents, one for others."""
    bench, tasks = AceBench(), _tasks()
    counts = {name: len(bench.unscored(task, trial=0, reason="tool-miss")) for name, task in tasks.items()}
    assert {2 if "agent" in name else 1 for name in tasks} == set(counts.values())
    assert counts["en/agent_multi_turn_0"] == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(rules="loose"), r"unusable rules = 'loose'.*compat or strict"),
        (Settings(reference="gpt"), r"unusable reference"),
        (Settings(judge_runs=0), r"unusable judge_runs = 0"),
        (Settings(options={"max_mesages": 3}), r"unknown option 'max_mesages'.*did you mean max_messages"),
        (Settings(options=[1]), r"unusable options"),
        (Settings(protocol="fc"), r"unknown protocol 'fc'"),
    ],
)
def test_settings_that_are_unknown_or_out_of_range_are_refused(settings: Settings, message: str) -> None:
    """With what is allowed."""
    with pytest.raises(InputError, match=message):
        AceBench().check_settings(settings)


def test_filled_settings_are_filled_once() -> None:
    """Defaults written out and left out are one run."""
    bench = AceBench()
    filled = bench.check_settings(Settings())
    assert filled == bench.check_settings(filled)


def test_differences_have_one_entry_a_name() -> None:
    """And every cause has one."""
    names = [difference.id for difference in DIFFERENCES]
    assert len(names) == len(set(names))
    assert {difference.id for difference in SCORE_DIFFERENCES} <= set(names)
    errors = ["", "lack_args", "type_error", "value_error", "wrong_output_format", "function_mismatch", "new"]
    causes = {
        cause_of(category, official, strict, several=several, flags=flags)
        for category in CATEGORIES
        for official in errors
        for strict in errors
        for several in (False, True)
        for flags in ((), ("truth-empty-value:x",))
    }
    assert causes <= set(names)


def test_lines_are_scored_one_by_one(tmp_path: Path) -> None:
    """Single outputs, sessions, agents, messages to carry out, routing; expectations are compared."""
    one = {"category": "normal_atom_list", "id": "normal_atom_list_0", "language": "en"}
    session = {"category": "normal_multi_turn_user_switch", "id": "normal_multi_turn_user_switch_4"}
    agent = {"category": "agent_multi_turn", "id": "agent_multi_turn_0", "language": "en"}
    lines = _score(
        tmp_path / "cases.jsonl",
        {**one, "model_output": "[book(x='a')]", "verdict": True, "error_type": ""},
        {**one, "model_output": "[book(x='not a')]", "verdict": False, "error_type": ""},
        {**session, "model_output": ["[book(x='a')]", "[book(x='b')]"]},
        {**session, "model_output": ["[book(x='a')]"]},
        {**agent, "model_output": {"result": [], "process": ["[turn_on_wifi()]"]}, "process_accuracy": 1.0},
        {**agent, "category": "sandbox_agent_multi_turn", "model_output": ["[turn_on_wifi()]"]},
        {
            "category": "routing_agent_multi_turn",
            "id": "",
            "model_output": "[a()]",
            "verdict": True,
            "recipient": "user",
        },
        {**one, "id": "normal_atom_list_9", "model_output": "x"},
        {"category": "other", "id": "x", "model_output": "x"},
    )
    assert [True, False] == [line["agrees"] for line in lines[:2]]
    assert (True, False) == (lines[1]["verdict"], lines[1]["strict"]["verdict"])
    assert (False, "value_error:string", 0.5) == (
        lines[2]["verdict"],
        lines[2]["error_type"],
        lines[2]["process_accuracy"],
    )
    assert "not one output for each of 2 turns" in lines[3]["error"]
    assert (False, "wrong number of class", 1.0) == (
        lines[4]["verdict"],
        lines[4]["error_type"],
        lines[4]["process_accuracy"],
    )
    assert lines[5]["observations"] == [[{"status": True, "message": "Wi-Fi has been turned on"}]]
    assert (lines[6]["recipient"], lines[6]["agrees"]) == ("execution", False)
    assert "unknown id 'en/normal_atom_list_9'" in lines[7]["error"]
    assert "no case" in lines[8]["error"]


def test_a_file_of_another_form_holds_no_cases(tmp_path: Path) -> None:
    """Official results are read as outputs of a candidate."""
    path = tmp_path / "data_normal_atom_list_result.json"
    path.write_text('{"id": "normal_atom_list_0", "result": "x"}\n', encoding="utf-8")
    assert AceBenchCases().score_cases(path, _tasks()) is None
