"""Outputs of other harnesses: upstream's result files, lines, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from replay.benchmarks.metatool.benchmark import MetaTool
from replay.benchmarks.metatool.importing.outputs import read_outputs
from replay.core.errors import InputError
from replay.core.types import Json, Output, Task
from tests.unit.benchmarks.metatool.builders import (
    TOOLS,
    make_awareness,
    make_multi,
    make_reliability,
    make_similar,
    make_task,
    write_json,
)

LISTED = "Pick:\n" + "".join(f"{n}. tool name: {t}, tool description: d\n" for n, t in enumerate(TOOLS, 1))


def make_tasks() -> Mapping[str, Task]:
    """One task of each kind; two of them ask the same question."""
    samples = {
        "similar-0": make_similar("TideTable", ("TideTable", *TOOLS), query="When is low water?"),
        "reliability-0": make_reliability(),
        "multi-0": make_multi(),
        "yes-0": make_awareness("yes"),
        "no-0": make_awareness("no"),
    }
    return {name: make_task(sample, name) for name, sample in samples.items()}


def read(path: Path) -> dict[str, Output]:
    """Read outputs, by task."""
    return {output.task: output for output in read_outputs(path, make_tasks())}


def write_lines(path: Path, *lines: Json) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_lines_are_read(tmp_path: Path) -> None:
    """The candidate is the file, unless a line says another."""
    path = write_lines(tmp_path / "mine.jsonl", {"id": "multi-0", "model_output": "x", "extra": 1})
    (output,) = read(path).values()
    assert ("mine", "multi-0", 0, {"answer": "x"}) == (
        output.candidate,
        output.task,
        output.trial,
        output.data,
    )


def test_result_files_are_read_by_query_tool_and_list(tmp_path: Path) -> None:
    """The same query and tool are in two subtasks; the list tells them apart, and its order is kept."""
    low = {"query": "When is  low water?", "tool": "TideTable"}
    longer = LISTED + "9. tool name: TideTable, tool description: d\n"
    write_json(
        tmp_path / "vicuna" / "selection.json",
        [
            {**low, "action_prompt": LISTED, "action_res": "None."},
            {**low, "action_prompt": longer, "action_res": "TideTable"},
            {"query": "Rain and news?", "tool": ["NewsTool", "SkyTool"], "action_res": "both"},
        ],
    )
    write_json(
        tmp_path / "vicuna" / "Task1.json",
        [
            {"query": "Will it rain?", "label": "negative", "res": "No"},
            {"query": "Will it rain?", "label": "positive", "tool": "", "res": "Yes"},
        ],
    )
    found = read(tmp_path / "vicuna")
    assert {
        "similar-0": "TideTable",
        "reliability-0": "None.",
        "multi-0": "both",
        "yes-0": "Yes",
        "no-0": "No",
    } == {name: output.data["answer"] for name, output in found.items()}
    assert {"vicuna"} == {output.candidate for output in found.values()}
    assert "TideTable" == found["similar-0"].data["order"][-1]


def test_the_file_name_tells_the_subtask(tmp_path: Path) -> None:
    """Where a record brings no list."""
    record = {"query": "When is low water?", "tool": "TideTable", "action_res": "x"}
    assert ["reliability-0"] == list(read(write_json(tmp_path / "Task2-Subtask3.json", [record])))
    assert ["similar-0"] == list(read(write_json(tmp_path / "Task2-Subtask1.json", [record])))


@pytest.mark.parametrize("form", ["lines", "results"])
def test_what_is_written_is_read_again(tmp_path: Path, form: str) -> None:
    """Both forms, trials included."""
    tasks = make_tasks()
    outcomes = [
        (task, trial, {"answer": f"{name} \u00e9\u6c34 {trial}"})
        for name, task in tasks.items()
        for trial in (0, 2)
    ]
    MetaTool().write_outputs(outcomes, tmp_path / "gold", form, candidate="gold")
    outputs = read_outputs(tmp_path / "gold", tasks)
    assert {"gold"} == {output.candidate for output in outputs}
    found = {(o.task, o.trial): o.data for o in outputs}
    assert {(task.id, trial): outcome for task, trial, outcome in outcomes} == found


def test_an_unknown_form_is_not_written(tmp_path: Path) -> None:
    """Nor is a folder made."""
    with pytest.raises(InputError, match="lines, results"):
        MetaTool().write_outputs([], tmp_path / "out", "csv")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{"id": "nowhere", "model_output": ""}], "unknown id 'nowhere'.*line 1"),
        ([{"id": "multi-0", "model_output": ""}] * 2, "'multi-0' is given twice.*line 2; also .*line 1"),
        ([{"id": "multi-0"}], "missing required field `model_output`.*line 1"),
        ([{"id": 7, "model_output": ""}], r"Expected `str`, got `int` - at `\$.id`"),
        ([{"id": "multi-0", "model_output": ["x"]}], "got `array`"),
        ([{"id": "multi-0", "model_output": "", "trial": -1}], "trial -1"),
        ([7], "Expected `object`, got `int`"),
        ([], "nothing to score"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, lines: list[Json], said: str) -> None:
    """With line and reason; nothing is scored."""
    with pytest.raises(InputError, match=said):
        read(write_lines(tmp_path / "x.jsonl", *lines))


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([{"query": "Unasked?", "tool": "SkyTool", "action_res": ""}], "fits no task.*record 0"),
        ([{"query": "Rain and news?", "tool": "SkyTool", "action_res": ""}], "fits no task"),
        ([{"query": "Rain and news?", "action_res": ""}] * 2, "is given twice.*record 1"),
        ([{"query": "Rain and news?"}], 'neither "res" nor "action_res"'),
        ([{"query": "Rain and news?", "action_res": 7}], "got `int`.*record 0"),
        ([[]], "got `array`.*record 0"),
    ],
)
def test_wrong_records_are_named(tmp_path: Path, records: list[Json], said: str) -> None:
    """With record and reason."""
    with pytest.raises(InputError, match=said):
        read(write_json(tmp_path / "x.json", records))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a JSON value"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": "multi-0", "model_output": ' + "[" * 100_000, "nested too deeply"),
        ('{"id": "multi-0", "model_output": ' + "9" * 5000 + "}", "not a JSON value|got `int`"),
    ],
)
def test_broken_json_is_named(tmp_path: Path, text: str, said: str) -> None:
    """In one line, whatever it is."""
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read(path)


def test_all_faults_are_one_error(tmp_path: Path) -> None:
    """Counted, the first ten listed."""
    lines = [{"id": f"nowhere-{number}", "model_output": ""} for number in range(25)]
    with pytest.raises(InputError, match=r"^25 records cannot be scored: .*and 15 more"):
        read(write_lines(tmp_path / "x.jsonl", *lines))


def test_lone_surrogates_of_a_model_are_replaced(tmp_path: Path) -> None:
    """They can be written as escapes, but not kept."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": "multi-0", "model_output": "a\\ud800b\\ud83d\\ude02"}', encoding="utf-8")
    assert "a\ufffdb\U0001f602" == read(path)["multi-0"].data["answer"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With what was expected."""
    with pytest.raises(InputError, match=r"no such file or folder \(x.json\)"):
        read(tmp_path / "x.json")
