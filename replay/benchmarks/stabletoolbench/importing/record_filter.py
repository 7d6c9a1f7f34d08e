"""What tells a good recorded answer from a bad one: upstream's filter, origin rules, the failure record.

Verdicts are facts beside an answer. Nothing is dropped here; the importer's options decide.
"""

from __future__ import annotations

import re
from typing import Final

from replay.core.types import Json

__all__ = ["ACCEPTED", "FAILURE_TEXT", "check_record", "is_empty_answer", "is_failure_record", "origin_of"]

ACCEPTED: Final = "accept"
FAILURE_TEXT: Final = "Failed to generate fake response"
"""Error text that upstream's simulator stores when it gave up; such a record is no API answer."""
_PROXY_CUT: Final = 2048
"""The real proxy cuts the Python text of a response to this many characters."""

_UNEXPECTED_ARGUMENT: Final = "got an unexpected keyword argument"
# (words, case-sensitive), in upstream's order; the first hit decides.
_REJECTING: Final[tuple[tuple[tuple[str, ...], bool], ...]] = (
    (
        ("rate limit", "time out", "timed out", "does not exist", "404", "504", "500", "internal error"),
        False,
    ),
    (("Service Not Found",), True),
    (
        (
            "authoriz",
            "authenticat",
            "unauthorized",
            "blocked user",
            "unsubscribe",
            "blocked",
            "401",
            "403",
            "credential",
            "unauthenticated",
            "disabled for your subscription",
        ),
        False,
    ),
    (("ACCESS_DENIED",), True),
    (("invalid consumer key", "parameter", "parse", "is not defined"), False),
)
_LATE: Final = ("status_code=50", "status_code=429")
_MISSING_API: Final = re.compile(r"\{'[^']*': \"API doesn't exists\"\}")


def check_record(answer: Json) -> str:
    """Say what upstream's record filter says: `accept`, or `reject:` and the word that decided.

    Source:  server/utils.py check_result at aa4ed9f. Upstream applies it to real answers only; a three-digit
             number in plain data is enough to reject one.
    """
    if not isinstance(answer, dict) or "error" not in answer:
        return "reject: no error field"
    if answer["error"] != "":
        return "reject: error"
    if "response" not in answer:
        return "reject: no response field"
    word = _rejecting_word(str(answer["response"]))
    return f"reject: {word}" if word else ACCEPTED


def is_failure_record(answer: Json) -> bool:
    """Recognise the record that upstream's simulator stores when it could not make an answer."""
    return isinstance(answer, dict) and answer.get("error") == FAILURE_TEXT


def is_empty_answer(answer: Json) -> bool:
    """Recognise an answer without an error that says nothing."""
    return (
        isinstance(answer, dict)
        and answer.get("error") == ""
        and "response" in answer
        and answer["response"] in ("", None, [], {})
    )


def origin_of(answer: Json) -> str:
    """Say real, simulated or unknown; unknown unless the record itself proves the other.

    Proof is a flag that a fork writes, the simulator's failure record, or a Python text cut at exactly the
    proxy's limit. Shape alone proves nothing: texts, objects and lists occur on both sides.
    """
    if not isinstance(answer, dict):
        return "unknown"
    flag = answer.get("is_fake")
    if isinstance(flag, bool):
        return "simulated" if flag else "real"
    if is_failure_record(answer):
        return "simulated"
    response = answer.get("response")
    if isinstance(response, str) and len(response) == _PROXY_CUT and response[0] in "{[":
        return "real"
    return "unknown"


def _rejecting_word(text: str) -> str:
    lowered = text.lower()
    if _UNEXPECTED_ARGUMENT in lowered:
        return ""
    if _MISSING_API.fullmatch(text):
        return "API doesn't exists"
    for words, exact in _REJECTING:
        for word in words:
            if word in (text if exact else lowered):
                return word
    return next((word for word in _LATE if word in text), "") if text else "empty"
