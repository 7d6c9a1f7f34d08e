"""Solvable pass rate, official and corrected."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.evidence import sopr_request
from replay.benchmarks.stabletoolbench.scoring.questions import RunStatus
from replay.benchmarks.stabletoolbench.scoring.sopr import settle
from replay.core.types import Json, JudgeRequest, JudgeVerdict
from tests.support.verdicts import says
from tests.unit.benchmarks.stabletoolbench.answers import (
    evaluate,
    finish,
    labels,
    make_answer,
    make_outcome,
)

MENTIONS = finish("The option give_up_and_restart ends a chain.")


def test_frozen_verdicts_score_without_a_model() -> None:
    """One frozen question a run, and nothing else is asked."""
    verdict, asked = evaluate(make_outcome(), labels({"sopr": "Solved"}), metric="SoPR")
    assert (1.0, (1.0, 1.0, 1.0), "") == (verdict.compat.value, verdict.compat.runs, verdict.differs)
    assert [("sopr", 0), ("sopr", 1), ("sopr", 2)] == [(request.rubric, request.run) for request in asked]
    assert all(request.cached_only for request in asked)


def test_frozen_question_is_the_importers() -> None:
    """Query and answer of the file make the key that the importer files verdicts under."""
    _, asked = evaluate(make_outcome(), labels({"sopr": "Solved"}), metric="SoPR")
    assert sopr_request("What is the time in Oslo?", make_answer(), 0) == asked[0]


@pytest.mark.parametrize(
    ("value", "abstained", "runs"),
    [
        (1.0, 0, ["Solved", "Solved", "Solved"]),
        (0.5, 3, ["Unsure", "Unsure", "Unsure"]),
        (0.0, 0, ["Unsolved", "Unsolved", "Unsolved"]),
        (0.5, 1, ["Solved", "Unsure", "Unsolved"]),
    ],
)
def test_points_of_statuses(value: float, abstained: int, runs: list[str]) -> None:
    """Solved is 1, Unsure 0.5 and counted, Unsolved 0; the score is the mean over runs."""
    verdict, _ = evaluate(make_outcome(), labels({"sopr": runs}), metric="SoPR")
    assert (value, abstained) == (verdict.compat.value, verdict.compat.abstained)
    assert (value, abstained) == (verdict.strict.value, verdict.strict.abstained)


def test_missing_run_counts_zero_officially() -> None:
    """Upstream divides by the runs it wanted, strict by those it has."""
    verdict, _ = evaluate(make_outcome(), labels({"sopr": ["Solved", "Solved"]}), metric="SoPR")
    assert verdict.compat.value == pytest.approx(2 / 3)
    assert (1.0, "sopr-missing-run") == (verdict.strict.value, verdict.differs)


def test_judge_runs_are_a_setting() -> None:
    """Runs beyond those asked for are not looked at."""
    verdict, asked = evaluate(
        make_outcome(), labels({"sopr": ["Solved", "Unsolved"]}), metric="SoPR", judge_runs=1
    )
    assert (1.0, 1) == (verdict.compat.value, len(asked))


@pytest.mark.parametrize(
    ("why", "outcome"),
    [
        ("the last tool call is not Finish", make_outcome(tools=("Finish", "clock"))),
        ("no tool call", make_outcome(tools=())),
        ("empty final answer", make_outcome("")),
        (
            "final answer holds give_up_and_restart",
            make_outcome(finish("", return_type="give_up_and_restart")),
        ),
    ],
)
def test_rules_need_no_judge(why: str, outcome: Json) -> None:
    """Without Finish, without an answer or with a give-up nobody is asked."""
    verdict, asked = evaluate(outcome, labels({"sopr": "Solved"}), metric="SoPR")
    assert (0.0, 0.0, why, "") == (
        verdict.compat.value,
        verdict.strict.value,
        verdict.compat.why,
        verdict.differs,
    )
    assert [] == asked


def test_words_of_giving_up_inside_an_answer() -> None:
    """Officially the words alone fail an answer; strict reads the return type."""
    verdict, _ = evaluate(make_outcome(MENTIONS), labels({"sopr": "Solved"}), metric="SoPR")
    assert (0.0, 1.0, "sopr-give-up-words") == (verdict.compat.value, verdict.strict.value, verdict.differs)


def test_empty_answer_inside_finish() -> None:
    """Officially the argument text is judged; strict sees that nothing was answered."""
    verdict, _ = evaluate(make_outcome(finish("  ")), labels({"sopr": "Solved"}), metric="SoPR")
    assert (1.0, 0.0, "finish-without-answer") == (
        verdict.compat.value,
        verdict.strict.value,
        verdict.differs,
    )


def test_step_questions_when_nothing_is_frozen() -> None:
    """The final answer is judged, and the whole answer only when that leaves it open."""
    judge = labels({"answer-status": ["Solved", "Unsure", "Unsolved"], "whole-answer-status": "Solved"})
    verdict, asked = evaluate(make_outcome(), judge, metric="SoPR")
    assert (1.0, 1.0, 0.0) == verdict.compat.runs
    assert [
        "sopr",
        "answer-status",
        "sopr",
        "answer-status",
        "whole-answer-status",
        "sopr",
        "answer-status",
    ] == [request.rubric for request in asked]


def test_unsure_twice_stays_unsure() -> None:
    """The whole answer may leave it open too."""
    judge = labels({"answer-status": "Unsure", "whole-answer-status": "Unsure"})
    verdict, _ = evaluate(make_outcome(), judge, metric="SoPR")
    assert (0.5, 3) == (verdict.strict.value, verdict.strict.abstained)


def test_final_answer_is_judged_as_the_file_holds_it() -> None:
    """The step-level judge sees the argument text of Finish."""
    _, asked = evaluate(make_outcome(), labels({"answer-status": "Solved"}), metric="SoPR")
    assert finish() == asked[1].evidence["final_answer"]


def test_reason_comes_before_the_verdict_unless_asked() -> None:
    """The order of the judge's answer is a setting, and another question."""
    judge = labels({"answer-status": "Solved"})
    _, first = evaluate(make_outcome(), judge, metric="SoPR")
    _, last = evaluate(make_outcome(), judge, metric="SoPR", options={"judge_order": "verdict-first"})
    assert ["reason", "verdict"] == list(first[1].response_schema["properties"])
    assert ["verdict", "reason"] == list(last[1].response_schema["properties"])
    assert first[1].rubric_digest != last[1].rubric_digest


def test_no_judge_at_all() -> None:
    """Without any verdict both sides are unscored by name."""
    verdict, _ = evaluate(make_outcome(), labels({}), metric="SoPR")
    assert ("judge-miss", "judge-miss", "") == (
        verdict.compat.unscored,
        verdict.strict.unscored,
        verdict.differs,
    )


def refuse(request: JudgeRequest) -> JudgeVerdict | None:
    """A judge that refuses in prose."""
    return None if request.cached_only else says("error", reason="no label", raw="I would rather not.")


def test_unreadable_judge_is_an_error_with_its_text() -> None:
    """A judge that never answers readably is not a judge that is missing."""
    verdict, _ = evaluate(make_outcome(), refuse, metric="SoPR")
    assert (None, "judge-error") == (verdict.strict.value, verdict.strict.unscored)
    assert verdict.strict.detail["labels"] == ["error"] * 3
    assert verdict.strict.detail["runs"][0]["raw"] == "I would rather not."


def test_one_unreadable_run() -> None:
    """An error counts as a missing run: 0 officially, left out and counted in strict."""
    judge = labels({"sopr": ["Solved", "error", "Solved"]})
    verdict, _ = evaluate(make_outcome(), judge, metric="SoPR")
    assert (1.0, 1, "sopr-missing-run") == (
        verdict.strict.value,
        verdict.strict.detail["labels"].count("error"),
        verdict.differs,
    )
    assert verdict.compat.value == pytest.approx(2 / 3)


def test_missing_output() -> None:
    """A task without an answer leaves the official denominator and stays in the plan's."""
    verdict, asked = evaluate(None, labels({}), metric="SoPR")
    assert ("not-in-result-file", "missing-output", "result-file-denominator") == (
        verdict.compat.unscored,
        verdict.strict.unscored,
        verdict.differs,
    )
    assert [] == asked


def test_statuses_of_a_result_file() -> None:
    """A pass-rate file is scored as it stands."""
    outcome = {"statuses": {"0": "Solved", "1": "Unsure", "2": "Solved"}}
    verdict, asked = evaluate(outcome, labels({}), metric="SoPR")
    assert ((1.0, 0.5, 1.0), [], 1) == (verdict.compat.runs, asked, verdict.compat.abstained)


def test_unusable_output_says_why() -> None:
    """An outcome whose answer cannot be read is unscored, with the fault."""
    verdict, _ = evaluate({"converted": {"answer": []}}, labels({}), metric="SoPR")
    assert ("unusable-output", "the converted answer has no object `answer`") == (
        verdict.strict.unscored,
        verdict.strict.why,
    )


@pytest.mark.parametrize(
    ("settled", "runs"),
    [
        ("Solved", ["Solved", "Unsolved", "Solved"]),
        ("Unsure", ["Solved", "Unsolved"]),
        ("Unsolved", ["Unsolved", "", "error"]),
        ("", ["", "error"]),
        ("", []),
    ],
)
def test_settle(settled: str, runs: list[str]) -> None:
    """The most frequent status; two equally frequent ones settle nothing."""
    assert settled == settle([RunStatus(label=label, by="frozen") for label in runs])
