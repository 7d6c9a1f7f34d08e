"""ACEBench's real data: every oracle line, the ceilings of the truths, perturbations, flagged records."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from replay.benchmarks.acebench.benchmark import AceBench
from replay.benchmarks.acebench.importing.importer import AceBenchImporter
from replay.benchmarks.acebench.scoring.cases import CaseBook
from replay.benchmarks.acebench.scoring.line_cases import AceBenchCases
from replay.benchmarks.acebench.scoring.verdicts import judge
from replay.core.protocols import ImportResult, Summary
from replay.core.types import Task, Verdict
from tests.support.ace_outcomes import (
    Change,
    drop_optional,
    gold_outcome,
    perturbed_outcome,
    shift_numbers,
    verdict_of,
    wrap_texts,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def imported(shared_data: Path) -> ImportResult:
    """The whole upstream data set."""
    folder = shared_data / "acebench"
    if not folder.is_dir():
        pytest.skip("no upstream ACEBench data (set REPLAY_TEST_DATA)")
    return AceBenchImporter().load(folder, {})


@pytest.fixture(scope="module")
def gold(imported: ImportResult) -> tuple[list[Verdict], Summary]:
    """Verdicts and figures of a candidate that does what the truths say."""
    cases = CaseBook()
    verdicts = [
        verdict
        for task in imported.tasks
        for verdict in judge(task, gold_outcome(task), trial=0, cases=cases)
    ]
    plan = [(task.id, task.split, 0) for task in imported.tasks]
    return verdicts, AceBench().summarize(plan, verdicts)


def test_all_records_of_both_languages_are_imported(imported: ImportResult) -> None:
    """1,023 English and 1,017 Chinese ones in 17 categories each."""
    counts: dict[str, int] = defaultdict(int)
    for task in imported.tasks:
        counts[task.id.split("/")[0]] += 1
    assert {"en": 1023, "zh": 1017} == counts
    assert len({task.split for task in imported.tasks}) == 34


def test_every_oracle_line_reproduces(imported: ImportResult, shared_data: Path) -> None:
    """Verdict, error, process, observations, end state and recipient of every line."""
    file = shared_data.parent / "oracles" / "acebench.jsonl"
    if not file.is_file():
        pytest.skip("no ACEBench oracle file beside the upstream data")
    lines = AceBenchCases().score_cases(file, {task.id: task for task in imported.tasks})
    assert lines is not None
    scored = list(lines)
    assert [] == [line for line in scored if not line.get("agrees")]
    assert len(scored) >= 800


def test_the_truth_scores_full_marks_strictly(gold: tuple[list[Verdict], Summary]) -> None:
    """In every category, language and metric, flagged records included."""
    verdicts, _ = gold
    assert [] == [verdict.task for verdict in verdicts if verdict.strict.value != 1.0]


def test_the_truth_hits_the_official_ceilings(gold: tuple[list[Verdict], Summary]) -> None:
    """Published ones of the current checker; everything that is not listed is 1."""
    figures = gold[1].compat
    below = {
        split: group.detail["official"]
        for split, group in figures["accuracy"].groups.items()
        if group.detail["official"] != 1.0
    }
    assert below == {
        "en/normal_multi_turn_user_adjust": 0.76,
        "en/normal_multi_turn_user_switch": 0.74,
        "en/normal_single_turn_parallel_function": 0.99,
        "en/normal_preference": 0.98,
        "zh/normal_multi_turn_user_adjust": 0.98,
        "zh/normal_multi_turn_user_switch": 0.98,
        "zh/normal_single_turn_parallel_function": 0.98,
        "zh/normal_atom_list": 0.98,
        "zh/normal_atom_object_short": 0.98,
        "zh/normal_similar_api": 0.96,
    }
    groups = figures["normal"].groups
    assert {"en": 0.956, "zh": 0.988} == {name: group.detail["official"] for name, group in groups.items()}


def test_items_that_differ_for_the_truth_have_their_reason(gold: tuple[list[Verdict], Summary]) -> None:
    """Whitespace in sessions, or a truth that its own checker rejects."""
    reasons = {verdict.differs for verdict in gold[0] if verdict.differs}
    assert {"whitespace-deleted", "truth-rejected"} == reasons


@pytest.mark.parametrize(
    ("change", "language", "passed", "affected"),
    [
        (shift_numbers, "en", 144, 146),
        (shift_numbers, "zh", 154, 155),
        (wrap_texts, "en", 572, 585),
        (wrap_texts, "zh", 401, 402),
        (drop_optional, "en", 304, 326),
        (drop_optional, "zh", 160, 240),
    ],
)
def test_perturbed_truths_pass_officially_at_the_measured_rates(
    imported: ImportResult, change: Change, language: str, passed: int, affected: int
) -> None:
    """And strictly only where the truth has a second candidate without the argument."""
    verdicts = [
        verdict_of(task, outcome)
        for task in _normal(imported, language)
        if (outcome := perturbed_outcome(task, change)) is not None
    ]
    assert affected == len(verdicts)
    assert passed == sum(verdict.compat.value == 1.0 for verdict in verdicts)
    allowed = (
        {"zh/normal_atom_bool_21", "zh/normal_atom_object_deep_44"} if change is drop_optional else set()
    )
    assert {verdict.task for verdict in verdicts if verdict.strict.value == 1.0} <= allowed


def test_data_errors_of_every_kind_are_flagged(imported: ImportResult) -> None:
    """The records that the reports upstream and the measurements name."""
    flags = {task.id: task.flags for task in imported.tasks if task.flags}
    kinds = imported.report["data_errors"]["kinds"]
    assert kinds == {
        "class-name": 8,
        "config-class": 1,
        "milestone-invalid": 14,
        "milestones-unlike-truth": 21,
        "name-ends-in-number": 2,
        "truth-against-task": 3,
        "truth-empty-value": 4,
        "truth-lacks-required": 1,
        "truth-rejected": 1,
    }
    assert flags["zh/normal_similar_api_2"] == ("name-ends-in-number:personalized_learning_2",)
    assert flags["en/special_error_param_37"] == ("truth-against-task:weight_kg=-5",)
    assert flags["zh/agent_multi_turn_12"] == ("config-class:Baspi",)
    assert flags["en/agent_multi_turn_28"] == ("truth-against-task:4 bags",)
    unlike = {name for name, found in flags.items() if any(f.startswith("milestones-unlike") for f in found)}
    english = {"multi_step_0", "multi_step_1", "multi_step_8", "multi_step_9", "multi_turn_6"}
    english |= {f"multi_step_{number}" for number in range(12, 18)}
    chinese = english - {"multi_step_0", "multi_step_1"}
    assert {f"en/agent_{name}" for name in english} | {f"zh/agent_{name}" for name in chinese} == unlike


def _normal(imported: ImportResult, language: str) -> list[Task]:
    return [task for task in imported.tasks if task.split.startswith(f"{language}/normal")]
