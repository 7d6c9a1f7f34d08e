"""Upstream's example results, scored again: figures, points and statuses must come out as published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.benchmark import StableToolBench
from replay.benchmarks.stabletoolbench.evidence import sopr_request, sowr_request
from replay.core.canonical import digest
from replay.core.protocols import Settings, Summary
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Task, Verdict
from replay.evaluate.metrics import integral_counts, mean
from tests.support.data import find_shared_data
from tests.support.verdicts import drive, says

COT, DFS = "virtual_chatgpt_cot", "virtual_chatgpt_dfs"
IDS = ("1073", "588", "608")

GROUP_SIZES = (163, 153, 158, 124, 106, 61)
"""I1-Inst, I1-Cat, I1-Tool, I2-Cat, I2-Inst, I3-Inst: the paper's order (spec section 3.1)."""

SOPR_TABLE = {
    "3.5-0613 C": ((52.2, 47.3, 53.6, 42.5, 35.8, 48.1), 46.6),
    "3.5-0613 D": ((60.3, 66.2, 67.1, 59.1, 51.3, 73.8), 63.0),
    "4-0613 C": ((45.5, 57.4, 48.8, 43.0, 46.5, 48.1), 48.2),
    "4-0613 D": ((57.3, 57.3, 60.9, 57.9, 51.3, 66.4), 58.5),
    "3.5-1106 C": ((50.4, 45.1, 50.8, 48.7, 42.1, 55.7), 48.8),
    "3.5-1106 D": ((62.8, 63.9, 65.6, 56.5, 56.9, 67.2), 62.2),
    "4-Turbo C": ((52.8, 56.6, 51.9, 51.9, 52.8, 52.5), 53.1),
    "4-Turbo D": ((59.2, 61.7, 65.7, 55.6, 55.2, 66.1), 60.6),
    "ToolLLaMA paper C": ((32.3, 40.3, 36.7, 34.7, 25.2, 33.9), 33.9),
    "ToolLLaMA paper D": ((44.5, 49.6, 48.9, 50.8, 31.9, 53.6), 46.6),
    "ToolLLaMA new C": ((51.8, 53.1, 46.4, 51.6, 48.9, 37.2), 48.2),
    "ToolLLaMA new D": ((61.0, 58.8, 45.6, 60.3, 53.5, 48.1), 54.6),
}
"""Paper table 4 and the README's new rows: six groups, printed average."""

SOWR_SIZES = (163, 153, 158, 106, 124, 61)
"""The win-rate table swaps I2-Inst and I2-Cat."""

SOWR_TABLE = {
    "3.5-0613 D": ((60.7, 67.3, 59.5, 63.2, 62.1, 75.4), 64.7),
    "4-0613 C": ((54.6, 58.8, 58.2, 75.5, 60.5, 62.3), 61.7),
    "4-0613 D": ((62.6, 62.7, 58.2, 74.5, 62.9, 67.2), 64.7),
    "3.5-1106 C": ((47.2, 47.7, 44.9, 50.9, 54.0, 62.3), 51.2),
    "3.5-1106 D": ((55.8, 53.6, 51.9, 68.9, 59.7, 68.9), 59.8),
    "4-Turbo C": ((71.2, 77.1, 61.4, 79.2, 71.8, 67.2), 71.3),
    "4-Turbo D": ((73.0, 75.2, 68.4, 77.4, 66.9, 60.7), 70.2),
    "ToolLLaMA new C": ((41.7, 45.1, 32.3, 52.8, 46.8, 26.2), 40.8),
    "ToolLLaMA new D": ((42.3, 51.0, 31.0, 67.0, 54.0, 31.1), 54.0),
}
ROUNDING = 0.1 + 1e-9
"""The mean of cells rounded by up to 0.05, itself rounded by up to 0.05."""

WRONG_AVERAGE = "ToolLLaMA new D"
"""Its printed average is 54.0; the six cells average 46.1 (spec section 6)."""


def example() -> Path:
    """The example data, or skip."""
    shared = find_shared_data()
    if shared is None or not (shared / "stabletoolbench" / "data_example").is_dir():
        pytest.skip("no upstream StableToolBench data (set REPLAY_TEST_DATA)")
    return shared / "stabletoolbench" / "data_example"


def load(path: Path) -> Json:
    """Read one JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def converted(candidate: str) -> Mapping[str, Json]:
    """Converted example answers of a candidate, by id."""
    found: Mapping[str, Json] = load(
        example() / "model_predictions_converted" / candidate / "G1_instruction.json"
    )
    return found


def tasks() -> dict[str, Task]:
    """The three example tasks with their real queries."""
    found = converted(COT)
    return {task: Task(id=task, split="G1_instruction", data={"query": found[task]["query"]}) for task in IDS}


def frozen() -> dict[str, str]:
    """Labels of the example's pass-rate and preference files by the question they answer."""
    labels: dict[str, str] = {}
    answers = {candidate: converted(candidate) for candidate in (COT, DFS)}
    for candidate in (COT, DFS):
        file = example() / "pass_rate_results" / candidate / f"G1_instruction_{candidate}.json"
        for task, record in load(file).items():
            for run, status in record["is_solved"].items():
                request = sopr_request(record["query"], answers[candidate][task]["answer"], int(run))
                labels[question(request)] = status.removeprefix("AnswerStatus.")
    for task, record in load(example() / "preference_results" / f"G1_instruction_{COT}_{DFS}.json").items():
        sides = ["reference"] * record[COT] + ["candidate"] * record[DFS]
        pair = [answers[candidate][task]["answer"] for candidate in (COT, DFS)]
        for index, side in enumerate(sides):
            labels[question(sowr_request(answers[COT][task]["query"], pair[0], pair[1], index))] = side
    return labels


def question(request: JudgeRequest) -> str:
    """What tells one question from another."""
    return str(digest("question", [request.rubric, request.evidence, request.run]))


def score(candidate: str) -> tuple[Summary, list[Verdict]]:
    """Score a candidate's converted answers by frozen verdicts alone, against the CoT answers."""
    labels = frozen()

    def judge(request: JudgeRequest) -> JudgeVerdict | None:
        label = labels.get(question(request))
        return says(label) if label else None

    bench = StableToolBench()
    verdicts: list[Verdict] = []
    settings = bench.check_settings(Settings(reference=COT))
    for task in tasks().values():
        ours = {"converted": converted(candidate)[task.id], "raw": None}
        theirs = {"converted": converted(COT)[task.id], "raw": None}
        play = bench.evaluate(task, ours, trial=0, settings=settings, reference=theirs)
        verdicts += drive(play, judge)[0]
    return bench.summarize([(task, "G1_instruction", 0) for task in IDS], verdicts), verdicts


@pytest.mark.parametrize(("figure", "candidate"), [("66.7 +- 0.0", COT), ("100.0 +- 0.0", DFS)])
def test_pass_rate_of_the_example(figure: str, candidate: str) -> None:
    """SoPR comes out as upstream prints it, on both sides."""
    summary, _ = score(candidate)
    for metric in (summary.compat["SoPR"], summary.strict["SoPR"]):
        assert figure == f"{metric.value:.1f} +- {metric.std:.1f}"
        assert (3, 3, 0) == (metric.n, metric.planned, metric.missing)


def test_win_rate_of_the_example() -> None:
    """Three wins of three: points 0-3, 0-3 and 1-2."""
    summary, verdicts = score(DFS)
    points = {
        verdict.task: (
            verdict.compat.detail["points"]["reference"],
            verdict.compat.detail["points"]["candidate"],
        )
        for verdict in verdicts
        if verdict.metric == "SoWR"
    }
    assert {"588": (0, 3), "608": (0, 3), "1073": (1, 2)} == points
    assert (100.0, 3) == (summary.compat["SoWR"].value, summary.compat["SoWR"].n)


def test_the_unsolved_example_needs_no_judge() -> None:
    """Answer 588 (CoT) ends without Finish: unsolved by rule, as its result file says."""
    _, verdicts = score(COT)
    found = {verdict.task: verdict for verdict in verdicts if verdict.metric == "SoPR"}
    assert (0.0, "the last tool call is not Finish") == (
        found["588"].compat.value,
        found["588"].compat.why,
    )


@pytest.mark.parametrize("candidate", [COT, DFS])
def test_result_files_score_alike(candidate: str) -> None:
    """Scoring the result files themselves gives what scoring the answers by frozen verdicts gives."""
    bench = StableToolBench()
    path = example() / "pass_rate_results" / candidate
    by_file = {}
    for output in bench.read_outputs(path, tasks()):
        task = tasks()[output.task]
        play = bench.evaluate(
            task, bench.outcome_of(output, task), trial=0, settings=Settings(), reference=None
        )
        (verdict,) = drive(play, lambda _: None)[0]
        by_file[output.task] = verdict.compat.value
    _, verdicts = score(candidate)
    assert by_file == {v.task: v.compat.value for v in verdicts if v.metric == "SoPR"}


def test_preference_files_score_alike() -> None:
    """Scoring the preference files (JSON and table together) gives three wins."""
    bench = StableToolBench()
    found = {}
    for output in bench.read_outputs(example() / "preference_results", tasks()):
        task = tasks()[output.task]
        play = bench.evaluate(
            task, bench.outcome_of(output, task), trial=0, settings=Settings(), reference=None
        )
        (verdict,) = drive(play, lambda _: None)[0]
        found[output.candidate, output.task] = (verdict.compat.value, verdict.strict.value)
    assert dict.fromkeys([(DFS, task) for task in IDS], (1.0, 1.0)) == found


def test_whole_example_is_read_and_joined() -> None:
    """Raw, converted, statuses and points of a candidate are one output a task."""
    outputs = StableToolBench().read_outputs(example(), tasks())
    assert [(name, task) for name in (COT, DFS) for task in IDS] == [(o.candidate, o.task) for o in outputs]
    assert {"converted", "pass-rate", "preference", "raw"} == set(outputs[-1].data)


def test_raw_answers_give_the_converted_outcome() -> None:
    """The outcome of a raw answer is the converted file's, so frozen verdicts are found either way."""
    bench = StableToolBench()
    for output in bench.read_outputs(example() / "answer" / COT, tasks()):
        outcome = bench.outcome_of(output, tasks()[output.task])
        valid = output.data["answer_generation"]["valid_data"]
        if valid:
            assert converted(COT)[output.task]["answer"] == outcome["converted"]["answer"]


@pytest.mark.parametrize("row", SOPR_TABLE)
def test_published_pass_rate_averages_are_plain_means(row: str) -> None:
    """The average column is the unweighted mean of the six groups, to the printed digit."""
    cells, printed = SOPR_TABLE[row]
    assert printed == pytest.approx(mean(cells), abs=ROUNDING)


@pytest.mark.parametrize("row", [row for row in SOWR_TABLE if row != WRONG_AVERAGE])
def test_published_win_rate_averages_are_plain_means(row: str) -> None:
    """The same for the win rates."""
    cells, printed = SOWR_TABLE[row]
    assert printed == pytest.approx(mean(cells), abs=ROUNDING)


def test_one_published_average_is_wrong() -> None:
    """The new ToolLLaMA DFS row prints 54.0; its cells average 46.1."""
    cells, printed = SOWR_TABLE[WRONG_AVERAGE]
    assert (54.0, 46.1) == (printed, round(mean(cells), 1))


@pytest.mark.parametrize("row", SOWR_TABLE)
def test_published_win_rates_are_whole_wins(row: str) -> None:
    """Each cell is k of N for its group size: N is the id file and each query has one result."""
    cells, _ = SOWR_TABLE[row]
    assert [] == [
        (cell, size) for cell, size in zip(cells, SOWR_SIZES, strict=True) if not integral_counts(cell, size)
    ]


def test_published_pass_rates_are_means_not_votes() -> None:
    """Pass rates are sixths of an item (three runs, Unsure 0.5); most cells are no whole wins."""
    cells = [
        (cell, size) for row, _ in SOPR_TABLE.values() for cell, size in zip(row, GROUP_SIZES, strict=True)
    ]
    assert [] == [pair for pair in cells if not integral_counts(pair[0], 6 * pair[1])]
    assert [] != [pair for pair in cells if not integral_counts(*pair)]


def test_group_sizes_are_those_of_the_id_files() -> None:
    """The denominators are the solvable queries of each group, 765 in all."""
    folder = example().parent / "solvable_queries" / "test_query_ids"
    order = ("G1_instruction", "G1_category", "G1_tool", "G2_category", "G2_instruction", "G3_instruction")
    assert GROUP_SIZES == tuple(len(load(folder / f"{name}.json")) for name in order)
    assert sum(GROUP_SIZES) == 765
