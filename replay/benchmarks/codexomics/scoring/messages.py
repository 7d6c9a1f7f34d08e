"""Error texts of a failed case: expected and observed positions, parameter, both values (spec section 9)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from replay.benchmarks.codexomics.records import ObservedCall
from replay.benchmarks.codexomics.scoring.assessment import StepMatch
from replay.core.types import Json, Record

__all__ = ["Findings", "describe", "shown_value"]

_CUT: Final = 160
"""Characters of a value that an error shows, as upstream cuts."""
_MAX_ERRORS: Final = 100


class Findings(Record, frozen=True, kw_only=True):
    """What went wrong, before it is put in words."""

    matches: tuple[StepMatch, ...]
    calls: tuple[ObservedCall, ...]
    schema_faults: tuple[tuple[str, ...], ...]
    unexpected: tuple[int, ...]
    sequence_ok: bool
    order_free: bool
    needs_execution: bool


def describe(findings: Findings) -> tuple[str, ...]:
    """Put the findings of a failed case in words; at least one line, at most a hundred."""
    lines = [
        *_about_steps(findings),
        *_about_schemas(findings),
        *_about_order(findings),
        *_about_extras(findings),
    ]
    return tuple(lines[:_MAX_ERRORS])


def shown_value(value: Json) -> str:
    """A value as JSON, cut."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _CUT else f"{text[:_CUT]}..."


def _about_steps(findings: Findings) -> Iterator[str]:
    total, seen = len(findings.matches), len(findings.calls)
    if not total:
        yield "the test names no expected tool, so nothing can pass"
    if not seen:
        yield "no tool call was observed"
    for match in findings.matches:
        place = f"expected call {match.expected_index + 1} of {total} ({match.expected_tool})"
        if match.actual_index is None or match.arguments is None:
            yield f"{place}: not among the {seen} observed calls"
            continue
        call = findings.calls[match.actual_index]
        observed = f"observed call {match.actual_index + 1} of {seen}"
        for fault in match.arguments.mismatches:
            received = "nothing" if fault.is_missing else shown_value(fault.received)
            yield (
                f"{place}, {observed}: parameter {fault.parameter!r} expected {shown_value(fault.expected)}, "
                f"received {received}"
            )
        if findings.needs_execution and not (call.executed and call.success is True):
            state = "was not seen to run" if not call.executed else "ran and its success is unknown"
            yield f"{place}, {observed}: {'failed' if call.success is False else state}"


def _about_schemas(findings: Findings) -> Iterator[str]:
    for index, faults in enumerate(findings.schema_faults):
        if faults:
            place = f"observed call {index + 1} of {len(findings.calls)} ({findings.calls[index].key})"
            yield f"{place}: does not fit its schema: {'; '.join(faults)}"


def _about_order(findings: Findings) -> Iterator[str]:
    complete = all(match.actual_index is not None for match in findings.matches)
    if not findings.sequence_ok and not findings.order_free and findings.matches and complete:
        yield (
            f"the {len(findings.calls)} observed calls are not the {len(findings.matches)} expected ones "
            "in their order"
        )


def _about_extras(findings: Findings) -> Iterator[str]:
    for index in findings.unexpected:
        tool = findings.calls[index].key
        yield f"observed call {index + 1} of {len(findings.calls)} ({tool}): not expected"
