"""Solvable win rate, official and corrected."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from replay.benchmarks.stabletoolbench.evidence import sowr_request
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Verdict
from tests.support.verdicts import says
from tests.unit.benchmarks.stabletoolbench.answers import (
    evaluate,
    finish,
    labels,
    make_answer,
    make_outcome,
)

OUR_TEXT = finish("It is noon in Oslo.")
OURS = make_outcome(OUR_TEXT)
THEIRS = make_outcome(finish("It is noon."))
SOLVED = {"statuses": {"0": "Solved", "1": "Solved", "2": "Solved"}}
UNSOLVED = {"statuses": {"0": "Unsolved", "1": "Unsolved", "2": "Solved"}}

Judge = Callable[[JudgeRequest], JudgeVerdict | None]


def compare(
    judge: Judge, *, ours: Json = OURS, theirs: Json = THEIRS, options: Json = None, judge_runs: int = 3
) -> tuple[Verdict, list[JudgeRequest]]:
    """Compare two outcomes by the win rate."""
    return evaluate(ours, judge, metric="SoWR", reference=theirs, options=options, judge_runs=judge_runs)


def values(verdict: Verdict) -> tuple[float | None, float | None]:
    """Both scores of a verdict."""
    return verdict.compat.value, verdict.strict.value


def prefers(text: str) -> Judge:
    """A judge that solves everything and prefers the answer that holds a text, in either order."""

    def answer(request: JudgeRequest) -> JudgeVerdict | None:
        if request.rubric == "answer-status":
            return says("Solved")
        if request.rubric == "preference":
            return says("first" if text in request.evidence["first"]["final_answer"] else "second")
        return None

    return answer


def first_shown(request: JudgeRequest) -> JudgeVerdict | None:
    """A judge that solves everything and prefers whatever it is shown first."""
    return {"answer-status": says("Solved"), "preference": says("first")}.get(request.rubric)


@pytest.mark.parametrize(
    ("value", "points", "rounds"),
    [
        (1.0, (0, 3), ["candidate", "candidate", "candidate"]),
        (1.0, (1, 2), ["reference", "candidate", "candidate"]),
        (0.0, (2, 1), ["reference", "candidate", "reference"]),
    ],
)
def test_frozen_rounds(value: float, points: tuple[int, int], rounds: list[str]) -> None:
    """Points add up over frozen rounds; the side with more wins."""
    verdict, _ = compare(labels({"sowr": rounds}))
    assert (value, value) == values(verdict)
    counted = verdict.compat.detail["points"]
    assert points == (counted["reference"], counted["candidate"])


def test_frozen_question_is_the_importers() -> None:
    """Both answers of the files make the key that the importer files rounds under."""
    _, asked = compare(labels({"sopr": "Unsure", "sowr": "candidate"}))
    ours, theirs = make_answer(OUR_TEXT), make_answer(finish("It is noon."))
    assert sowr_request("What is the time in Oslo?", theirs, ours, 0) in asked


def test_equal_points_are_no_win_officially() -> None:
    """The printed rate counts a tie as a loss; strict scores it a half."""
    verdict, _ = compare(labels({"sowr": ["reference", "candidate"]}), judge_runs=2)
    assert (0.0, 0.5) == values(verdict)
    assert verdict.differs == "sowr-tie-is-loss"


def test_missing_round_gives_no_point() -> None:
    """Rounds without a verdict count for nobody."""
    verdict, _ = compare(labels({"sowr": ["candidate"]}))
    assert (1.0, 1.0) == values(verdict)
    assert ["candidate", "", ""] == verdict.strict.detail["rounds"]


def test_solved_beats_unsolved_in_strict_only() -> None:
    """The paper's short cut never takes effect in upstream's code."""
    theirs = make_outcome(finish("It is noon."), tools=("clock",))
    judge = labels({"sopr": "Solved", "sowr": "reference"})
    verdict, _ = compare(judge, theirs=theirs)
    assert (0.0, 1.0) == values(verdict)
    assert ("sowr-use-pass-rate", "solved beats unsolved") == (verdict.differs, verdict.strict.why)


def test_settled_pairs_are_not_shown_in_both_orders() -> None:
    """Strict asks no preference once the statuses decide."""
    theirs = make_outcome(finish("It is noon."), tools=("clock",))
    _, asked = compare(labels({"answer-status": "Solved", "preference": "first"}), theirs=theirs)
    assert 3 == sum(request.rubric == "preference" for request in asked)


@pytest.mark.parametrize(
    ("value", "ours", "theirs", "reason"),
    [
        (0.0, None, THEIRS, "missing-output"),
        (1.0, OURS, None, "missing-reference"),
    ],
)
def test_missing_answers(value: float, ours: Json, theirs: Json, reason: str) -> None:
    """Officially a missing answer is the other side's point; strict has no score."""
    verdict, _ = compare(labels({}), ours=ours, theirs=theirs)
    assert (value, None) == values(verdict)
    assert (reason, "sowr-missing-answer") == (verdict.strict.unscored, verdict.differs)


def test_pair_without_any_answer() -> None:
    """Nothing to compare: no official record, and missing in the plan."""
    verdict, _ = compare(labels({}), ours=None, theirs=None)
    assert ("not-in-result-file", "missing-output") == (verdict.compat.unscored, verdict.strict.unscored)


def test_step_questions_pick_the_preferred_answer() -> None:
    """Two solved answers are compared; a consistent judge gives both sides one result."""
    verdict, _ = compare(prefers("in Oslo"))
    assert (1.0, 1.0) == values(verdict)


def test_strict_shows_both_orders() -> None:
    """A winner that depends on the order of presentation is a tie."""
    verdict, asked = compare(first_shown)
    assert 0.5 == verdict.strict.value
    assert ["tie", "tie", "tie"] == verdict.strict.detail["rounds"]
    firsts = [r.evidence["first"]["final_answer"] for r in asked if r.rubric == "preference" and r.run == 0]
    assert {OUR_TEXT, finish("It is noon.")} == set(firsts)


def test_compat_shows_one_order_by_seed() -> None:
    """Official rounds use one derived order each, so a judge that takes the first splits its rounds."""
    verdict, _ = compare(first_shown, judge_runs=20)
    assert {"reference", "candidate"} == set(verdict.compat.detail["rounds"])


@pytest.mark.parametrize(
    ("value", "ours", "theirs"),
    [
        (1.0, "Solved", "Unsolved"),
        (0.0, "Unsolved", "Solved"),
        (1.0, "Solved", "Unsure"),
        (1.0, "Unsure", "Unsolved"),
        (0.0, "Unsolved", "Unsure"),
    ],
)
def test_official_rounds_by_status(value: float, ours: str, theirs: str) -> None:
    """Exactly one Solved wins a round; without any, exactly one Unsure does."""

    def judge(request: JudgeRequest) -> JudgeVerdict | None:
        if request.rubric not in ("answer-status", "whole-answer-status"):
            return None
        evidence = request.evidence
        text = evidence.get("final_answer") or evidence["answer"]["final_answer"]
        return says(ours if "Oslo" in text else theirs)

    verdict, _ = compare(judge)
    assert value == verdict.compat.value


def test_official_statuses_ignore_a_missing_finish() -> None:
    """Inside a comparison upstream does not look at the last tool call, only at the final answer."""
    ours = make_outcome(OUR_TEXT, tools=("clock",))
    verdict, _ = compare(prefers("in Oslo"), ours=ours)
    assert (1.0, 0.0) == values(verdict)


def test_official_comparison_cuts_final_answers() -> None:
    """Upstream's judge sees 1,000 characters of each final answer, strict shows it whole."""
    ours = make_outcome(finish("Oslo " * 500))
    _, asked = compare(prefers("Oslo"), ours=ours)
    lengths = {
        len(request.evidence[side]["final_answer"])
        for request in asked
        if request.rubric == "preference"
        for side in ("first", "second")
    }
    assert {1000, len(finish("Oslo " * 500)), len(finish("It is noon."))} == lengths


def test_identical_answers() -> None:
    """Equal answers are never shown: officially chance decides, by seed; strict calls a tie."""
    verdict, asked = compare(labels({"answer-status": "Solved"}), theirs=OURS)
    assert verdict.strict.value == 0.5
    assert verdict.compat.value in {0.0, 1.0}
    assert "preference" not in {request.rubric for request in asked}


def test_undecided_official_judge_is_given_to_chance() -> None:
    """Upstream's judge is told to pick at random; its label is never tie."""
    verdict, _ = compare(labels({"answer-status": "Solved", "preference": "tie"}))
    assert "tie" not in verdict.compat.detail["rounds"]
    assert ["tie", "tie", "tie"] == verdict.strict.detail["rounds"]


def test_no_judge_at_all() -> None:
    """Without verdicts both sides are unscored by name."""
    verdict, _ = compare(labels({}))
    assert ("judge-miss", "judge-miss") == (verdict.compat.unscored, verdict.strict.unscored)


def test_unreadable_preferences() -> None:
    """A judge that never answers readably is named."""
    verdict, _ = compare(labels({"answer-status": "Solved", "preference": "error"}))
    assert ("judge-error", "judge-error") == (verdict.compat.unscored, verdict.strict.unscored)


def test_shared_questions_are_asked_once() -> None:
    """The status of one answer in one run is one question, whoever needs it."""
    _, asked = compare(labels({"answer-status": "Solved", "preference": "first"}))
    asked_keys = [(r.rubric, r.run, str(r.evidence)) for r in asked]
    assert len(asked_keys) == len(set(asked_keys))


def test_statuses_alone_settle_a_clear_pair() -> None:
    """Result files without answers can still say that one solved and one did not, in strict."""
    verdict, _ = compare(labels({}), ours=SOLVED, theirs=UNSOLVED)
    assert (None, 1.0) == values(verdict)
    assert verdict.compat.unscored == "unusable-output"


def test_equal_statuses_alone_settle_nothing() -> None:
    """Two solved answers cannot be compared without seeing them."""
    verdict, _ = compare(labels({}), ours=SOLVED, theirs=SOLVED)
    assert ("unusable-output", "") == (verdict.strict.unscored, verdict.differs)


@pytest.mark.parametrize(
    ("compat", "strict", "points"),
    [(1.0, 1.0, (0, 3)), (0.0, 0.0, (3, 0)), (0.0, 0.5, (1, 1)), (0.0, 0.5, (0, 0))],
)
def test_points_of_a_result_file(compat: float, strict: float, points: tuple[int, int]) -> None:
    """A preference file is scored as it stands."""
    outcome = {"preferences": {"theirs": {"reference": points[0], "candidate": points[1]}}}
    verdict, asked = compare(labels({}), ours=outcome, theirs=None)
    assert (compat, strict) == values(verdict)
    assert [] == asked


def test_points_against_another_reference_are_not_used() -> None:
    """Points count only against the reference that was asked for."""
    outcome = {"preferences": {"others": {"reference": 0, "candidate": 3}}}
    verdict, _ = compare(labels({}), ours=outcome, theirs=None)
    assert verdict.strict.unscored == "missing-reference"


def test_task_solvable_is_asked_on_request_only() -> None:
    """Upstream throws the verdict away; here it is shown when asked for, and changes nothing."""
    by_rubric: dict[str, str | list[str]] = {
        "answer-status": "Unsolved",
        "preference": "tie",
        "task-solvable": "Solvable",
    }
    plain, asked = compare(labels(by_rubric))
    shown, _ = compare(labels(by_rubric), options={"ask_solvable": True})
    assert "task-solvable" not in {request.rubric for request in asked}
    assert values(plain) == values(shown)
    assert shown.strict.detail["task_solvable"] == "Solvable"
