"""Scores, reports and scopes: two columns, baselines, re-scoring, and figures that are not pooled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from replay.benchmarks.codexomics.benchmark import CodeXomics
from replay.core.errors import InputError
from replay.core.protocols import Settings
from replay.core.types import Json, Task, Verdict
from tests.unit.benchmarks.codexomics.builders import make_task, play_turns, single, turn

TASK = make_task(single("zoom_in", factor=2))
BENCH = CodeXomics()


def record(**more: Json) -> dict[str, Json]:
    """A record of the right call."""
    calls = [{"tool_name": "zoom_in", "parameters": {"factor": 2}}]
    return {"test_id": "t1", "suite_id": "automatic_simple", "calls": calls, **more}


def evaluate(outcome: Json, task: Task = TASK, **options: Json) -> tuple[Verdict, ...]:
    """Score one outcome."""
    settings = BENCH.check_settings(Settings(options=options))
    running = BENCH.evaluate(task, outcome, trial=0, settings=settings, reference=None)
    with pytest.raises(StopIteration) as done:
        running.send(None)
    verdicts: tuple[Verdict, ...] = done.value.value
    return verdicts


def outcome(mode: str = "clean-parity", **more: Json) -> Json:
    """An outcome of a mode."""
    return {"record": record(**more), "scope": {"mode": mode}}


def write_reports(folder: Path, *documents: Json) -> Path:
    """Write reports into a folder."""
    for number, document in enumerate(documents):
        (folder / f"r{number}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def summarize(verdicts: Sequence[Verdict]) -> Json:
    """Aggregate verdicts of one task, one trial each."""
    trials = {verdict.trial for verdict in verdicts}
    return BENCH.summarize([(TASK.id, TASK.split, trial) for trial in sorted(trials)], verdicts)


def test_accuracy_and_average_score_are_two_columns() -> None:
    """A failed case is 0 in one and its partial score in the other."""
    found = evaluate(
        {"record": record(calls=[{"tool_name": "zoom_in", "parameters": {"factor": 3}}]), "scope": {}}
    )
    assert [("strict-accuracy", 0.0), ("average-score", 0.4)] == [
        (v.metric, v.compat.value) for v in found[:2]
    ]


def test_recall_is_a_stage_of_its_own() -> None:
    """It says what the frozen candidates cover, whatever was called."""
    (recall,) = [
        v
        for v in evaluate(outcome(), make_task(single("zoom_in"), shown=["compute_gc"]))
        if "recall" in v.metric
    ]
    assert 0.0 == recall.compat.value


def test_baselines_stand_beside_both_columns() -> None:
    """Each figure has the three baselines over the same items."""
    summary = summarize(evaluate(outcome()))
    names = ["empty-arguments", "last-step-missing", "oracle-echo"]
    for metric in ("strict-accuracy", "average-score"):
        assert names == sorted(summary.compat[metric].detail["baselines"])
    assert {"oracle-echo": 100.0, "empty-arguments": 0.0, "last-step-missing": 0.0} == summary.compat[
        "strict-accuracy"
    ].detail["baselines"]


@pytest.mark.parametrize(
    ("left", "right", "match"),
    [
        ({"scope": {"mode": "clean-parity"}}, {"scope": {"mode": "oracle-assisted"}}, "harness modes"),
        ({"scope": {"registry": "a"}}, {"scope": {"registry": "b"}}, "tool registries"),
        ({"scope": {"suites": "a"}}, {"scope": {"suites": "b"}}, "suite fingerprints"),
        ({"scope": {"results": "world"}}, {"scope": {"results": "synthetic"}}, "kinds of tool results"),
    ],
)
def test_figures_of_different_scope_are_refused(left: Json, right: Json, match: str) -> None:
    """One figure has one tier, mode, registry and suite fingerprint."""
    first = evaluate({"record": record(), **left})
    second = [  # the same item in a second trial
        Verdict(**{name: getattr(v, name) for name in v.__struct_fields__} | {"trial": 1})
        for v in evaluate({"record": record(), **right})
    ]
    with pytest.raises(InputError, match=f"figures of different {match}"):
        summarize([*first, *second])


def test_tiers_are_not_pooled() -> None:
    """Verdicts of two tiers make no figure."""
    first = evaluate(outcome())
    second = evaluate(outcome(), tier="native-function-contract")
    again = [Verdict(**{n: getattr(v, n) for n in v.__struct_fields__} | {"trial": 1}) for v in second]
    with pytest.raises(InputError, match="figures of different assessment tiers"):
        summarize([*first, *again])


def test_nothing_produced_is_unscored() -> None:
    """A missing output has a reason in both columns, and its recall stays."""
    found = evaluate(None)
    assert ["missing-output", "missing-output", ""] == [v.strict.unscored for v in found]


def test_reports_are_written_and_read_back(tmp_path: Path) -> None:
    """What was played comes out as a report whose records score the same."""
    end, _, _ = play_turns(TASK, turn(("zoom_in", '{"factor": 2}')), mode="clean-parity")
    (path,) = BENCH.write_outputs([(TASK, 0, end.outcome)], tmp_path, "report", candidate="gold")
    (output,) = BENCH.read_outputs(path, {TASK.id: TASK})
    assert "gold" == output.candidate
    again = evaluate(BENCH.outcome_of(output, TASK), tier="native-function-contract")
    assert (1.0, "same") == (again[0].compat.value, again[0].compat.detail["stored"]["outcome"])
    assert "clean-parity" == again[0].compat.detail["scope"]["mode"]


@pytest.mark.parametrize(
    ("details", "success", "named"),
    [
        (
            {"scoringMode": "strict-automatic-v2", "assessmentTier": "task-completion-contract"},
            False,
            "differs",
        ),
        ({"scoringMode": "strict-automatic-v2", "assessmentTier": "task-completion-contract"}, True, "same"),
        ({"scoringMode": "strict-automatic-v1"}, True, "another-scorer"),
        ({"assessmentTier": "real-tool-execution"}, True, "another-tier"),
    ],
)
def test_stored_verdicts_are_compared_where_they_can_be(details: Json, success: bool, named: str) -> None:
    """A stored run is scored again from its evidence; what another scorer said is named, not compared."""
    evaluation = {"success": success, "score": 5, "maxScore": 5, "details": details}
    assert named == evaluate(outcome(evaluation=evaluation))[0].compat.detail["stored"]["outcome"]


def test_a_record_of_another_registry_says_itself_what_was_valid() -> None:
    """Schemas we do not have cannot be checked again; the stored flags hold."""
    calls = [{"tool_name": "zoom_in", "parameters": {"factor": 2, "new_key": 1}, "schema_valid": True}]
    scope = {"scorer": "strict-automatic-v2", "registry": "other"}
    found = [evaluate({"record": record(calls=calls), "scope": s})[0].compat.value for s in (scope, {})]
    assert [1.0, 0.0] == found


def test_bad_evidence_is_named() -> None:
    """Broken arguments, unknown tools and contradictions are in the detail of the verdict."""
    calls = [
        {"tool_name": "zoom_in", "parameters": '{"factor": 2'},
        {"tool_name": "make_it_so", "success": True, "error": "no"},
    ]
    detail = evaluate({"record": record(calls=calls), "scope": {}})[0].compat.detail
    assert (["zoom_in"], ["make_it_so"], 1) == (
        detail["broken_arguments"], detail["unknown_tools"], len(detail["contradictory_evidence"]),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("documents", "match"),
    [
        ([{"x": 1}], "no known form of output"),
        ([{"summary": {}, "records": [record(test_id="nope")]}], "unknown test 'nope'"),
        ([{"summary": {}, "records": [record(test_id=3)]}], "test id is 3"),
        ([{"summary": {"model": "m"}, "records": [record()]}] * 2, "two records of test"),
        (
            [{"summary": {"model": "m", "harness_mode": mode}, "records": [record()]} for mode in ("a", "b")],
            "figures of different harness modes: a and b",
        ),
    ],
)
def test_unusable_outputs_are_refused(tmp_path: Path, documents: list[Json], match: str) -> None:
    """Unknown forms, unknown tests, doubles and mixed reports are errors with their place."""
    with pytest.raises(InputError, match=match):
        BENCH.read_outputs(write_reports(tmp_path, *documents), {TASK.id: TASK})


def test_a_report_of_another_scorer_is_scored_again(tmp_path: Path) -> None:
    """What it says is named by its scorer, whoever wrote it into the summary."""
    stored = {"success": False, "score": 0, "maxScore": 5}
    report = {"summary": {"scorer": "strict-automatic-v3"}, "records": [record(evaluation=stored)]}
    (output,) = BENCH.read_outputs(write_reports(tmp_path, report), {TASK.id: TASK})
    score = evaluate(BENCH.outcome_of(output, TASK))[0].compat
    assert (1.0, "another-scorer", "strict-automatic-v3") == (
        score.value,
        score.detail["stored"]["outcome"],
        score.detail["stored"]["scorer"],
    )


@pytest.mark.parametrize("wrap", [list, lambda records: {"results": records}])
def test_in_app_results_are_read(tmp_path: Path, wrap: Json) -> None:
    """In-app records name their test by testId and their calls by what ran."""
    actual = {
        "executedFunctionCalls": [{"tool_name": "zoomIn", "parameters": {"factor": 2}, "success": True}]
    }
    app = {"testId": "t1", "suiteId": "automatic_simple", "actualResult": actual}
    (output,) = BENCH.read_outputs(write_reports(tmp_path, wrap([app])), {TASK.id: TASK})
    (accuracy, *_) = evaluate(BENCH.outcome_of(output, TASK), tier="task-completion-execution")
    assert 1.0 == accuracy.compat.value


def test_an_id_of_two_suites_needs_its_suite(tmp_path: Path) -> None:
    """A record without a suite is refused where two suites have its test."""
    tasks = {f"{suite}/t1": TASK for suite in ("a", "b")}
    path = write_reports(tmp_path, {"summary": {}, "records": [record(suite_id=None)]})
    with pytest.raises(InputError, match="test id 't1' is in 2 suites"):
        BENCH.read_outputs(path, tasks)
