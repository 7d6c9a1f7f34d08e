"""Which fields of a record count as observed calls, and what they say of execution."""

from __future__ import annotations

import pytest

from replay.benchmarks.codexomics.scoring.evidence import parse_arguments, read_evidence
from replay.core.types import Json

A: Json = {"tool_name": "a", "parameters": {"k": 1}}


@pytest.mark.parametrize(
    ("record", "source", "executed"),
    [
        (
            {"actualResult": {"executedFunctionCalls": [A], "nativeFunctionCalls": []}},
            "executedFunctionCalls",
            True,
        ),
        ({"actualResult": [{**A, "status": "completed"}, A]}, "actualResult", True),
        ({"nativeFunctionCalls": [A], "toolCalls": [A, A]}, "nativeFunctionCalls", False),
        ({"actualResult": {"toolCalls": [A]}}, "toolCalls", False),
        ({"tool_calls": [{"function": {"name": "a", "arguments": '{"k": 1}'}}]}, "tool_calls", False),
        ({"calls": [A]}, "calls", False),
        ({"actualResult": {**A, "executed": True}}, "actualResult", True),
        ({"llmInteractionData": {"response": {"functionCalls": [A]}}}, "llmInteractionData", False),
    ],
)
def test_the_first_source_wins(record: Json, source: str, executed: bool) -> None:
    """Sources are read in their order, and one call is found in each."""
    found = read_evidence(record)
    assert (source, [("a", {"k": 1}, executed)]) == (
        found.source,
        [(item.tool, item.parameters, item.executed) for item in found.calls],
    )


def test_inferred_calls_are_never_read() -> None:
    """`actualResult.functionCalls` earns nothing."""
    assert () == read_evidence({"actualResult": {"functionCalls": [A]}}).calls


@pytest.mark.parametrize(
    ("fields", "success"),
    [
        ({"success": True}, True),
        ({"success": False, "status": "completed"}, False),
        ({"error": "no"}, False),
        ({"status": "succeeded"}, True),
        ({"status": "failed"}, False),
        ({}, None),
    ],
)
def test_success_is_flag_then_error_then_status(fields: Json, success: bool | None) -> None:
    """The explicit flag leads, an error comes next, the status last; nothing is unknown."""
    assert success is read_evidence({"calls": [{**A, **fields}]}).calls[0].success


def test_executions_are_joined_by_id_then_by_name() -> None:
    """An execution belongs to the call of its id, else to the first unused call of its tool."""
    record = {
        "nativeFunctionCalls": [{**A, "id": "1"}, {**A, "id": "2"}],
        "toolExecutions": [
            {"tool_name": "A", "status": "failed"},
            {"tool_name": "a", "callId": "2", "status": "completed", "result": {"n": 2}},
        ],
    }
    found = [(item.executed, item.success, item.result) for item in read_evidence(record).calls]
    assert [(True, False, None), (True, True, {"n": 2})] == found


@pytest.mark.parametrize(
    ("text", "value", "broken"),
    [
        ('{"k": 1}', {"k": 1}, False),
        ('{"k": 1', {}, True),
        ("[1]", {}, True),
        ("", {}, False),
        (None, {}, False),
        (3, {}, True),
    ],
)
def test_argument_texts(text: Json, value: Json, broken: bool) -> None:
    """Text that holds no object is {} and said to be broken."""
    assert (value, broken) == parse_arguments(text)


@pytest.mark.parametrize("fields", [{"success": True, "error": "x"}, {"executed": False, "success": True}])
def test_contradictory_evidence_is_named(fields: Json) -> None:
    """Fields that say opposite things are a named finding."""
    (text,) = read_evidence({"calls": [{**A, **fields}]}).contradictions
    assert text.startswith("call 1 (a): ")
