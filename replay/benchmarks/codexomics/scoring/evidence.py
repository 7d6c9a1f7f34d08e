"""The structured calls of one record: which fields count, and what is known of execution (spec 6.1).

Owns the order of sources, the join with executions, and the contradictions between evidence fields. Text,
logs and inferred calls (`actualResult.functionCalls`) earn nothing and are never read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from replay.benchmarks.codexomics.naming import tool_key
from replay.benchmarks.codexomics.records import ObservedCall
from replay.core.types import Json, Record

__all__ = ["Evidence", "parse_arguments", "read_evidence"]

_LISTS: Final = ("nativeFunctionCalls", "toolCalls", "tool_calls")
_NAMES: Final = ("tool_name", "toolName", "name", "functionName", "function_name")
_ARGUMENTS: Final = ("parameters", "arguments", "args", "input")
_IDS: Final = ("id", "callId", "call_id", "toolCallId", "tool_call_id")
_RAN: Final = frozenset({"completed", "succeeded", "success", "failed", "error"})
_GOOD: Final = frozenset({"completed", "succeeded", "success"})


class Evidence(Record, frozen=True, kw_only=True):
    """What one record shows."""

    calls: tuple[ObservedCall, ...]
    source: str
    """Field the calls were read from; empty when there is none."""
    contradictions: tuple[str, ...] = ()
    """Fields that say opposite things of one call."""


def read_evidence(record: Mapping[str, Json]) -> Evidence:
    """Read the observed calls of a record; the first source that is there wins."""
    source, raw, all_ran = _source(record)
    actual = record.get("actualResult")
    executions = [
        *_objects(record.get("toolExecutions")),
        *(_objects(actual.get("toolExecutions")) if isinstance(actual, dict) else ()),
    ]
    used: set[int] = set()
    calls, contradictions = [], []
    for index, item in enumerate(raw, start=1):
        name = _name(item)
        if name is None:
            continue
        joined = _join(item, name, executions, used)
        facts = [item] if joined is None else [item, joined]
        executed = all_ran or any(_ran(fact) for fact in facts)
        success, odd = _success(facts)
        if success is not None and any(fact.get("executed") is False for fact in facts):
            odd = odd or "it has an outcome and was not executed"
        if odd:
            contradictions.append(f"call {index} ({name}): {odd}")
        parameters, broken = parse_arguments(_first(item, _ARGUMENTS, _function(item)))
        broken = broken or item.get("broken_arguments") is True
        results = [fact["result"] for fact in facts if fact.get("result") is not None]
        valid = item.get("schema_valid")
        calls.append(
            ObservedCall(
                tool=name,
                parameters=parameters,
                executed=executed,
                success=success,
                result=results[0] if results else None,
                has_result=bool(results),
                schema_valid=valid if isinstance(valid, bool) else None,
                is_contradicted=bool(odd),
                broken_arguments=broken,
            )
        )
    return Evidence(calls=tuple(calls), source=source, contradictions=tuple(contradictions))


def parse_arguments(value: Json) -> tuple[dict[str, Json], bool]:
    """Read a call's arguments: an object, or text that holds one; what is neither is {} and said to be so."""
    if isinstance(value, dict):
        return value, False
    if value is None:
        return {}, False
    if isinstance(value, str):
        try:
            parsed = json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return {}, True
        return (parsed, False) if isinstance(parsed, dict) else ({}, True)
    return {}, True


def _source(record: Mapping[str, Json]) -> tuple[str, list[dict[str, Json]], bool]:
    """Field, calls, and whether the field itself means that all of them ran."""
    actual = record.get("actualResult")
    inside = actual if isinstance(actual, dict) else {}
    if isinstance(inside.get("executedFunctionCalls"), list):
        return "executedFunctionCalls", list(_objects(inside["executedFunctionCalls"])), True
    if isinstance(actual, list):
        return "actualResult", [item for item in _objects(actual) if _ran(item)], False
    for name in (*_LISTS, "calls"):
        for holder in (inside, record):
            if isinstance(holder.get(name), list):
                return name, list(_objects(holder[name])), False
    if _name(inside) is not None and _ran(inside):
        return "actualResult", [inside], False
    said = record.get("llmInteractionData")
    response = said.get("response") if isinstance(said, dict) else None
    calls = response.get("functionCalls") if isinstance(response, dict) else None
    if isinstance(calls, list):
        return "llmInteractionData", list(_objects(calls)), False
    return "", [], False


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def _function(item: Mapping[str, Json]) -> Mapping[str, Json]:
    inner = item.get("function")
    return inner if isinstance(inner, dict) else {}


def _first(item: Mapping[str, Json], names: tuple[str, ...], inner: Mapping[str, Json]) -> Json:
    for holder in (item, inner):
        for name in names:
            if holder.get(name) is not None:
                return holder[name]
    return None


def _name(item: Mapping[str, Json]) -> str | None:
    found = _first(item, _NAMES, _function(item))
    if found is None and isinstance(item.get("function"), str):
        found = item["function"]
    return found if isinstance(found, str) and found.strip() else None


def _join(
    item: Mapping[str, Json], name: str, executions: list[dict[str, Json]], used: set[int]
) -> dict[str, Json] | None:
    """Find what ran for a call: by its id, else the first unused of the tool."""
    identity = _first(item, _IDS, {})
    by_id = [i for i, run in enumerate(executions) if identity is not None and identity in _ids(run)]
    by_name = [i for i, run in enumerate(executions) if tool_key(_name(run) or "") == tool_key(name)]
    found = next((i for i in (*by_id, *by_name) if i not in used), None)
    if found is None:
        return None
    used.add(found)
    return executions[found]


def _ids(run: Mapping[str, Json]) -> list[Json]:
    return [run[name] for name in _IDS if run.get(name) is not None]


def _ran(fact: Mapping[str, Json]) -> bool:
    if fact.get("executionObserved") is True or fact.get("executed") is True:
        return True
    method = fact.get("detectionMethod", fact.get("detection_method"))
    if isinstance(method, str) and "execution" in method.lower():
        return True
    return _status(fact) in _RAN


def _status(fact: Mapping[str, Json]) -> str:
    status = fact.get("status")
    return status.strip().lower() if isinstance(status, str) else ""


def _success(facts: list[dict[str, Json]]) -> tuple[bool | None, str]:
    """Success (explicit flag, else an error, else status), and what contradicts it."""
    flags = [
        fact[name] for fact in facts for name in ("success", "succeeded") if isinstance(fact.get(name), bool)
    ]
    has_error = any(fact.get("error") not in (None, "", False) for fact in facts)
    states = [_status(fact) in _GOOD for fact in facts if _status(fact) in _RAN]
    said = [*flags, *([False] if has_error else []), *states]
    odd = "its success, error and status fields disagree" if len(set(said)) > 1 else ""
    return (said[0] if said else None), odd
