"""What evaluators read: the converted answer of one task, or what an upstream result file already says of it.

Owns the forms an outcome may have and the parts of a converted answer that the metrics look at. Foreign
fields are tolerated; a part of the wrong type is a reason (`fault`), never an exception, for outcomes come
from outside.
"""

from __future__ import annotations

import json
from typing import Final

from replay.benchmarks.stabletoolbench.evidence import STATUS_LABELS
from replay.benchmarks.stabletoolbench.playing.finish import GIVE_ANSWER, GIVE_UP
from replay.core.types import Json, Record

__all__ = ["Answer", "Outcome", "Points", "finish_fields", "read_outcome"]

_MAX_CHAIN: Final = 10_000
"""Longer chains than any limit allows (200 queries) are not walked to their end."""


class Answer(Record, frozen=True, kw_only=True):
    """A converted answer, as far as the metrics read it."""

    whole: Json
    """The `answer` object as the file holds it."""
    final_answer: str
    """Argument text of Finish, or empty."""
    last_tool: str
    """Name in the last tool message of the first-child chain; empty without one."""
    tools: Json = None
    """`available_tools`."""


class Points(Record, frozen=True, kw_only=True):
    """Points of a preference result file for one task."""

    reference: int
    candidate: int


class Outcome(Record, frozen=True, kw_only=True):
    """Everything known about one task's outcome."""

    answer: Answer | None = None
    statuses: dict[int, str] | None = None
    """Pass-rate labels by run."""
    preferences: dict[str, Points] | None = None
    """Points by name of the reference."""
    fac: str | None = None
    """The completeness judge's whole reply."""
    fault: str = ""
    """Why a part that is there cannot be read."""


def read_outcome(outcome: Json) -> Outcome | None:
    """Decode an outcome; None when nothing was produced."""
    if outcome is None:
        return None
    if not isinstance(outcome, dict):
        return Outcome(fault=f"the outcome is a JSON {type(outcome).__name__}, not an object")
    converted = outcome.get("converted")
    answer = _read_answer(converted) if converted is not None else None
    fault = answer if isinstance(answer, str) else ""
    fac = outcome.get("fac")
    reply = fac.get("reply") if isinstance(fac, dict) else None
    return Outcome(
        answer=None if isinstance(answer, str) else answer,
        statuses=_read_statuses(outcome.get("statuses")),
        preferences=_read_preferences(outcome.get("preferences")),
        fac=reply if isinstance(reply, str) else None,
        fault=fault,
    )


def finish_fields(text: str) -> tuple[str, str]:
    """Split the argument text of Finish into return type and plain answer.

    Shape:   text that is no JSON object is itself the answer, with an empty return type.
    """
    try:
        # strict=False lets control characters stand inside strings: models write raw line ends there.
        fields = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return (GIVE_UP if GIVE_UP in text and GIVE_ANSWER not in text else "", text)
    if not isinstance(fields, dict):
        return ("", text)
    chosen, answer = fields.get("return_type"), fields.get("final_answer")
    plain = answer if isinstance(answer, str) else "" if answer is None else json.dumps(answer)
    return (chosen if isinstance(chosen, str) else "", plain)


def _read_answer(converted: Json) -> Answer | str:
    answer = converted.get("answer") if isinstance(converted, dict) else None
    if not isinstance(answer, dict):
        return "the converted answer has no object `answer`"
    final = answer.get("final_answer", "")
    details = answer.get("answer_details", [])
    if not isinstance(final, str) or not isinstance(details, list):
        return "`final_answer` is no text or `answer_details` is no list"
    return Answer(
        whole=answer,
        final_answer=final,
        last_tool=_last_tool(details),
        tools=converted.get("available_tools"),
    )


def _last_tool(details: list[Json]) -> str:
    """Name of the last tool message when first children are followed from the root.

    Source:  tooleval, get_steps at aa4ed9f: only the first child of each node is seen.
    """
    found = ""
    nodes = details
    for _ in range(_MAX_CHAIN):
        node = nodes[0] if isinstance(nodes, list) and nodes else None
        if not isinstance(node, dict):
            break
        if node.get("role") == "tool":
            message = node.get("message")
            name = message.get("name") if isinstance(message, dict) else None
            found = name if isinstance(name, str) else "?"
        nodes = node.get("next", [])
    return found


def _read_statuses(value: Json) -> dict[int, str] | None:
    if not isinstance(value, dict):
        return None
    return {
        int(run): label
        for run, label in value.items()
        if run.isascii() and run.isdigit() and label in STATUS_LABELS
    }


def _read_preferences(value: Json) -> dict[str, Points] | None:
    if not isinstance(value, dict):
        return None
    found: dict[str, Points] = {}
    for name, points in value.items():
        if not isinstance(points, dict):
            continue
        reference, candidate = points.get("reference"), points.get("candidate")
        if type(reference) is int and type(candidate) is int and min(reference, candidate) >= 0:
            found[name] = Points(reference=reference, candidate=candidate)
    return found
