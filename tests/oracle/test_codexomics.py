"""CodeXomics' published tests and the oracle rows: every verdict, baseline and fault comes out again."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import pytest

from replay.benchmarks.codexomics.importing.importer import CodeXomicsImporter
from replay.benchmarks.codexomics.records import Tier
from replay.benchmarks.codexomics.scoring.baselines import measure_baselines
from replay.benchmarks.codexomics.scoring.cases import CodeXomicsCases
from replay.benchmarks.codexomics.tasks import read_task
from replay.core.protocols import ImportResult
from replay.core.types import Json, Task
from tests.support.data import find_shared_data

SHARED = find_shared_data()
SOURCE = SHARED / "codexomics" if SHARED else Path("nowhere")
ORACLE = SHARED.parent / "oracles" / "codexomics.jsonl" if SHARED else Path("nowhere")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SOURCE.is_dir(), reason="no CodeXomics data beside the checkout"),
]
needs_oracle = pytest.mark.skipif(
    not ORACLE.is_file(), reason="no CodeXomics oracle file beside the checkout"
)

SIMPLE, COMPLEX = "automatic_simple", "automatic_complex"


@functools.cache
def imported() -> ImportResult:
    """Import the published data once."""
    return CodeXomicsImporter().load(SOURCE, {})


@functools.cache
def tasks() -> dict[str, Task]:
    """All tasks by id."""
    return {task.id: task for task in imported().tasks}


def score(path: Path) -> list[Json]:
    """Score a file of cases."""
    lines = CodeXomicsCases().score_cases(path, tasks())
    assert lines is not None
    return list(lines)


def published_tests(suite: str) -> list[Json]:
    """The tests of one suite."""
    return [read_task(task).test for task in tasks().values() if task.split == suite]


@needs_oracle
def test_every_oracle_row_agrees() -> None:
    """Verdict, score, ratio, tier, all flags and counts and the unexpected calls of every row."""
    assert [] == [line for line in score(ORACLE) if not line.get("agrees")]


@needs_oracle
def test_every_oracle_row_has_an_expected_verdict() -> None:
    """A file without expectations would agree with anything."""
    lines = score(ORACLE)
    assert len(lines) == sum("expected" in line for line in lines) > 0


def test_every_golden_run_agrees_under_all_four_tiers() -> None:
    """29 ideal and 11 wrong runs, four verdicts each."""
    lines = score(SOURCE / "golden_runs.json")
    assert [] == [line for line in lines if not line.get("agrees")]


def test_ideal_runs_pass_as_specified_and_wrong_runs_fail() -> None:
    """27 of 29 pass completion, 26 of 29 the contract; 11 of 11 wrong runs fail executed completion."""
    passed: Counter[tuple[bool, str]] = Counter()
    total: Counter[bool] = Counter()
    for line in score(SOURCE / "golden_runs.json"):
        ideal = line["label"] == "ideal"
        total[ideal] += 1
        passed[ideal, line["tier"]] += line["verdict"]
    assert (29, 11) == (total[True] // 4, total[False] // 4)
    order = (Tier.CONTRACT, Tier.EXECUTION, Tier.COMPLETION, Tier.COMPLETION_EXECUTED)
    assert [26, 26, 27, 27] == [passed[True, tier.value] for tier in order]
    assert 0 == passed[False, Tier.COMPLETION_EXECUTED.value]


@pytest.mark.parametrize("tier", [Tier.CONTRACT, Tier.COMPLETION])
def test_submitting_the_oracle_passes_everywhere(tier: Tier) -> None:
    """Oracle echo: 172 of 172."""
    found = [measure_baselines(published_tests(suite), tier)["oracle-echo"] for suite in (SIMPLE, COMPLEX)]
    assert (172, 172) == (sum(item.passed for item in found), sum(item.tests for item in found))


def test_empty_arguments_pass_as_specified() -> None:
    """32 of 143 and 2 or 3 of 29, with partial scores of 0.69 and 0.67 to 0.79."""
    found = {
        (suite, tier): measure_baselines(published_tests(suite), tier)["empty-arguments"]
        for suite in (SIMPLE, COMPLEX)
        for tier in (Tier.CONTRACT, Tier.COMPLETION_EXECUTED)
    }
    assert [32, 32, 2, 3] == [item.passed for item in found.values()]
    assert [0.69, 0.69, 0.67, 0.79] == [round(item.average_score_ratio, 2) for item in found.values()]


def test_a_missing_last_step_never_passes() -> None:
    """All steps but the last: 0 of 29, with a partial score of 0.63 where calls are executed."""
    found = measure_baselines(published_tests(COMPLEX), Tier.COMPLETION_EXECUTED)["last-step-missing"]
    assert (0, 29, 0.63) == (found.passed, found.tests, round(found.average_score_ratio, 2))


def test_the_import_finds_what_is_specified() -> None:
    """Suites of 143 and 29 tests, three shared ids, eight oracles that are not valid, right prompt hashes."""
    report = imported().report
    assert {SIMPLE: 143, COMPLEX: 29} == report["suites"]
    assert ["nav_auto_01", "primer_auto_01", "restrict_auto_01"] == report["ids_in_several_suites"]
    assert [
        "analysis_auto_complex_03",
        "analysis_auto_complex_05",
        "blast_auto_complex_04",
        "edit_auto_05",
        "primer_auto_03",
        "primer_auto_complex_01",
        "protein_auto_complex_01",
        "seq_auto_04",
    ] == sorted(key.split("/")[1] for key in report["oracles_not_valid"])
    assert [] == report["wrong_prompt_hashes"]


def test_every_expected_tool_has_somebody_to_answer_it() -> None:
    """142 tools: 121 executed by the session, 21 recorded, synthetic, or a miss."""
    found = imported().report["tool_results"]
    assert (121, 21) == (len(found["executed"]), len(found["recorded_only"]))


def test_retrieval_is_frozen_within_its_limit() -> None:
    """At most 24 candidates a test, and recall is reported beside them."""
    sizes = [len(read_task(task).retrieval.selected) for task in tasks().values()]
    found = imported().report["retrieval"]
    assert (24, 169, 241, 244) == (
        max(sizes),
        found["tests_with_all_expected"],
        found["entries_covered"],
        found["entries_expected"],
    )
