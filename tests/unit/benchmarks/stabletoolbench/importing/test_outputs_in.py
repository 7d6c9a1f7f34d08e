"""Answers and result files of an import: joined with tasks, filed as verdicts, refused with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.evidence import sopr_request
from replay.core.errors import InputError
from replay.core.protocols import ImportResult
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.folders import (
    QUERY,
    QUERY_FILE,
    load,
    make_converted,
    make_query,
    make_raw,
    write_tree,
)

_RAW = "answer/one/G1_instruction/7_CoT@1.json"
_CONVERTED = "model_predictions_converted/{}/G1_instruction.json"
_STATUSES_FILE = "pass_rate_results/one/G1_instruction_one.json"
_PREFERENCE = "preference_results/G1_instruction_one_two.json"
_FAC = "fac_results/one/G1_instruction.csv"


def _load(root: Path, files: dict[str, Json]) -> ImportResult:
    return load(write_tree(root, {QUERY_FILE: [make_query()], **files}))


def _pass_rate(*labels: str, task: str = "7") -> dict[str, Json]:
    statuses = {str(run): f"AnswerStatus.{label}" for run, label in enumerate(labels)}
    return {task: {"query": QUERY, "tool_names": [], "is_solved": statuses}}


def _preference(one: int, two: int, rounds: int = 3) -> dict[str, Json]:
    return {"7": {"one": one, "two": two, **{f"round_{n}": "complete" for n in range(rounds)}}}


def _both() -> dict[str, Json]:
    return {_CONVERTED.format(name): {"7": make_converted(name)} for name in ("one", "two")}


def _fac(*rows: str) -> str:
    return "\n".join(["query,final_answer,evaluation,prompt", *rows]) + "\n"


def test_raw_and_converted_answers_are_outputs(tmp_path: Path) -> None:
    """Candidate, task and form name an output; its data is the file's own object."""
    raw, converted = make_raw(), make_converted()
    result = _load(tmp_path, {_RAW: raw, _CONVERTED.format("one"): {"7": converted}})
    found = [(o.candidate, o.task, o.format, o.data) for o in result.outputs]
    assert found == [("one", "7", "converted", converted), ("one", "7", "raw", raw)]


def test_two_runs_in_one_folder_are_two_candidates(tmp_path: Path) -> None:
    """A folder with CoT and DFS answers holds two candidates, told apart by method."""
    result = _load(tmp_path, {_RAW: make_raw(), _RAW.replace("CoT@1", "CoT@3"): make_raw()})
    assert [output.candidate for output in result.outputs] == ["one.CoT@1", "one.CoT@3"]


def test_statuses_become_verdicts_of_the_converted_answer(tmp_path: Path) -> None:
    """One verdict for each run, filed under what the judge was shown."""
    converted = make_converted()
    files = {_CONVERTED.format("one"): {"7": converted}, _STATUSES_FILE: _pass_rate("Solved", "Unsure")}
    verdicts = sorted(_load(tmp_path, files).verdicts, key=lambda item: item.request.run)
    assert [item.verdict.label for item in verdicts] == ["Solved", "Unsure"]
    assert verdicts[1].request == sopr_request(QUERY, converted["answer"], 1)


def test_statuses_without_their_answer_stay_an_output(tmp_path: Path) -> None:
    """Without the converted answer there is nothing to file a verdict under; this is counted."""
    result = _load(tmp_path, {_STATUSES_FILE: _pass_rate("Solved")})
    assert result.verdicts == ()
    assert result.outputs[0].data["0"] == "Solved"
    assert result.report["outputs"]["counts"]["pass-rate-without-answer"] == 1


def test_equal_evidence_with_two_labels_is_a_conflict(tmp_path: Path) -> None:
    """Two equal answers judged differently: the first verdict stays, both are listed."""
    other = _STATUSES_FILE.replace("one", "two")
    files = {_CONVERTED.format(name): {"7": make_converted()} for name in ("one", "two")}
    result = _load(tmp_path, {**files, _STATUSES_FILE: _pass_rate("Solved"), other: _pass_rate("Unsolved")})
    (conflict,) = result.report["verdicts"]["conflicts"]
    assert (conflict["kept"][1], conflict["left_out"][1]) == ("Solved", "Unsolved")


def test_a_table_agrees_with_its_json_file(tmp_path: Path) -> None:
    """The tab-separated form repeats the statuses and adds nothing."""
    table = f"query\tquery_id\tis_solved\n{QUERY}\t7\t{{0: 'AnswerStatus.Solved'}}\n"
    files = {_STATUSES_FILE: _pass_rate("Solved"), _STATUSES_FILE.replace(".json", ".csv"): table}
    assert [output.source for output in _load(tmp_path, files).outputs] == [_STATUSES_FILE]


def test_a_table_that_disagrees_is_a_fault(tmp_path: Path) -> None:
    """Two files that say different things of one answer are not resolved in silence."""
    table = f"query\tquery_id\tis_solved\n{QUERY}\t7\t{{0: 'AnswerStatus.Unsolved'}}\n"
    files = {_STATUSES_FILE: _pass_rate("Solved"), _STATUSES_FILE.replace(".json", ".csv"): table}
    with pytest.raises(InputError, match=r"statuses other than in pass_rate_results/.*\.json"):
        _load(tmp_path, files)


def test_a_table_alone_gives_outputs(tmp_path: Path) -> None:
    """Where only the table is left its statuses count."""
    table = (
        f"query\tquery_id\tis_solved\n{QUERY}\t7\t{{1: 'AnswerStatus.Solved', 0: 'AnswerStatus.Unsure'}}\n"
    )
    (output,) = _load(tmp_path, {_STATUSES_FILE.replace(".json", ".csv"): table}).outputs
    assert (output.data["0"], output.data["1"]) == ("Unsure", "Solved")


def test_unanimous_rounds_are_known(tmp_path: Path) -> None:
    """Where one side took every round each round's winner is known."""
    result = _load(tmp_path, {**_both(), _PREFERENCE: _preference(0, 3)})
    assert [(v.verdict.label, v.verdict.reason) for v in result.verdicts] == [("candidate", "")] * 3


def test_split_rounds_keep_their_totals_and_say_what_is_unknown(tmp_path: Path) -> None:
    """Totals are upstream's; the verdict says that the order of rounds is not known."""
    verdicts = _load(tmp_path, {**_both(), _PREFERENCE: _preference(1, 2)}).verdicts
    assert sorted(v.verdict.label for v in verdicts) == ["candidate", "candidate", "reference"]
    assert {v.verdict.reason for v in verdicts} == {
        "the file holds totals only; which round this was is not known"
    }


def test_points_that_do_not_add_up_give_no_verdicts(tmp_path: Path) -> None:
    """Rounds counted again on resume leave more points than rounds; the output stays, verdicts do not."""
    result = _load(tmp_path, {**_both(), _PREFERENCE: _preference(2, 3)})
    assert result.verdicts == ()
    assert result.report["outputs"]["counts"]["preference-points-do-not-add-up"] == 1


def test_several_references_are_side_by_side(tmp_path: Path) -> None:
    """A candidate compared with two references has the points of both."""
    other = {"7": {"three": 1, "two": 0, "round_0": "complete"}}
    files = {_PREFERENCE: _preference(0, 3), _PREFERENCE.replace("one", "three"): other}
    (output,) = _load(tmp_path, files).outputs
    assert sorted(output.data) == ["one", "three"]


def test_a_preference_table_must_name_the_winner(tmp_path: Path) -> None:
    """The table's label is held against the points."""
    table = "query_id\tpreference_label\tref_model\toutput_model\n7\t1\tone\ttwo\n"
    files = {_PREFERENCE: _preference(0, 3), _PREFERENCE.replace(".json", ".csv"): table}
    with pytest.raises(InputError, match="label reference against points 0 : 3"):
        _load(tmp_path, files)


@pytest.mark.parametrize(
    ("expected", "reply"),
    [("solved", "Status: Solved"), ("unsolved", "Unsolved, as nothing is said"), ("error", "no idea")],
)
def test_completeness_rows_are_found_by_query(tmp_path: Path, expected: str, reply: str) -> None:
    """Rows have no id; the reply is kept whole and its stated status is the label."""
    result = _load(tmp_path, {_FAC: _fac(f'{QUERY},Yes,"{reply}",p')})
    assert result.outputs[0].data == {"reply": reply, "final_answer": "Yes", "prompt": "p"}
    assert (result.verdicts[0].verdict.label, result.verdicts[0].verdict.raw) == (expected, reply)


def test_a_completeness_row_of_no_task(tmp_path: Path) -> None:
    """A row whose query nobody asks is a fault."""
    with pytest.raises(InputError, match=r"no task asks this query .*G1_instruction.csv, record 0"):
        _load(tmp_path, {_FAC: _fac("other,Yes,solved,p")})


@pytest.mark.parametrize("path", [_RAW, _CONVERTED.format("one"), _STATUSES_FILE])
def test_an_answer_for_an_unknown_id(tmp_path: Path, path: str) -> None:
    """What belongs to no query is named with the group it claims."""
    content: dict[str, Json] = {
        _RAW: make_raw(),
        _CONVERTED.format("one"): {"9": make_converted()},
        _STATUSES_FILE: _pass_rate("Solved", task="9"),
    }
    name = path.replace("/7_", "/9_")
    with pytest.raises(InputError, match=r"unknown id 9 .*expected one of the 1 ids of G1_instruction"):
        _load(tmp_path, {name: content[path]})


def test_the_older_evaluation_set_is_left_out_by_name(tmp_path: Path) -> None:
    """A checkout carries answers to queries that are not in the solvable set."""
    path = "toolbench/tooleval/results/default_evalset/gpt_CoT/G1_instruction.json"
    result = _load(tmp_path, {path: {"9": make_converted()}})
    assert [item["what"] for item in result.report["skipped"]] == [f"{path}, record 9"]


def test_an_answer_without_query_set_brings_its_own_query(tmp_path: Path) -> None:
    """ToolBench's example answers belong to queries that are not shipped; they become flagged tasks."""
    root = write_tree(tmp_path, {"answer/G1_answer/10_ChatGPT_DFS.json": make_raw()})
    result = load(root)
    assert [(task.id, task.flags) for task in result.tasks] == [("G1_answer-10", ("query-from-answer",))]
    assert result.tools[0].identity == "unknown/weather_desk_for_unknown/current"


def test_an_answer_finds_its_toolbench_query(tmp_path: Path) -> None:
    """`G1_answer` goes with `G1_query` when id and query agree."""
    files = {
        "instruction/G1_query.json": [make_query(1)],
        "answer/G1_answer/1_ChatGPT_DFS.json": make_raw(),
    }
    assert load(write_tree(tmp_path, files)).outputs[0].task == "G1_query-1"


@pytest.mark.parametrize(
    ("message", "files"),
    [
        (
            r"unknown status 'AnswerStatus.Maybe' .*7, \$\[\"7\"\]\.is_solved\[\"0\"\]\); expected one of A",
            {_STATUSES_FILE: _pass_rate("Maybe")},
        ),
        (r"is_solved is a text", {_STATUSES_FILE: {"7": {"query": QUERY, "is_solved": "Solved"}}}),
        (r"not a preference record", {_PREFERENCE: {"7": {"one": 1, "round_0": "complete"}}}),
        (r"not a preference record", {_PREFERENCE: {"7": {"one": -1, "two": 1, "round_0": "complete"}}}),
        (r"not a preference record", {_PREFERENCE: {"7": {"one": 0, "two": 1, "round_0": "done"}}}),
        (r"neither trys nor a tree", {_RAW: {"answer_generation": {"query": "q", "function": []}}}),
        (r"no query text .*\$\.answer_generation\.query", {_RAW: {"answer_generation": {}}}),
        (r"file name has no id", {"answer/one/G1_instruction/CoT.json": make_raw()}),
        (
            r"no final answer text .*\$\[\"7\"\]\.answer\.final_answer",
            {_CONVERTED.format("one"): {"7": {**make_converted(), "answer": {}}}},
        ),
        (r"a row of 2 fields under 4 columns .*record 0", {_FAC: _fac("a,b")}),
        (r"not a table", {_FAC: _fac('"open')}),
        (
            r"unknown preference label '4'",
            {"p.csv": "query_id\tpreference_label\tref_model\toutput_model\n7\t4\ta\tb\n"},
        ),
    ],
)
def test_wrong_records_are_named(tmp_path: Path, message: str, files: dict[str, Json]) -> None:
    """Each wrong record is one clear error with file, record, path and what was expected."""
    with pytest.raises(InputError, match=message):
        _load(tmp_path, files)


def test_two_answers_of_one_candidate_to_one_task(tmp_path: Path) -> None:
    """Two different files for one candidate, task and form are a fault that names both."""
    other = "more/model_predictions_converted/one/G1_instruction.json"
    files = {_CONVERTED.format("one"): {"7": make_converted()}, other: {"7": make_converted("No")}}
    with pytest.raises(InputError, match=r"a second converted output of 'one' for task 7"):
        _load(tmp_path, files)
