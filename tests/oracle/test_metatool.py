"""MetaTool's published data and the oracle lines: every list, sample and reading comes out again."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from replay.benchmarks.metatool.benchmark import MetaTool
from replay.benchmarks.metatool.importing.importer import MetaToolImporter
from replay.benchmarks.metatool.records import sample_of
from replay.benchmarks.metatool.scoring.cases import MetaToolCases
from replay.core.protocols import ImportResult, Settings, Summary
from replay.core.types import Json, Task
from tests.support.data import find_shared_data

pytestmark = pytest.mark.slow

SHARED = find_shared_data()
SOURCE = SHARED / "metatool" if SHARED else Path("nowhere")
ORACLE = SHARED.parent / "oracles" / "metatool.jsonl" if SHARED else Path("nowhere")

needs_data = pytest.mark.skipif(not SOURCE.is_dir(), reason="no MetaTool data beside the checkout")
needs_oracle = pytest.mark.skipif(
    not (SOURCE.is_dir() and ORACLE.is_file()), reason="no MetaTool oracle file beside the checkout"
)

KNOWN_EXCEPTIONS: dict[int, str] = {}
"""Oracle line to the entry of the difference table that explains it; there is none."""


@functools.cache
def imported() -> ImportResult:
    """Import the published data once."""
    return MetaToolImporter().load(SOURCE, {})


@functools.cache
def tasks() -> dict[str, Task]:
    """All tasks by id."""
    return {task.id: task for task in imported().tasks}


def gold(task: Task) -> str:
    """The answer that a task's truth asks for."""
    sample = sample_of(task)
    return (
        sample.truth[0].capitalize()
        if sample.subtask == "awareness"
        else " and ".join(sample.truth) or "None."
    )


def score(texts: dict[str, str]) -> Summary:
    """Score one answer a task."""
    benchmark, verdicts = MetaTool(), []
    settings = benchmark.check_settings(Settings())
    for name, text in texts.items():
        outcome: Json = {"answer": text}
        play = benchmark.evaluate(tasks()[name], outcome, trial=0, settings=settings, reference=None)
        with pytest.raises(StopIteration) as done:
            next(play)
        verdicts += list(done.value.value)
    return benchmark.summarize([(name, tasks()[name].split, 0) for name in texts], verdicts)


@needs_oracle
def test_every_oracle_line_agrees() -> None:
    """Verdict, kind of error and literal reading, save the known exceptions."""
    cases = MetaToolCases().score_cases(ORACLE, tasks())
    assert cases is not None
    lines = list(cases)
    assert {line["line"] for line in lines if not line.get("agrees")} == set(KNOWN_EXCEPTIONS)
    assert len(lines) > 600


@needs_data
def test_all_subtasks_have_their_size() -> None:
    """As published, three read and two built again."""
    counts = Counter(task.data["subtask"] for task in imported().tasks)
    expected = {"awareness": 1040, "similar": 995, "scenario": 1800, "reliability": 995, "multi-tool": 497}
    assert expected == counts


@needs_data
@pytest.mark.parametrize(("subtask", "count"), [("reliability", 995), ("multi-tool", 497)])
def test_published_lists_are_built_again(subtask: str, count: int) -> None:
    """From embeddings and seeds alone."""
    expected = {"published_lists": count, "equal_when_rebuilt": count}
    assert expected == imported().report["rebuilt_lists"][subtask]


@needs_data
def test_samples_differ_for_ten_tools_only() -> None:
    """Their rows of the query file changed since; the published file counts."""
    assert 10 == len(imported().report["published_samples_unlike_query_file"])


@needs_data
def test_examples_are_read_as_they_were_counted() -> None:
    """Number of yes among the five examples of awareness, and none among those of reliability."""
    yes = Counter(
        sum(example["answer"] == "Yes" for example in task.data["examples"])
        for task in imported().tasks
        if task.split == "awareness"
    )
    assert {0: 4, 1: 57, 2: 466, 3: 452, 4: 53, 5: 8} == yes
    none = Counter(
        sum(example["answer"] == "None" for example in task.data["examples"])
        for task in imported().tasks
        if task.split == "reliability"
    )
    assert {2: 995} == none


@needs_data
def test_the_query_file_is_read_whole() -> None:
    """Rows, repeated rows, and queries with several labels."""
    queries = imported().report["queries"]
    assert (20_614, 64, 11) == tuple(
        queries[name] for name in ("rows", "repeated_rows", "with_several_labels")
    )


@needs_data
def test_the_place_of_the_truth_leaks_as_measured() -> None:
    """One constant answer scores 100, 10, 100 and 100 %."""
    figures = score(dict.fromkeys(tasks(), "")).compat
    expected = {"similar": 100.0, "scenario": 10.0, "reliability": 100.0, "multi-tool": 100.0}
    assert pytest.approx(expected) == {name: figures[f"{name}.constant"].value for name in expected}
    assert {"position": "7 and 8"} == figures["multi-tool.constant"].detail


@needs_data
def test_empty_answers_score_reliability_by_the_rules_and_nothing_strictly() -> None:
    """Garbage counts as None."""
    summary = score({name: "" for name in tasks() if name.startswith("reliability")})
    assert (100.0, 0.0) == (summary.compat["reliability"].value, summary.strict["reliability"].value)


@needs_data
@pytest.mark.parametrize("side", ["compat", "strict"])
def test_gold_scores_everything(side: str) -> None:
    """100 % in every subtask and scenario; no flagged record keeps its truth from being right."""
    figures: dict[str, Any] = getattr(score({name: gold(task) for name, task in tasks().items()}), side)
    subtasks = ("awareness", "similar", "scenario", "reliability", "multi-tool")
    assert [100.0] * 5 == [figures[name].value for name in subtasks]
    assert {100.0} == {group.value for group in figures["scenario"].groups.values()}
    assert 9 == len(figures["scenario"].groups)


@needs_data
def test_flagged_records_are_shown() -> None:
    """Labels that cap honest scores."""
    flags = imported().report["flags"]
    assert {"names-its-tool", "real-time-negative", "repeated-query", "several-labels"} == set(flags)
    noted = {task.data["query"] for task in imported().tasks if "real-time-negative" in task.flags}
    assert any("London" in query for query in noted)


@needs_data
def test_the_shipped_suite_has_words_of_its_own() -> None:
    """No query, tool name or description of the published data is in it."""
    mini = MetaToolImporter().load(Path(__file__).parents[2] / "snapshots" / "sources" / "metatool-mini", {})
    assert not {task.data["query"] for task in mini.tasks} & {task.data["query"] for task in imported().tasks}
    assert not {tool.name for tool in mini.tools} & {tool.name for tool in imported().tools}
    assert not {tool.description for tool in mini.tools} & {tool.description for tool in imported().tools}
