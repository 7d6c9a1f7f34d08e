"""Official result files and lines of ids are read and written; every id that does not fit is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.acebench.importing.outputs import outcome_of, read_outputs, write_outputs
from replay.core.errors import InputError
from replay.core.types import Json, Output, Task
from tests.support.ace_agents import make_record, make_task
from tests.support.ace_tables import make_call_task

_TASKS = {
    task.id: task
    for task in (
        make_call_task({"f": {}}, number="2"),
        make_call_task({"f": {}}, number="10"),
        make_call_task({"f": {}}, number="2", language="zh"),
        make_task(make_record("agent_multi_step", mile_stone=["[a()]"])),
    )
}


def _write(path: Path, *rows: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _official(folder: Path, *rows: Json, language: str = "en", model: str = "m") -> Path:
    _write(folder / f"result_{language}" / model / "data_normal_atom_list_result.json", *rows)
    return folder


def test_official_folders_tell_language_and_candidate(tmp_path: Path) -> None:
    """Score files beside the results are left alone."""
    _official(tmp_path, {"id": "normal_atom_list_2", "result": "[f()]"}, model="org/model")
    _official(tmp_path, {"id": "normal_atom_list_2", "result": None}, language="zh", model="org/model")
    _write(tmp_path / "result_en" / "org/model" / "data_normal_atom_list_score.json", {"accuracy": 1})
    found = read_outputs(tmp_path, _TASKS)
    assert [("org/model", "en/normal_atom_list_2"), ("org/model", "zh/normal_atom_list_2")] == [
        (output.candidate, output.task) for output in found
    ]
    assert [{"output": "[f()]"}, {"output": None}] == [output.data for output in found]


def test_agents_have_a_state_and_a_process(tmp_path: Path) -> None:
    """In the official form, and as lines of single cases have it."""
    state = [{"BaseApi": {"wifi": True}}]
    official = {"id": "agent_multi_step_0", "result": state, "process": ["[a()]"]}
    line = {"id": "en/agent_multi_step_0", "model_output": {"result": state, "process": ["[a()]"]}}
    for number, row in enumerate((official, line)):
        found = read_outputs(_write(tmp_path / f"{number}.jsonl", row), _TASKS)
        assert [{"result": state, "process": ["[a()]"]}] == [output.data for output in found]


def test_lines_may_name_trial_candidate_and_language(tmp_path: Path) -> None:
    """What the line says goes before what its folder says."""
    row = {"id": "normal_atom_list_2", "language": "zh", "model_output": "x", "trial": 3, "candidate": "c"}
    (output,) = read_outputs(_write(tmp_path / "o.jsonl", row), _TASKS)
    assert ("c", "zh/normal_atom_list_2", 3) == (output.candidate, output.task, output.trial)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (({"id": "normal_atom_list_99", "result": "x"},), r"unknown id 'normal_atom_list_99' .*line 1"),
        (
            ({"id": "normal_atom_list_10", "result": "x"}, {"id": "normal_atom_list_10", "result": "y"}),
            r"'en/normal_atom_list_10' twice .*line 2, first in .*line 1",
        ),
        (({"id": "normal_atom_list_2", "result": "x"},), r"there in two languages"),
        (({"id": "normal_atom_list_10"},), r"no result .*line 1"),
        (({"result": "x"},), r"no record with an id .*line 1"),
        (({"id": "normal_atom_list_10", "result": "x", "trial": -1},), r"trial -1"),
        (("{",), r"not one JSON value"),
        (('{"id": "normal_atom_list_10", "result": "\\ud800"}',), r"lone surrogate"),
        (("",), r"nothing to score"),
    ],
)
def test_records_that_do_not_fit_are_named(tmp_path: Path, rows: tuple[Json, ...], message: str) -> None:
    """And nothing is scored."""
    with pytest.raises(InputError, match=message):
        read_outputs(_write(tmp_path / "o.jsonl", *rows), _TASKS)


def test_several_faults_are_told_at_once(tmp_path: Path) -> None:
    """Up to ten by name, the others counted."""
    rows = [{"id": f"unknown_{number}", "result": "x"} for number in range(15)]
    with pytest.raises(InputError, match=r"15 faults in the data.*unknown_0.*and 5 more"):
        read_outputs(_write(tmp_path / "o.jsonl", *rows), _TASKS)


def test_what_all_faults_have_in_common_is_expected_once(tmp_path: Path) -> None:
    """A file whose language nobody tells is wrong in every line for one reason."""
    rows = [{"id": "normal_atom_list_2", "result": "x"}, {"id": "normal_atom_list_2", "result": "y"}]
    with pytest.raises(InputError, match=r"2 faults.*expected a folder result_en or result_zh around"):
        read_outputs(_write(tmp_path / "o.jsonl", *rows), _TASKS)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """One file a category and language, lines in the order of their numbers, further trials apart."""
    state = {"result": [], "process": ["[a()]"]}
    outcomes: list[tuple[Task, int, Json]] = [
        (_TASKS["en/normal_atom_list_10"], 0, {"output": "十"}),
        (_TASKS["en/normal_atom_list_2"], 0, {"output": "[f()]"}),
        (_TASKS["zh/normal_atom_list_2"], 1, {"output": ""}),
        (_TASKS["en/agent_multi_step_0"], 0, state),
        (_TASKS["en/normal_atom_list_2"], 2, None),
    ]
    files = write_outputs(outcomes, tmp_path / "out", "result")
    assert [
        "result_en/data_agent_multi_step_result.json",
        "result_en/data_normal_atom_list_result.json",
        "trial-1/result_zh/data_normal_atom_list_result.json",
    ] == [file.relative_to(tmp_path / "out").as_posix() for file in files]
    assert ["normal_atom_list_2", "normal_atom_list_10"] == [
        json.loads(line)["id"] for line in files[1].read_text(encoding="utf-8").splitlines()
    ]
    found = {(output.task, output.trial): output.data for output in read_outputs(tmp_path / "out", _TASKS)}
    assert {(task.id, trial): outcome for task, trial, outcome in outcomes if outcome} == found


def test_unknown_forms_are_refused(tmp_path: Path) -> None:
    """By name."""
    with pytest.raises(InputError, match="unknown output form 'xlsx'"):
        write_outputs([], tmp_path, "xlsx")
    with pytest.raises(InputError, match="unknown output form 'raw'"):
        outcome_of(Output(candidate="c", task="t", format="raw", data=None), next(iter(_TASKS.values())))
