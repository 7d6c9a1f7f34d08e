"""Scores of the mini suite's three candidates, against figures worked out by hand from its judge files."""

from __future__ import annotations

import functools

import pytest

from replay.benchmarks.stabletoolbench.benchmark import StableToolBench
from replay.core.protocols import Settings, Summary
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Verdict
from tests.unit.benchmarks.stabletoolbench.mini_suite import (
    CANDIDATES,
    GROUPS,
    imported,
    judge_file,
    play_all,
)

_REFERENCE = "cot"


class _AuthoredJudge:
    """Answers from the judge files; a verdict belongs to a candidate and a task, whatever the evidence."""

    def __init__(self, name: str, task: str) -> None:
        self._name = name
        self._task = task
        self.misses: list[str] = []

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        found = self._find(request)
        if found is None:
            self.misses.append(f"{request.rubric} {self._name} {self._task}")
            return None
        return JudgeVerdict(label=found["label"], reason=found.get("reason", ""), raw=found.get("reply", ""))

    def _find(self, request: JudgeRequest) -> Json:
        if request.rubric == "fac":
            return judge_file("fac")[self._name].get(self._task)
        if request.rubric == "sowr":
            return judge_file("sowr")[self._name][self._task][request.run]
        if request.rubric == "sopr":
            runs = judge_file("sopr")[self._judged(request.evidence["answer"])].get(self._task)
            return runs and runs[request.run]
        return None

    def _judged(self, answer: Json) -> str:
        """Comparisons ask for the status of the reference too."""
        reference = play_all(_REFERENCE)[self._task].converted
        return _REFERENCE if answer["answer_details"] == reference["answer_details"] else self._name


@functools.cache
def _score(name: str) -> tuple[Summary, tuple[str, ...]]:
    """Score one candidate's compat episodes; returns the figures and what no verdict was found for."""
    benchmark = StableToolBench()
    verdicts: list[Verdict] = []
    misses: list[str] = []
    tasks = {task.id: task for task in imported().tasks}
    reference = _REFERENCE if name == "dfs" else ""
    settings = benchmark.check_settings(Settings(protocol=CANDIDATES[name], reference=reference))
    for task_id, played in play_all(name).items():
        judge = _AuthoredJudge(name, task_id)
        other = play_all(_REFERENCE)[task_id].outcome if reference else None
        evaluation = benchmark.evaluate(
            tasks[task_id], played.outcome, trial=0, settings=settings, reference=other
        )
        answer = None
        while True:
            try:
                asked = evaluation.send(answer)
            except StopIteration as ended:
                verdicts.extend(ended.value)
                break
            answer = judge.decide(asked)
        misses.extend(judge.misses)
    plan = [(task.id, task.split, 0) for task in tasks.values()]
    return benchmark.summarize(plan, verdicts), tuple(misses)


@pytest.mark.parametrize("name", CANDIDATES)
def test_no_verdict_is_missing(name: str) -> None:
    """Every question of an evaluation is answered from the judge files."""
    assert _score(name)[1] == ()


@pytest.mark.parametrize(
    ("name", "metric", "compat", "strict"),
    [
        ("cot", "SoPR", 74.93, 74.93),
        ("cot", "FAC", 73.89, 73.89),
        ("dfs", "SoPR", 89.70, 89.70),
        ("dfs", "FAC", 90.56, 93.33),
        ("dfs", "SoWR", 59.52, 63.69),
        ("weak", "SoPR", 21.69, 23.78),
        ("weak", "FAC", 30.04, 28.10),
    ],
)
def test_figures_are_those_worked_out_by_hand(name: str, metric: str, compat: float, strict: float) -> None:
    """The averages over the six groups are the hand-made ones, officially and corrected."""
    summary, _ = _score(name)
    assert (compat, strict) == (_value(summary.compat[metric].value), _value(summary.strict[metric].value))


def _value(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 2)


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("cot", [97.6, 69.4, 66.7, 80.0, 73.3, 62.5]),
        ("dfs", [97.6, 97.2, 91.7, 80.0, 80.0, 91.7]),
        ("weak", [19.0, 19.4, 23.3, 29.2, 26.7, 12.5]),
    ],
)
def test_pass_rates_by_group(name: str, groups: list[float]) -> None:
    """Each group's pass rate is the hand-made one, in the paper's order."""
    found = _score(name)[0].compat["SoPR"].groups
    assert dict(zip(GROUPS, groups, strict=True)) == {
        group: round(metric.value or 0.0, 1) for group, metric in found.items()
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cot", set()),
        (
            "dfs",
            {("SoWR", "6002", "sowr-use-pass-rate"), ("FAC", "3004", "fac-reply-words")},
        ),
        (
            "weak",
            {
                ("SoPR", "2006", "finish-without-answer"),
                ("SoPR", "6004", "sopr-give-up-words"),
                ("SoPR", "3006", "result-file-denominator"),
                ("SoPR", "4002", "result-file-denominator"),
                ("FAC", "3006", "fac-missing-id"),
                ("FAC", "4002", "fac-missing-id"),
            },
        ),
    ],
)
def test_differing_items_are_named(name: str, expected: set[tuple[str, str, str]]) -> None:
    """Compat and strict part on the items that were made for it, each with its reason."""
    found = {(item["metric"], item["task"], item["difference"]) for item in _score(name)[0].differing}
    assert expected == found


def test_import_counts() -> None:
    """The import report counts every oddity of the suite and skips nothing without a name."""
    report = imported().report
    assert report["queries"]["total"] == 33
    assert report["functions"]["distinct"]["apis_with_for"] == 1
    assert report["functions"]["entries_with_dropped_parameters"] == 3
    assert report["answers"]["collisions"] == 2
    assert report["cache"]["counts"]["failure-record-left-out"] == 1
    assert report["cache"]["counts"]["not-json"] == 1
    assert {item["what"].split("/")[0] for item in report["skipped"]} == {
        "README.md",
        "judge",
        "models",
        "scripts",
    }
