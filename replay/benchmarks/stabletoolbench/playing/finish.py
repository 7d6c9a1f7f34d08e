"""What a Finish call means: an answer, a give-up, or a mistake the candidate is told about.

Owns the lenient reading of the Finish arguments and the observation and status code of each outcome (spec
4.4).
Source: toolbench/inference/Downstream_tasks/rapidapi_multithread.py at aa4ed9f.
"""

from __future__ import annotations

import json
from typing import Final

from replay.benchmarks.stabletoolbench.naming import FINISH
from replay.benchmarks.stabletoolbench.playing.statuses import Status, UpstreamFailureError
from replay.core.types import Json, Record

__all__ = ["FINISH", "GIVE_ANSWER", "GIVE_UP", "FinishOutcome", "read_finish"]

GIVE_ANSWER: Final = "give_answer"
GIVE_UP: Final = "give_up_and_restart"

# The candidate reads these; byte compatibility of recorded conversations needs the exact texts.
_ANSWERED: Final = '{"response":"successfully giving the final answer."}'
_GAVE_UP: Final = '{"response":"chose to give up and restart"}'
_NO_TYPE: Final = '{error:"must have "return_type""}'
_NO_ANSWER: Final = '{error:"must have "final_answer""}'
_BAD_TYPE: Final = '{error:""return_type" is not a valid choice"}'

_TYPE_MARK: Final = '"return_type": "'
_ANSWER_MARK: Final = '"final_answer": "'


class FinishOutcome(Record, frozen=True, kw_only=True):
    """How a Finish call came out."""

    observation: str
    code: int
    """3 answer, 4 give-up, 2 mistake."""


def read_finish(text: str, *, strict: bool) -> FinishOutcome:
    """Read the arguments of a Finish call.

    Errors:  UpstreamFailureError (compat only) for JSON that is no object: upstream's own code fails there.
    Source:  rapidapi_multithread.py, _step. Differs in strict: no search of broken text, and the answer must
             be a text that is not blank.
    """
    fields = _parse_fields(text, strict=strict)
    if "return_type" not in fields:
        return FinishOutcome(observation=_NO_TYPE, code=Status.BAD_INPUT)
    chosen = fields["return_type"]
    if chosen == GIVE_UP:
        return FinishOutcome(observation=_GAVE_UP, code=Status.GAVE_UP)
    if chosen != GIVE_ANSWER:
        return FinishOutcome(observation=_BAD_TYPE, code=Status.BAD_INPUT)
    answer = fields.get("final_answer")
    if "final_answer" not in fields or (strict and not (isinstance(answer, str) and answer.strip())):
        return FinishOutcome(observation=_NO_ANSWER, code=Status.BAD_INPUT)
    return FinishOutcome(observation=_ANSWERED, code=Status.ANSWERED)


def _parse_fields(text: str, *, strict: bool) -> dict[str, Json]:
    try:
        # strict=False lets control characters stand inside strings: models write raw line ends there.
        fields = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {} if strict else _search_fields(text)
    if isinstance(fields, dict):
        return fields
    if strict:
        return {}
    raise UpstreamFailureError("finish-arguments", "the arguments of Finish are JSON but no object")


def _search_fields(text: str) -> dict[str, Json]:
    """Find the two fields in text that is not JSON; only their presence and a valid choice matter."""
    found: dict[str, Json] = {}
    if _TYPE_MARK in text:
        found["return_type"] = "?"
        for choice in (GIVE_ANSWER, GIVE_UP):
            if f'{_TYPE_MARK}{choice}"' in text:
                found["return_type"] = choice
                break
    if _ANSWER_MARK in text:
        found["final_answer"] = text[text.index(_ANSWER_MARK) + len(_ANSWER_MARK) :]
    return found
