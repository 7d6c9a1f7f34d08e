"""Status codes of calls, the observation text of an answer, and what ends an episode early.

Owns how a recorded answer becomes what the candidate reads: JSON text, status code by error text, the cut
(spec 4.4). Source: toolbench/inference/Downstream_tasks/rapidapi_multithread.py at aa4ed9f.
"""

from __future__ import annotations

import enum
import json
import re
from typing import Final

from replay.core.types import Json, Record

__all__ = [
    "INVALID_BODY",
    "Observation",
    "Status",
    "UpstreamFailureError",
    "cut_text",
    "error_text",
    "observe_answer",
    "observe_text",
    "status_of_error",
]

INVALID_BODY: Final = "request invalid, data error"
"""What the client says when the answer is not JSON; with `. status_code=<n>` when the server failed."""


class Status(enum.IntEnum):
    """Status code of one call; only NO_FUNCTION, ANSWERED and GAVE_UP change what happens next."""

    NO_COMPLETION = -1
    """Not of a call: the model gave no completion; its thought carries this code."""
    OK = 0
    NO_FUNCTION = 1
    BAD_INPUT = 2
    ANSWERED = 3
    GAVE_UP = 4
    TIMEOUT = 5
    NOT_WORKING = 6
    UNAUTHORIZED = 7
    """The code says so; the comments of the source swap 7 and 8."""
    UNSUBSCRIBED = 8
    TOO_MANY_REQUESTS = 9
    RATE_LIMIT = 10
    MESSAGE_ERROR = 11
    BAD_REQUEST = 12


_ANSWER_HEAD: Final = re.compile(r'\{"error": ("(?:[^"\\]|\\.)*"), "response": ')
_CUT_MARK: Final = "..."

_BY_ERROR: Final = {
    "API not working error...": Status.NOT_WORKING,
    "Unauthorized error...": Status.UNAUTHORIZED,
    "Unsubscribed error...": Status.UNSUBSCRIBED,
    "Too many requests error...": Status.TOO_MANY_REQUESTS,
    "Rate limit per minute error...": Status.RATE_LIMIT,
    "Message error...": Status.MESSAGE_ERROR,
}
# The client itself writes these two, with details behind them; they come back as recorded answers when a
# conversation is replayed.
_BY_HEAD: Final = (("Timeout error...", Status.TIMEOUT), (INVALID_BODY, Status.BAD_REQUEST))


class UpstreamFailureError(Exception):
    """A place where upstream's own program stops with an exception and leaves no answer for the task.

    Compat rules end the episode here, with nothing produced; strict rules never raise it.
    """

    def __init__(self, name: str, detail: str) -> None:
        """Keep the short name of the place and what happened there."""
        self.name = name
        self.detail = detail
        super().__init__(f"{name}: {detail}")


class Observation(Record, frozen=True, kw_only=True):
    """What the candidate reads after a call."""

    text: str
    code: int


def error_text(error: str) -> str:
    """Write the two-key answer of a failed call as JSON text."""
    return json.dumps({"error": error, "response": ""})


def cut_text(text: str, max_observation: int) -> str:
    """Cut an observation to its limit; a cut text ends in `...`, which comes on top of the limit."""
    return text if len(text) <= max_observation else text[:max_observation] + _CUT_MARK


def status_of_error(error: Json) -> Status:
    """Status code by the error text of an answer; anything unknown is a normal answer."""
    if not isinstance(error, str):
        return Status.OK
    by_head = (status for head, status in _BY_HEAD if error.startswith(head))
    return _BY_ERROR.get(error) or next(by_head, Status.OK)


def observe_answer(body: Json, *, strict: bool) -> Observation:
    """Turn a recorded JSON answer into the observation, not yet cut.

    Errors:  UpstreamFailureError (compat only) when there is no `error` key to read; strict rules make that a
             typed error observation with code 12, and ask for `response` too.
    Source:  rapidapi_multithread.py, _step. The text is Python's JSON: one space after `,` and `:`, ASCII
             escapes, names in recorded order, as in all 28 observations of the upstream example.
    """
    missing = _missing_key(body, ("error", "response") if strict else ("error",))
    if not missing:
        return Observation(text=json.dumps(body), code=status_of_error(body["error"]))
    if strict:
        return Observation(text=error_text(f"Recorded answer invalid: {missing}"), code=Status.BAD_REQUEST)
    raise UpstreamFailureError("answer-shape", missing)


def observe_text(text: str, *, strict: bool) -> Observation:
    """Turn a recorded answer that is not strict JSON into the observation, not yet cut.

    A cut observation (imported from an answer file, where nothing but the cut text is left) is shown as it
    was. Compat reads what Python's JSON reads (NaN, repeated names), as upstream's server and client do;
    everything else is what the client says about a body that is not JSON.
    """
    head = _ANSWER_HEAD.match(text)
    if head is not None and text.endswith(_CUT_MARK):
        return Observation(text=text, code=status_of_error(_read_leniently(head.group(1))))
    if not strict:
        body = _read_leniently(text)
        if body is not None:
            return observe_answer(body, strict=False)
    return Observation(text=error_text(INVALID_BODY), code=Status.BAD_REQUEST)


def _read_leniently(text: str) -> Json:
    """Read JSON as Python does; None when it is none (a bare `null` is no answer either)."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _missing_key(body: Json, names: tuple[str, ...]) -> str:
    if not isinstance(body, dict):
        return f"the answer is a JSON {type(body).__name__}, not an object"
    absent = [name for name in names if name not in body]
    return f"the answer has no {absent[0]!r}" if absent else ""
