"""Solvable pass rate: does the answer solve its task, over several runs of the judge.

Source: eval_pass_rate.py and tooleval.py of StableToolBench at aa4ed9f (spec 5.3); paper section 4.2 and
figure 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Final

from replay.benchmarks.stabletoolbench.evidence import sopr_request
from replay.benchmarks.stabletoolbench.playing.finish import FINISH, GIVE_ANSWER, GIVE_UP
from replay.benchmarks.stabletoolbench.scoring.outcomes import Answer, finish_fields
from replay.benchmarks.stabletoolbench.scoring.questions import (
    Case,
    Questions,
    RunStatus,
    absent_scores,
    miss_reason,
)
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Score, Verdict
from replay.evaluate.judge import ERROR, ask_judge
from replay.evaluate.metrics import mean
from replay.evaluate.states import Unscored, make_verdict, scored, unscored

__all__ = ["SOPR", "final_answer_rule", "judge_sopr", "judge_statuses", "settle", "step_status"]

SOPR: Final = "SoPR"

_POINTS: Final = {"Solved": 1.0, "Unsure": 0.5, "Unsolved": 0.0}
"""Unsure is 0.5 on both sides: the paper's figure 6 and the code agree; one sentence of it says otherwise."""

_KEPT_TEXT: Final = 2000
"""Characters of a reason or an unreadable answer kept beside the score; the snapshot holds all of it."""


StatusPlay = Generator[JudgeRequest, JudgeVerdict | None, RunStatus]
StatusesPlay = Generator[JudgeRequest, JudgeVerdict | None, tuple[RunStatus, ...]]


def judge_sopr(case: Case, questions: Questions) -> Generator[JudgeRequest, JudgeVerdict | None, Verdict]:
    """Score one answer by the pass rate's rules, then by the judge.

    Units:   the mean over runs of Solved 1, Unsure 0.5, Unsolved 0.
    Source:  eval_pass_rate.py, spec 5.3. Differs: strict leaves runs without a verdict out instead of
             counting 0, tells a give-up by the return type instead of the words, and calls an empty answer
             inside Finish unsolved.
    """
    outcome = case.candidate
    if outcome is None:
        compat, strict = absent_scores(case)
        cause = "result-file-denominator"
    elif outcome.statuses is not None:
        statuses = _from_file(outcome.statuses, case.runs)
        compat, strict, cause = _compat(statuses), _strict(statuses), "sopr-missing-run"
    elif outcome.answer is not None:
        compat, strict, cause = yield from _judge_answer(case, questions, outcome.answer)
    else:
        compat = strict = unscored(Unscored.UNUSABLE_OUTPUT, why=outcome.fault or "no converted answer")
        cause = ""
    return make_verdict(case.task, case.trial, metric=SOPR, compat=compat, strict=strict, cause=cause)


def judge_statuses(case: Case, questions: Questions, *, answer: Answer, side: str) -> StatusesPlay:
    """Status of an answer in every run: the frozen verdict if there is one, else step by step.

    Shape:   `side` is candidate or reference; the statuses of a side are asked for once an evaluation.
    """
    if side in questions.statuses:
        return questions.statuses[side]
    statuses = []
    for run in range(case.runs):
        frozen = yield from ask_judge(sopr_request(case.query, answer.whole, run))
        if frozen is not None:
            statuses.append(RunStatus(label=frozen.label, by="frozen", verdict=frozen))
        else:
            statuses.append((yield from step_status(case, questions, answer=answer, run=run)))
    questions.statuses[side] = tuple(statuses)
    return questions.statuses[side]


def step_status(
    case: Case, questions: Questions, *, answer: Answer, run: int, shown: str | None = None
) -> StatusPlay:
    """Ask about the final answer and, when that leaves it open, about the whole answer.

    Shape:   `shown` replaces the final answer's text (preferences cut it); the whole answer is never cut.
    """
    text = answer.final_answer if shown is None else shown
    evidence: dict[str, Json] = {"query": case.query, "final_answer": text}
    verdict = yield from questions.put("answer-status", evidence, run=run)
    if verdict is not None and verdict.label == "Unsure":
        whole = answer.whole if shown is None else {**answer.whole, "final_answer": shown}
        evidence = {"query": case.query, "answer": whole}
        verdict = yield from questions.put("whole-answer-status", evidence, run=run)
    return RunStatus(label=verdict.label if verdict else "", by="steps", verdict=verdict)


def final_answer_rule(text: str) -> str:
    """Why a final answer is Unsolved without asking anyone, or the empty text (upstream's rule)."""
    if text == "":
        return "empty final answer"
    return f"final answer holds {GIVE_UP}" if GIVE_UP in text else ""


def settle(statuses: Sequence[RunStatus]) -> str:
    """The most frequent status of the runs; Unsure when two are equally frequent, empty without verdicts."""
    counts = Counter(status.label for status in statuses if status.label in _POINTS)
    ranked = counts.most_common(2)
    if not ranked:
        return ""
    return "Unsure" if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]


# ---- one answer ----------------------------------------------------------------------------------------


def _judge_answer(
    case: Case, questions: Questions, answer: Answer
) -> Generator[JudgeRequest, JudgeVerdict | None, tuple[Score, Score, str]]:
    compat_rule, strict_rule, cause = _rules(answer)
    statuses: tuple[RunStatus, ...] = ()
    if not compat_rule or not strict_rule:
        statuses = yield from judge_statuses(case, questions, answer=answer, side="candidate")
    compat = _by_rule(compat_rule, case.runs) if compat_rule else _compat(statuses)
    strict = _by_rule(strict_rule, case.runs) if strict_rule else _strict(statuses)
    return compat, strict, cause


def strict_rule(answer: Answer) -> str:
    """Why an answer is unsolved by rule as the paper means it, or the empty text."""
    return _rules(answer)[1]


def _rules(answer: Answer) -> tuple[str, str, str]:
    """Rule of compat, rule of strict, and the difference to name when they part."""
    if answer.last_tool != FINISH:
        why = "the last tool call is not Finish" if answer.last_tool else "no tool call"
        return why, why, ""
    official = final_answer_rule(answer.final_answer)
    chosen, plain = finish_fields(answer.final_answer)
    if official == "" and not plain.strip():
        return "", "the answer inside Finish is empty", "finish-without-answer"
    if official and chosen == GIVE_ANSWER and plain.strip():
        return official, "", "sopr-give-up-words"
    return official, official, "sopr-missing-run"


def _by_rule(why: str, runs: int) -> Score:
    return scored(0.0, runs=(0.0,) * runs, why=why, detail={"by": "rule"})


def _from_file(labels: dict[int, str], runs: int) -> tuple[RunStatus, ...]:
    return tuple(RunStatus(label=labels.get(run, ""), by="file") for run in range(runs))


def _compat(statuses: Sequence[RunStatus]) -> Score:
    labels = [status.label for status in statuses]
    if not any(label in _POINTS for label in labels):
        # Upstream's script would have stopped at the judge: there is no number to reproduce.
        return unscored(miss_reason(labels), detail=_facts(statuses))
    runs = tuple(_POINTS.get(label, 0.0) for label in labels)
    detail = {"by": "judge", "labels": labels}
    return scored(mean(runs), runs=runs, abstained=labels.count("Unsure"), detail=detail)


def _strict(statuses: Sequence[RunStatus]) -> Score:
    labels = [status.label for status in statuses]
    runs = tuple(_POINTS[label] for label in labels if label in _POINTS)
    if not runs:
        return unscored(miss_reason(labels), detail=_facts(statuses))
    return scored(mean(runs), runs=runs, abstained=labels.count("Unsure"), detail=_facts(statuses))


def _facts(statuses: Sequence[RunStatus]) -> Json:
    """What a person needs to check a score: each run's label, who said it, why, and where it is kept."""
    facts: dict[str, Json] = {"by": "judge", "labels": [status.label for status in statuses]}
    said = [_said(status) for status in statuses]
    if any(said):
        facts["runs"] = said
    return facts


def _said(status: RunStatus) -> Json:
    verdict = status.verdict
    if verdict is None:
        return None
    said = {
        "by": status.by,
        "judge": verdict.judge,
        "provenance": verdict.provenance.value,
        "key": verdict.key,
        "reason": verdict.reason[:_KEPT_TEXT],
    }
    return {**said, "raw": verdict.raw[:_KEPT_TEXT]} if verdict.label == ERROR else said
