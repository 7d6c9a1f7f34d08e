"""Outputs of another harness, found by their content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.benchmark import StableToolBench
from replay.benchmarks.stabletoolbench.importing.outputs import outcome_of, read_outputs
from replay.benchmarks.stabletoolbench.scoring.outcomes import Points, read_outcome
from replay.core.errors import InputError
from replay.core.types import Json, Output, Task
from tests.support.verdicts import make_task
from tests.unit.benchmarks.stabletoolbench.answers import make_answer, make_outcome

TASKS = {task: make_task(task, query=f"Query {task}?") for task in ("1", "2")}
STATUSES = {"0": "AnswerStatus.Solved", "1": "AnswerStatus.Unsure"}


def write(path: Path, value: Json) -> Path:
    """Write JSON (or text as it stands) and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def converted(task: str = "1") -> Json:
    """One record of a converted file."""
    return {"query": f"Query {task}?", "available_tools": [], "answer": make_answer()}


def pass_rate(task: str = "1", **statuses: str) -> Json:
    """One record of a pass-rate file."""
    return {"query": f"Query {task}?", "is_solved": statuses or STATUSES}


def pass_rate_table(statuses: str) -> str:
    """A pass-rate table with one row."""
    return f"query\tavailable_tools\tmodel\tquery_id\tis_solved\nQuery 1?\t[]\tmodel\t1\t{statuses}\n"


def raw() -> Json:
    """A raw answer without an end."""
    return {
        "answer_generation": {"query": "Query 1?", "function": [], "valid_data": False, "final_answer": ""},
        "trys": [{"chain": []}],
    }


def read(path: Path, tasks: dict[str, Task] | None = None) -> list[tuple[str, str, int, str]]:
    """Candidate, task, trial and form of everything under a path."""
    outputs = read_outputs(path, TASKS if tasks is None else tasks)
    return [(output.candidate, output.task, output.trial, output.format) for output in outputs]


def test_folder_of_group_files(tmp_path: Path) -> None:
    """The folder of converted group files names the candidate."""
    write(tmp_path / "model" / "G1_instruction.json", {"2": converted("2"), "1": converted()})
    expected = [("model", "1", 0, "converted"), ("model", "2", 0, "converted")]
    assert expected == read(tmp_path) == read(tmp_path / "model")


def test_one_file(tmp_path: Path) -> None:
    """A single file is read without looking at its neighbours."""
    path = write(tmp_path / "model" / "G1_instruction.json", {"1": converted()})
    write(tmp_path / "model" / "notes.json", "{")
    assert [("model", "1", 0, "converted")] == read(path)


def test_tree_of_raw_answers(tmp_path: Path) -> None:
    """Raw answers lie in one folder a group; the method is in the file name."""
    write(tmp_path / "model" / "G1_instruction" / "1_CoT@1.json", raw())
    assert [("model", "1", 0, "raw")] == read(tmp_path)


def test_raw_answers_are_converted() -> None:
    """The outcome of a raw answer is what judges read, by the method of its file."""
    output = Output(candidate="m", task="1", format="raw", data=raw(), source="m/g/1_CoT@3.json")
    outcome = outcome_of(output, TASKS["1"])
    assert outcome["raw"] == raw()
    assert outcome["converted"]["answer"]["method"] == "CoT@3"


def test_raw_answer_without_a_file_name() -> None:
    """Without a name the answer's shape tells a chain from a tree."""
    outcome = outcome_of(Output(candidate="m", task="1", format="raw", data=raw()), TASKS["1"])
    assert outcome["converted"]["answer"]["method"] == "CoT@1"


def test_pass_rate_file(tmp_path: Path) -> None:
    """Statuses become the outcome, by run."""
    write(tmp_path / "model" / "G1_instruction_model.json", {"1": pass_rate()})
    (output,) = read_outputs(tmp_path, TASKS)
    assert ("model", "pass-rate") == (output.candidate, output.format)
    assert {"statuses": {"0": "Solved", "1": "Unsure"}} == outcome_of(output, TASKS["1"])


def test_pass_rate_table(tmp_path: Path) -> None:
    """The tab-separated form says the same; the model column names the candidate."""
    write(tmp_path / "x.csv", pass_rate_table("{0: 'AnswerStatus.Solved'}"))
    (output,) = read_outputs(tmp_path, TASKS)
    assert ("model", {"0": "Solved"}) == (output.candidate, output.data)


def test_table_beside_its_json_file(tmp_path: Path) -> None:
    """A table that repeats the JSON file adds nothing."""
    write(
        tmp_path / "model" / "a.csv", pass_rate_table("{0: 'AnswerStatus.Solved', 1: 'AnswerStatus.Unsure'}")
    )
    write(tmp_path / "model" / "a.json", {"1": pass_rate()})
    assert [("model", "1", 0, "pass-rate")] == read(tmp_path)


def test_preference_file(tmp_path: Path) -> None:
    """The reference comes first in the file name; points become the outcome."""
    record = {"cot": 1, "dfs": 2, "round_0": "complete", "round_1": "complete", "round_2": "complete"}
    write(tmp_path / "G1_instruction_cot_dfs.json", {"1": record})
    (output,) = read_outputs(tmp_path, TASKS)
    read_back = read_outcome(outcome_of(output, TASKS["1"]))
    assert read_back is not None
    assert output.candidate == "dfs"
    assert {"cot": Points(reference=1, candidate=2)} == read_back.preferences


def test_preference_table_beside_its_json_file(tmp_path: Path) -> None:
    """The table's winner agrees with the points; the points are kept."""
    record = {"cot": 1, "dfs": 2, "round_0": "complete", "round_1": "complete", "round_2": "complete"}
    write(tmp_path / "G1_instruction_cot_dfs.json", {"1": record})
    write(
        tmp_path / "G1_instruction_cot_dfs.csv",
        "query_id\tpreference_label\tref_model\toutput_model\n1\t2\tcot\tdfs\n",
    )
    (output,) = read_outputs(tmp_path, TASKS)
    assert (1, 2) == (output.data["cot"]["reference"], output.data["cot"]["candidate"])


def test_points_against_several_references(tmp_path: Path) -> None:
    """One candidate may have been compared with several; the points stand side by side."""
    record = {"dfs": 2, "round_0": "complete", "round_1": "complete"}
    for reference in ("cot", "gpt"):
        write(tmp_path / f"G1_instruction_{reference}_dfs.json", {"1": {reference: 0, **record}})
    (output,) = read_outputs(tmp_path, TASKS)
    assert {"cot", "gpt"} == set(output.data)


def test_methods_of_one_folder_are_candidates(tmp_path: Path) -> None:
    """Raw answers of two methods in one folder are two candidates, as upstream's converter splits them."""
    write(tmp_path / "model" / "G1_instruction" / "1_CoT@1.json", raw())
    write(tmp_path / "model" / "G1_instruction" / "1_DFS_woFilter_w2.json", raw())
    assert ["model.CoT@1", "model.DFS_woFilter_w2"] == [candidate for candidate, *_ in read(tmp_path)]


def test_ids_that_a_group_leads(tmp_path: Path) -> None:
    """ToolBench's ids start anew in every group; the task's id then begins with the group."""
    write(tmp_path / "model" / "G1_query.json", {"1": converted()})
    tasks = {"G1_query-1": make_task("G1_query-1", split="G1_query", query="Query 1?")}
    assert [("model", "G1_query-1", 0, "converted")] == read(tmp_path, tasks)


def test_white_space_of_a_query_is_nothing(tmp_path: Path) -> None:
    """Harnesses do not keep white space; a task is not refused for it."""
    write(tmp_path / "model" / "G1_instruction.json", {"1": {**converted(), "query": " Query  1?\n"}})
    assert [("model", "1", 0, "converted")] == read(tmp_path)


def test_completeness_table(tmp_path: Path) -> None:
    """Rows have no id; they are found by their query."""
    write(tmp_path / "model" / "fac.csv", "query,final_answer,evaluation,prompt\nQuery 2?,a,Solved,p\n")
    (output,) = read_outputs(tmp_path, TASKS)
    assert ("model", "2", "Solved") == (output.candidate, output.task, output.data["reply"])


def test_parts_of_one_answer_are_joined(tmp_path: Path) -> None:
    """Answer and statuses of one candidate make one output."""
    write(tmp_path / "converted" / "model" / "G1_instruction.json", {"1": converted()})
    write(tmp_path / "results" / "model" / "G1_instruction_model.json", {"1": pass_rate()})
    (output,) = read_outputs(tmp_path, TASKS)
    outcome = outcome_of(output, TASKS["1"])
    assert ("joined", {"converted", "statuses"}) == (output.format, set(outcome))


def test_trials_come_back(tmp_path: Path) -> None:
    """What write_outputs wrote is read with its trials."""
    bench, task = StableToolBench(), make_task(query="q")
    outcomes = [(task, 0, make_outcome()), (task, 1, make_outcome(""))]
    bench.write_outputs(outcomes, tmp_path / "model", "converted")
    outputs = bench.read_outputs(tmp_path / "model", {task.id: task})
    assert [("model", 0), ("model", 1)] == [(output.candidate, output.trial) for output in outputs]
    assert outputs[1].data["answer"]["final_answer"] == ""


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    """Licences and logs beside the outputs are no outputs."""
    write(tmp_path / "model" / "G1_instruction.json", {"1": converted()})
    write(tmp_path / "LICENSE", "text")
    write(tmp_path / "run.log", "{")
    assert [("model", "1", 0, "converted")] == read(tmp_path)


@pytest.mark.parametrize(
    ("message", "value"),
    [
        (
            r"unknown id '9' \(m/f\.json, record 9\); expected one of the 2 tasks",
            {"9": converted()},
        ),
        ("expected one complete JSON value", '{"1": {"query": "Query 1?", "avail'),
        ("a name that occurs twice in one object", '{"1": %s, "1": %s}' % ((json.dumps(converted()),) * 2)),
        (
            r"unknown status 'AnswerStatus\.Perhaps'.*AnswerStatus\.Solved",
            {"1": pass_rate(**{"0": "AnswerStatus.Perhaps"})},
        ),
        ("neither answers nor results.*raw or converted answers", {"1": {"answer": 1}}),
        ("neither answers nor results", {}),
        ("neither answers nor results", []),
        (r"empty file \(m/f\.json\)", ""),
        ("NaN", '{"1": NaN}'),
        ("another query than task 1's: 'Query 2", {"1": converted("2")}),
        ("answer is a text", {"1": {**converted(), "answer": "noon"}}),
    ],
)
def test_bad_files_are_one_clear_error(tmp_path: Path, message: str, value: Json) -> None:
    """What is wrong, in which file and record, and what was expected."""
    write(tmp_path / "m" / "f.json", value)
    with pytest.raises(InputError, match=message):
        read(tmp_path)


def test_repeated_id_names_both_files(tmp_path: Path) -> None:
    """One candidate answers one task once."""
    write(tmp_path / "a" / "model" / "G1_instruction.json", {"1": converted()})
    write(tmp_path / "b" / "model" / "G1_instruction.json", {"1": converted()})
    with pytest.raises(
        InputError, match=r"id '1' is given twice for model.*also in a/model/G1_instruction\.json"
    ):
        read(tmp_path)


def test_table_that_contradicts_its_json_file(tmp_path: Path) -> None:
    """Two records of one verdict must agree."""
    write(tmp_path / "model" / "a.csv", pass_rate_table("{0: 'AnswerStatus.Unsolved'}"))
    write(tmp_path / "model" / "a.json", {"1": pass_rate()})
    with pytest.raises(InputError, match="table and JSON file disagree on model"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("message", "rows"),
    [
        ("0 tasks have the query 'Query 3", "Query 3?,a,Solved,p\n"),
        ("a row of 2 fields under 4 columns", "Query 1?,a\n"),
        ("not a table", 'Query 1?,"a,Solved,p\n'),
    ],
)
def test_bad_tables(tmp_path: Path, message: str, rows: str) -> None:
    """A table with an unknown query or a cut row is named."""
    write(tmp_path / "model" / "fac.csv", f"query,final_answer,evaluation,prompt\n{rows}")
    with pytest.raises(InputError, match=message):
        read(tmp_path)


def test_query_of_two_tasks_is_ambiguous(tmp_path: Path) -> None:
    """A row without an id cannot stand for two tasks."""
    write(tmp_path / "model" / "fac.csv", "query,final_answer,evaluation,prompt\nSame?,a,Solved,p\n")
    tasks = {task: make_task(task, query="Same?") for task in ("1", "2")}
    with pytest.raises(InputError, match="2 tasks have the query 'Same"):
        read(tmp_path, tasks)


def test_table_of_another_kind(tmp_path: Path) -> None:
    """A table with other columns is no result file."""
    write(tmp_path / "x.csv", "a,b\n1,2\n")
    with pytest.raises(InputError, match="a table of another kind"):
        read(tmp_path)


def test_folder_without_outputs(tmp_path: Path) -> None:
    """A wrong folder says what would have been an output."""
    write(tmp_path / "readme.txt", "text")
    with pytest.raises(
        InputError, match=r"nothing to score: no record in any file.*raw or converted answers"
    ):
        read(tmp_path)


def test_absent_path(tmp_path: Path) -> None:
    """A path that is not there is named."""
    with pytest.raises(InputError, match=r"no such file or folder \(nowhere\)"):
        read(tmp_path / "nowhere")


def test_unknown_form_of_a_stored_output() -> None:
    """An archive of a later program may hold other forms; they are named."""
    output = Output(candidate="m", task="1", format="hologram", data={})
    with pytest.raises(
        InputError, match=r"unknown output form 'hologram' \(task 1\); expected one of converted"
    ):
        outcome_of(output, TASKS["1"])
