"""Solvable win rate: is the candidate's answer better than the reference's, over several rounds.

Source: eval_preference.py of StableToolBench at aa4ed9f (spec 5.4); paper section 4.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Final

from replay.benchmarks.stabletoolbench.evidence import BENCHMARK, sowr_request
from replay.benchmarks.stabletoolbench.scoring.outcomes import Answer, Outcome, Points
from replay.benchmarks.stabletoolbench.scoring.questions import Case, Questions, RunStatus, miss_reason
from replay.benchmarks.stabletoolbench.scoring.sopr import (
    final_answer_rule,
    judge_statuses,
    settle,
    step_status,
    strict_rule,
)
from replay.core.determinism import derive_seed
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Record, Score, Verdict
from replay.evaluate.judge import ERROR, ask_judge
from replay.evaluate.states import Unscored, make_verdict, scored, unscored

__all__ = ["SOWR", "judge_sowr"]

SOWR: Final = "SoWR"
REFERENCE: Final = "reference"
CANDIDATE: Final = "candidate"
TIE: Final = "tie"

_CUT: Final = 1000
"""Characters of a final answer that upstream's comparison sees."""

LabelPlay = Generator[JudgeRequest, JudgeVerdict | None, str]


class Pair(Record, frozen=True, kw_only=True):
    """The two answers to compare."""

    reference: Answer
    candidate: Answer


class Round(Record, frozen=True, kw_only=True):
    """Who won one round, on both sides; empty when no verdict was to be had, `error` when unreadable."""

    compat: str
    strict: str
    frozen: bool


def judge_sowr(case: Case, questions: Questions) -> Generator[JudgeRequest, JudgeVerdict | None, Verdict]:
    """Score one comparison: 1 the candidate wins, 0 it does not; strict gives a tie 0.5.

    Source:  eval_preference.py, spec 5.4. Differs: strict lets solved beat unsolved (upstream's option for it
             never takes effect), shows each pair in both orders and calls a disagreement a tie, and never
             awards a point for a missing answer.
    """
    points = _points_in_file(case)
    if points is not None:
        compat, strict, cause = *_score_points(points), "sowr-tie-is-loss"
    elif case.candidate is None or case.reference is None:
        compat, strict, cause = *_one_missing(case), "sowr-missing-answer"
    elif case.candidate.answer is None or case.reference.answer is None:
        compat, strict, cause = yield from _without_answers(case, questions)
    else:
        pair = Pair(reference=case.reference.answer, candidate=case.candidate.answer)
        compat, strict, cause = yield from _compare(case, questions, pair=pair)
    return make_verdict(case.task, case.trial, metric=SOWR, compat=compat, strict=strict, cause=cause)


# ---- without judging -----------------------------------------------------------------------------------


def _points_in_file(case: Case) -> Points | None:
    found = case.candidate.preferences if case.candidate else None
    if not found:
        return None
    if case.reference_name:
        return found.get(case.reference_name)
    return next(iter(found.values())) if len(found) == 1 else None


def _score_points(points: Points) -> tuple[Score, Score]:
    counts = {REFERENCE: points.reference, CANDIDATE: points.candidate}
    detail = {"by": "judge", "points": counts}
    winner = TIE
    if points.candidate != points.reference:
        winner = CANDIDATE if points.candidate > points.reference else REFERENCE
    return _official(winner, detail), _corrected(winner, detail)


def _official(winner: str, detail: Json) -> Score:
    why = "equal points: no win" if winner == TIE else ""
    return scored(1.0 if winner == CANDIDATE else 0.0, why=why, detail={**detail, "result": winner})


def _corrected(winner: str, detail: Json, *, why: str = "") -> Score:
    value = {CANDIDATE: 1.0, TIE: 0.5, REFERENCE: 0.0}[winner]
    return scored(value, why=why, abstained=int(winner == TIE), detail={**detail, "result": winner})


def _one_missing(case: Case) -> tuple[Score, Score]:
    """Score a pair of which one answer, or both, are missing.

    Source:  eval_preference.py. Both missing: its table writer stops at that id, so it has no result.
    """
    if case.reference is None and case.candidate is None:
        compat = unscored(Unscored.NOT_IN_RESULT_FILE, why="neither side has an answer")
    elif case.reference is None:
        compat = scored(1.0, why="the reference has no answer", detail={"by": "rule", "result": CANDIDATE})
    else:
        compat = scored(0.0, why="the candidate has no answer", detail={"by": "rule", "result": REFERENCE})
    if case.candidate is None:
        return compat, unscored(Unscored.MISSING_OUTPUT, why=f"no output for task {case.task.id}")
    return compat, unscored(
        Unscored.MISSING_REFERENCE, why=f"{case.reference_name or 'reference'}: no answer"
    )


# ---- by statuses ---------------------------------------------------------------------------------------


def _without_answers(
    case: Case, questions: Questions
) -> Generator[JudgeRequest, JudgeVerdict | None, tuple[Score, Score, str]]:
    """Result files alone hold statuses, which settle a comparison only when one solved and one did not."""
    compat = unscored(Unscored.UNUSABLE_OUTPUT, why="a comparison needs both converted answers")
    statuses = yield from _both_statuses(case, questions)
    winner = _by_status(*statuses)
    if not winner:
        return compat, compat, ""
    detail = {"by": "statuses", "statuses": list(statuses)}
    return compat, _corrected(winner, detail, why="solved beats unsolved"), "sowr-use-pass-rate"


def _both_statuses(
    case: Case, questions: Questions
) -> Generator[JudgeRequest, JudgeVerdict | None, tuple[str, str]]:
    assert case.reference is not None
    assert case.candidate is not None
    reference = yield from _settled(case, questions, outcome=case.reference, side=REFERENCE)
    candidate = yield from _settled(case, questions, outcome=case.candidate, side=CANDIDATE)
    return reference, candidate


def _settled(case: Case, questions: Questions, *, outcome: Outcome, side: str) -> LabelPlay:
    """The pass-rate status of one side over all runs, as the paper means it."""
    if outcome.statuses is not None:
        labels = [outcome.statuses.get(run, "") for run in range(case.runs)]
        return settle([RunStatus(label=label, by="file") for label in labels])
    if outcome.answer is None:
        return ""
    if strict_rule(outcome.answer):
        return "Unsolved"
    return settle((yield from judge_statuses(case, questions, answer=outcome.answer, side=side)))


def _by_status(reference: str, candidate: str) -> str:
    if {reference, candidate} != {"Solved", "Unsolved"}:
        return ""
    return CANDIDATE if candidate == "Solved" else REFERENCE


# ---- by comparison -------------------------------------------------------------------------------------


def _compare(
    case: Case, questions: Questions, pair: Pair
) -> Generator[JudgeRequest, JudgeVerdict | None, tuple[Score, Score, str]]:
    statuses = yield from _both_statuses(case, questions)
    settled = _by_status(*statuses)
    rounds: list[Round] = []
    for index in range(case.runs):
        played = yield from _play_round(case, questions, pair=pair, index=index, strict=not settled)
        rounds.append(played)
    compat = _official_rounds(rounds)
    detail: dict[str, Json] = {"statuses": list(statuses)}
    if settled:
        strict = _corrected(settled, {**detail, "by": "statuses"}, why="solved beats unsolved")
        return compat, strict, "sowr-use-pass-rate"
    if case.ask_solvable and "Solved" not in statuses:
        evidence = {"query": case.query, "tools": pair.candidate.tools}
        solvable = yield from questions.put("task-solvable", evidence)
        detail["task_solvable"] = solvable.label if solvable else ""
    strict = _corrected_rounds(rounds, detail)
    return compat, strict, _cause(rounds, compat)


def _play_round(
    case: Case, questions: Questions, *, pair: Pair, index: int, strict: bool
) -> Generator[JudgeRequest, JudgeVerdict | None, Round]:
    request = sowr_request(case.query, pair.reference.whole, pair.candidate.whole, index)
    frozen = yield from ask_judge(request)
    if frozen is not None:
        return Round(compat=frozen.label, strict=frozen.label, frozen=True)
    compat = yield from _official_round(case, questions, pair=pair, index=index)
    corrected = (yield from _both_orders(case, questions, pair=pair, index=index)) if strict else ""
    return Round(compat=compat, strict=corrected, frozen=False)


def _official_round(case: Case, questions: Questions, *, pair: Pair, index: int) -> LabelPlay:
    """One round step by step: cut answers, statuses, then the judge in one shuffled order.

    Source:  eval_preference.py; its shuffle is unseeded, ours is derived from seed, task, trial and round.
    """
    cut = Pair(reference=_cut(pair.reference), candidate=_cut(pair.candidate))
    reference = yield from _round_status(case, questions, answer=cut.reference, index=index)
    candidate = yield from _round_status(case, questions, answer=cut.candidate, index=index)
    for label in ("Solved", "Unsure"):
        if (reference == label) != (candidate == label):
            return REFERENCE if reference == label else CANDIDATE
        if reference == label:
            break
    order = derive_seed(case.seed, BENCHMARK, "preference-order", case.task.id, case.trial, index) % 2
    chance = REFERENCE if order else CANDIDATE
    if cut.reference.whole == cut.candidate.whole:
        return chance
    winner = yield from _ordered(case, questions, pair=cut, index=index, swapped=bool(order))
    # Told to choose at random when undecided, upstream's judge never says tie.
    return chance if winner == TIE else winner


def _round_status(case: Case, questions: Questions, *, answer: Answer, index: int) -> LabelPlay:
    if final_answer_rule(answer.final_answer):
        return "Unsolved"
    status = yield from step_status(case, questions, answer=answer, run=index)
    return status.label


def _both_orders(case: Case, questions: Questions, *, pair: Pair, index: int) -> LabelPlay:
    if pair.reference.whole == pair.candidate.whole:
        return TIE
    one = yield from _ordered(case, questions, pair=pair, index=index, swapped=False)
    other = yield from _ordered(case, questions, pair=pair, index=index, swapped=True)
    for label in (ERROR, ""):
        if label in (one, other):
            return label
    return one if one == other else TIE


def _ordered(case: Case, questions: Questions, *, pair: Pair, index: int, swapped: bool) -> LabelPlay:
    """Ask once, reference first unless swapped; returns the side, a tie, `error` or nothing."""
    names = [CANDIDATE, REFERENCE] if swapped else [REFERENCE, CANDIDATE]
    shown = {REFERENCE: pair.reference.whole, CANDIDATE: pair.candidate.whole}
    evidence = {"query": case.query, "first": shown[names[0]], "second": shown[names[1]]}
    verdict = yield from questions.put("preference", evidence, run=index)
    if verdict is None:
        return ""
    return {"first": names[0], "second": names[1], "tie": TIE}.get(verdict.label, ERROR)


def _cut(answer: Answer) -> Answer:
    text = answer.final_answer[:_CUT]
    return Answer(
        whole={**answer.whole, "final_answer": text},
        final_answer=text,
        last_tool=answer.last_tool,
        tools=answer.tools,
    )


# ---- over rounds ---------------------------------------------------------------------------------------


def _official_rounds(rounds: list[Round]) -> Score:
    labels = [played.compat for played in rounds]
    counts = {side: labels.count(side) for side in (REFERENCE, CANDIDATE)}
    if not sum(counts.values()):
        return unscored(miss_reason(labels), detail={"rounds": labels})
    compat, _ = _score_points(Points(reference=counts[REFERENCE], candidate=counts[CANDIDATE]))
    return _with_rounds(compat, labels)


def _corrected_rounds(rounds: list[Round], detail: dict[str, Json]) -> Score:
    """The most frequent result of the rounds; a tie when two are equally frequent."""
    labels = [played.strict for played in rounds]
    ranked = Counter(label for label in labels if label in (REFERENCE, CANDIDATE, TIE)).most_common(2)
    if not ranked:
        return unscored(miss_reason(labels), detail={**detail, "rounds": labels})
    winner = TIE if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]
    return _corrected(winner, {**detail, "by": "judge", "rounds": labels})


def _with_rounds(score: Score, labels: list[str]) -> Score:
    return scored(score.value or 0.0, why=score.why, detail={**score.detail, "rounds": labels})


def _cause(rounds: list[Round], compat: Score) -> str:
    if all(played.frozen for played in rounds) or (compat.detail or {}).get("result") == TIE:
        return "sowr-tie-is-loss"
    return "sowr-presentation-order"
