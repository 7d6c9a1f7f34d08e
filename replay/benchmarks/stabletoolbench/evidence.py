"""What each kind of verdict is about: the judge requests that importer and evaluators share.

The importer files upstream verdicts under these requests and the evaluators ask for them, so both sides must
build one and the same evidence. Evidence is made of what upstream's judge was shown, whole.
"""

from __future__ import annotations

from typing import Final

from replay.core.canonical import digest
from replay.core.types import Json, JudgeRequest

__all__ = [
    "BENCHMARK",
    "FAC_LABELS",
    "PREFERENCE_LABELS",
    "STATUS_LABELS",
    "fac_request",
    "sopr_request",
    "sowr_request",
]

BENCHMARK: Final = "stabletoolbench"
STATUS_LABELS: Final = ("Solved", "Unsure", "Unsolved")
PREFERENCE_LABELS: Final = ("reference", "candidate")
FAC_LABELS: Final = ("solved", "unsolved")

_SOPR_RUBRIC: Final = (
    "ToolEval pass rate: answer status, then whole answer when unsure (eval_pass_rate.py, aa4ed9f)"
)
_SOWR_RUBRIC: Final = "ToolEval preference of one round (eval_preference.py, aa4ed9f)"
_FAC_RUBRIC: Final = "Final answer completeness (fac_eval.py, aa4ed9f)"


def sopr_request(query: str, answer: Json, run: int) -> JudgeRequest:
    """Ask for the pass-rate status of one converted answer (`answer` = its `answer` object) in one run."""
    return JudgeRequest(
        benchmark=BENCHMARK,
        rubric="sopr",
        rubric_digest=digest("rubric", _SOPR_RUBRIC),
        evidence={"query": query, "answer": _shown(answer)},
        run=run,
        cached_only=True,
        choices=STATUS_LABELS,
    )


def sowr_request(query: str, reference: Json, candidate: Json, round_index: int) -> JudgeRequest:
    """Ask which of two converted answers won one round; order of presentation is the judge's affair."""
    return JudgeRequest(
        benchmark=BENCHMARK,
        rubric="sowr",
        rubric_digest=digest("rubric", _SOWR_RUBRIC),
        evidence={"query": query, "reference": _shown(reference), "candidate": _shown(candidate)},
        run=round_index,
        cached_only=True,
        choices=PREFERENCE_LABELS,
    )


def fac_request(query: str, final_answer: str) -> JudgeRequest:
    """Ask whether a final answer (as the file holds it) addresses every part of the query."""
    return JudgeRequest(
        benchmark=BENCHMARK,
        rubric="fac",
        rubric_digest=digest("rubric", _FAC_RUBRIC),
        evidence={"query": query, "final_answer": final_answer},
        run=0,
        cached_only=True,
        choices=FAC_LABELS,
    )


def _shown(answer: Json) -> dict[str, Json]:
    """The parts of a converted answer that carry meaning; `method` and `total_steps` do not."""
    return {
        "final_answer": answer.get("final_answer", ""),
        "answer_details": answer.get("answer_details", []),
    }
