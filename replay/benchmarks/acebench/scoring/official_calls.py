"""Lists of calls as the official checker compares them, quirks included (spec 3.2, 3.3).

Owns the order of the checks and with it the name of the first error. Source: model_eval/checker.py at commit
56dd66c.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from replay.benchmarks.acebench.literals.plain import Call
from replay.benchmarks.acebench.scoring.official_values import OfficialCrashError, check_value
from replay.core.types import Json

__all__ = ["FindTool", "check_call_list", "strip_number"]

FindTool = Callable[[str], Mapping[str, Json] | None]
"""First tool whose name is inside a text, with its `parameters` decoded; None when there is none."""

_NUMBER: Final = re.compile(r"_\d+$")


def strip_number(name: str) -> str:
    """Name of an API without the number that truths put behind repeated ones."""
    return _NUMBER.sub("", name) if name[-1:].isdigit() or name.endswith("\n") else name


def check_call_list(calls: Sequence[Call], truth: Json, find_tool: FindTool) -> str:
    """Compare calls with the truth, or with a pool of truths; the error's name, or empty.

    Errors:  OfficialCrashError where upstream raises.
    """
    error = ""
    for candidate in truth if isinstance(truth, list) else [truth]:
        found = _check_one_truth(calls, candidate, find_tool)
        if not found:
            return ""
        error = error or found
    return error


def _check_one_truth(calls: Sequence[Call], truth: Json, find_tool: FindTool) -> str:
    if not isinstance(truth, dict):
        raise OfficialCrashError("AttributeError")
    if len(calls) != len(truth):
        return "wrong functions number"
    if len(truth) == 1:
        ((full_name, arguments),) = truth.items()
        called, given = calls[0]
        if called != strip_number(full_name):
            return "function_mismatch"
        return _check_call(called, given, arguments, tool=find_tool(full_name))
    wanted = [(strip_number(name), name, arguments) for name, arguments in truth.items()]
    if sorted([name for name, _ in calls]) != sorted([name for name, _, _ in wanted]):
        return "function_mismatch"
    for name, full_name, arguments in wanted:
        error = _check_against_all(calls, name, arguments, tool=find_tool(full_name))
        if error:
            return error
    return ""


def _check_against_all(
    calls: Sequence[Call], name: str, truth: Json, *, tool: Mapping[str, Json] | None
) -> str:
    """Try every call until one passes; otherwise the error is that of the last one, whichever it is."""
    error = ""
    for called, arguments in calls:
        error = "simple_function_checker:unclear"
        if called == name:
            error = _check_call(called, arguments, truth, tool=tool)
            if not error:
                return ""
    return error


def _check_call(
    called: str, arguments: dict[str, Json], truth: Json, *, tool: Mapping[str, Json] | None
) -> str:
    if tool is None:
        raise OfficialCrashError("TypeError")
    try:
        parameters = tool["parameters"]
        if not arguments or parameters == {}:
            return "" if not arguments and parameters == {} else "wrong_param"
        properties = parameters["properties"]
        if truth == properties:
            return ""
        if truth == {}:
            return "wrong_param"
        if tool["name"] != called:
            return "wrong_function_name"
        return _check_arguments(arguments, truth, properties=properties, required=parameters["required"])
    except (KeyError, TypeError) as error:  # a schema without what is looked up in it
        raise OfficialCrashError(type(error).__name__) from None


def _check_arguments(
    arguments: dict[str, Json], truth: Json, *, properties: Mapping[str, Json], required: Json
) -> str:
    for name in required:
        if name not in arguments:
            return "lack_args"
    for name, value in arguments.items():
        if name not in properties or name not in truth:
            return "addition_args"
        error = check_value(value, truth[name], properties[name])
        if error:
            return error
    return ""
