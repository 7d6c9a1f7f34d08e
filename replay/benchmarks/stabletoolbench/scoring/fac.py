"""Final answer completeness: does the final answer address every part of the query, by one pass of a judge.

Source: fac_eval.py of StableToolBench at aa4ed9f (spec 5.5).
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final

from replay.benchmarks.stabletoolbench.evidence import FAC_LABELS, fac_request
from replay.benchmarks.stabletoolbench.playing.finish import GIVE_UP
from replay.benchmarks.stabletoolbench.scoring.outcomes import Answer, finish_fields
from replay.benchmarks.stabletoolbench.scoring.questions import Case, Questions, absent_scores, miss_reason
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Score, Verdict
from replay.evaluate.judge import ERROR, ask_judge, parse_answer
from replay.evaluate.states import Unscored, make_verdict, scored, unscored

__all__ = ["FAC", "judge_fac", "official_reading", "stated_label"]

FAC: Final = "FAC"

_STATUS: Final = re.compile(r"\b(unsolved|solved)\b", re.IGNORECASE)
_KEPT_TEXT: Final = 2000

ScoresPlay = Generator[JudgeRequest, JudgeVerdict | None, tuple[Score, Score, str]]


def judge_fac(case: Case, questions: Questions) -> Generator[JudgeRequest, JudgeVerdict | None, Verdict]:
    """Score one final answer: 1 complete, 0 not.

    Source:  fac_eval.py, spec 5.5. Differs: strict reads the reply's status instead of searching all of it
             for a word, shows the judge the plain answer and not the Finish arguments, and scores a give-up
             0 by rule.
    """
    outcome = case.candidate
    if outcome is None:
        compat, strict = absent_scores(case)
        cause = "fac-missing-id"
    elif outcome.fac is not None:
        compat, strict = _official(outcome.fac, None), _stated(_read_reply(outcome.fac), None)
        cause = "fac-reply-words"
    elif outcome.answer is not None:
        compat, strict, cause = yield from _judge_answer(case, questions, outcome.answer)
    else:
        compat = strict = unscored(Unscored.UNUSABLE_OUTPUT, why=outcome.fault or "no converted answer")
        cause = ""
    return make_verdict(case.task, case.trial, metric=FAC, compat=compat, strict=strict, cause=cause)


def official_reading(reply: str) -> float:
    """Read a reply as upstream does: `unsolved` anywhere is 0, else `solved` anywhere is 1, else 0."""
    lowered = reply.lower()
    if "unsolved" in lowered:
        return 0.0
    return 1.0 if "solved" in lowered else 0.0


def stated_label(reply: str) -> str:
    """The status a reply states: its JSON verdict, or the first status word of its text, or nothing."""
    parsed = parse_answer(reply, FAC_LABELS)
    if parsed.label != ERROR:
        return parsed.label
    if "{" in reply:
        parsed = parse_answer(reply, FAC_LABELS, field="status")
        if parsed.label != ERROR:
            return parsed.label
    # The status comes before the reason in the reply's layout, so the first word is the status.
    found = _STATUS.search(reply)
    return found.group(1).lower() if found else ""


def _judge_answer(case: Case, questions: Questions, answer: Answer) -> ScoresPlay:
    chosen, plain = finish_fields(answer.final_answer)
    empty = answer.final_answer == ""
    rule = "empty final answer" if empty else "gave up" if chosen == GIVE_UP else ""
    rule = rule or ("" if plain.strip() else "the answer inside Finish is empty")
    if empty:
        score = _by_rule(rule)
        return score, score, ""
    frozen = yield from ask_judge(fac_request(case.query, answer.final_answer))
    if frozen is not None:
        strict = _by_rule(rule) if rule else _stated(frozen, frozen)
        return _official(frozen.raw or frozen.label, frozen), strict, _cause(rule, "fac-reply-words")
    shown = yield from questions.put("completeness", _evidence(case, answer.final_answer))
    compat = _official(shown.raw or shown.label, shown) if shown else unscored(Unscored.JUDGE_MISS)
    if rule:
        return compat, _by_rule(rule), _cause(rule, "")
    unwrapped = yield from questions.put("completeness", _evidence(case, plain))
    return compat, _stated(unwrapped, unwrapped), "fac-finish-arguments"


def _evidence(case: Case, text: str) -> dict[str, Json]:
    return {"query": case.query, "final_answer": text}


def _cause(rule: str, otherwise: str) -> str:
    return "finish-without-answer" if rule else otherwise


def _by_rule(why: str) -> Score:
    return scored(0.0, why=why, detail={"by": "rule"})


def _read_reply(reply: str) -> JudgeVerdict:
    return JudgeVerdict(label=stated_label(reply) or ERROR, raw=reply)


def _official(reply: str, verdict: JudgeVerdict | None) -> Score:
    return scored(official_reading(reply), detail=_facts(reply, verdict))


def _stated(read: JudgeVerdict | None, verdict: JudgeVerdict | None) -> Score:
    if read is None or read.label not in FAC_LABELS:
        label = read.label if read else ""
        return unscored(miss_reason([label]), detail=_facts(read.raw, verdict) if read else None)
    return scored(1.0 if read.label == "solved" else 0.0, detail=_facts(read.raw or read.label, verdict))


def _facts(reply: str, verdict: JudgeVerdict | None) -> Json:
    facts: dict[str, Json] = {"by": "judge", "reply": reply[:_KEPT_TEXT]}
    if verdict is not None:
        facts |= {"judge": verdict.judge, "provenance": verdict.provenance.value, "key": verdict.key}
    return facts
