"""Final answer completeness, official and corrected."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.evidence import fac_request
from replay.benchmarks.stabletoolbench.scoring.fac import official_reading, stated_label
from replay.core.types import JudgeRequest, JudgeVerdict, Verdict
from tests.support.verdicts import says
from tests.unit.benchmarks.stabletoolbench.answers import evaluate, finish, labels, make_outcome

FLIPPED = "Answer Status: Solved\nReason: nothing is left unsolved."


def values(verdict: Verdict) -> tuple[float | None, float | None]:
    """Both scores of a verdict."""
    return verdict.compat.value, verdict.strict.value


@pytest.mark.parametrize(
    ("value", "reply"),
    [
        (1.0, "Solved"),
        (0.0, "Unsolved"),
        (0.0, FLIPPED),
        (0.0, "No idea"),
        (0.0, ""),
        (1.0, "It is unSOLVable: solved"),
    ],
)
def test_official_reading(value: float, reply: str) -> None:
    """Words anywhere in the reply decide, unsolved before solved."""
    assert value == official_reading(reply)


@pytest.mark.parametrize(
    ("label", "reply"),
    [
        ("solved", FLIPPED),
        ("unsolved", "Unsolved. The second part could be solved later."),
        ("solved", '{"reason": "not unsolved", "verdict": "solved"}'),
        ("unsolved", '{"status": "Unsolved", "reason": "x"}'),
        ("", "I cannot say."),
        ("", "resolved"),
        ("", ""),
    ],
)
def test_stated_label(label: str, reply: str) -> None:
    """Strict reads the status that a reply states."""
    assert label == stated_label(reply)


def test_frozen_verdict() -> None:
    """One frozen question about the final answer as the file holds it."""
    verdict, asked = evaluate(make_outcome(), labels({"fac": "solved"}), metric="FAC")
    assert (1.0, 1.0) == values(verdict)
    assert [fac_request("What is the time in Oslo?", finish())] == asked


def test_frozen_reply_that_mentions_the_word() -> None:
    """The official score falls with a word in the reason; strict keeps the label."""

    def judge(request: JudgeRequest) -> JudgeVerdict | None:
        return says("solved", raw=FLIPPED)

    verdict, _ = evaluate(make_outcome(), judge, metric="FAC")
    assert (0.0, 1.0) == values(verdict)
    assert verdict.differs == "fac-reply-words"


def test_empty_final_answer_needs_no_judge() -> None:
    """Nothing answered is 0 on both sides."""
    verdict, asked = evaluate(make_outcome(""), labels({"fac": "solved"}), metric="FAC")
    assert (0.0, 0.0) == values(verdict)
    assert [] == asked


def test_give_up_is_judged_officially() -> None:
    """The official judge is shown the give-up's arguments; strict needs no judge for it."""
    final = finish("", return_type="give_up_and_restart")
    verdict, _ = evaluate(make_outcome(final), labels({"fac": "solved"}), metric="FAC")
    assert (1.0, 0.0) == values(verdict)
    assert ("finish-without-answer", "gave up") == (verdict.differs, verdict.strict.why)


def test_official_judge_sees_the_arguments() -> None:
    """Not frozen: compat shows the Finish arguments, strict the plain answer."""
    _, asked = evaluate(make_outcome(), labels({"completeness": "solved"}), metric="FAC")
    assert [finish(), "It is noon."] == [request.evidence["final_answer"] for request in asked[1:]]


def test_judges_that_part_over_the_arguments() -> None:
    """A judge may read the two texts otherwise; that difference has a name."""

    def judge(request: JudgeRequest) -> JudgeVerdict | None:
        if request.cached_only:
            return None
        label = "unsolved" if "return_type" in request.evidence["final_answer"] else "solved"
        return says(label, raw=label)

    verdict, _ = evaluate(make_outcome(), judge, metric="FAC")
    assert (0.0, 1.0) == values(verdict)
    assert verdict.differs == "fac-finish-arguments"


def test_plain_answers_are_asked_once() -> None:
    """Text that is no Finish arguments is the same question on both sides."""
    _, asked = evaluate(make_outcome("It is noon."), labels({"completeness": "solved"}), metric="FAC")
    assert ["fac", "completeness"] == [request.rubric for request in asked]


def test_unreadable_reply() -> None:
    """Officially a reply without a status is 0; strict has no score, and keeps the text."""

    def judge(request: JudgeRequest) -> JudgeVerdict | None:
        return None if request.cached_only else says("error", raw="I would rather not.")

    verdict, _ = evaluate(make_outcome(), judge, metric="FAC")
    assert (0.0, None) == values(verdict)
    assert ("judge-error", "I would rather not.") == (verdict.strict.unscored, verdict.strict.detail["reply"])


def test_no_judge_at_all() -> None:
    """Without a verdict both sides are unscored."""
    verdict, _ = evaluate(make_outcome(), labels({}), metric="FAC")
    assert ("judge-miss", "judge-miss") == (verdict.compat.unscored, verdict.strict.unscored)


def test_missing_output() -> None:
    """A missing id stops upstream's script; compat leaves it out, strict counts it."""
    verdict, _ = evaluate(None, labels({}), metric="FAC")
    assert ("not-in-result-file", "missing-output", "fac-missing-id") == (
        verdict.compat.unscored,
        verdict.strict.unscored,
        verdict.differs,
    )


def test_reply_of_a_result_file() -> None:
    """A completeness table is scored by its reply."""
    verdict, asked = evaluate({"fac": {"reply": FLIPPED}}, labels({}), metric="FAC")
    assert (0.0, 1.0) == values(verdict)
    assert [] == asked
