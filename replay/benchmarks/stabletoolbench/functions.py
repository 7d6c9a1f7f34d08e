"""The functions a candidate sees, built from the raw API entries of a task.

`compat` builds them as upstream does, bit for bit: names cut to their last 64 characters and not made unique,
optional parameters only beside required ones, three known types. `strict` keeps every parameter with an
honest type and gives every function a name of its own. Source: toolbench/inference/Downstream_tasks/
rapidapi.py and rapidapi_multithread.py at aa4ed9f.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.stabletoolbench.naming import (
    FINISH,
    FUNCTION_NAME_LIMIT,
    full_function_name,
    function_name,
    parameter_name,
    standardize,
)
from replay.benchmarks.stabletoolbench.wording import OWN_WORDING, Wording
from replay.core.errors import InputError
from replay.core.types import Json, Record, ToolSpec

__all__ = [
    "FINISH",
    "RULES",
    "FunctionEntry",
    "build_functions",
    "find_by_suffix",
    "honest_schema",
    "nested_form",
]

RULES: Final = ("compat", "strict")
_DESCRIPTION_LIMIT: Final = 256
"""Upstream cuts API and parameter descriptions to this many characters."""
_COMPAT_TYPES: Final = {"NUMBER": "integer", "STRING": "string", "BOOLEAN": "boolean"}
_HONEST_TYPES: Final[dict[str, dict[str, Json]]] = {
    "number": {"type": "number"},
    "float": {"type": "number"},
    "integer": {"type": "integer"},
    "int": {"type": "integer"},
    "string": {"type": "string"},
    "enum": {"type": "string"},
    "boolean": {"type": "boolean"},
    "bool": {"type": "boolean"},
    "array": {"type": "array"},
    "list": {"type": "array"},
    "object": {"type": "object"},
    "dict": {"type": "object"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "time"},
    "binary": {"type": "string", "contentEncoding": "base64"},
}
# What an OpenAI-style function name may hold; the caret and Chinese characters of upstream's rule may not.
_FOREIGN: Final = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_LENGTH: Final = 8


class FunctionEntry(Record, frozen=True, kw_only=True):
    """One function of a task: what is shown, what it stands for, and how answer files write it."""

    shown: ToolSpec
    raw: ToolSpec | None
    """The API that a call is routed to; None for Finish."""
    upstream: Json
    """The flat function object of answer files and of the `tools` field."""


def build_functions(
    tools: Sequence[ToolSpec],
    *,
    rules: str = "compat",
    wording: Wording = OWN_WORDING,
    empty_start: bool = True,
) -> tuple[FunctionEntry, ...]:
    """Build the functions of one task from its raw API entries, Finish last.

    Shape:   one entry per raw spec, in their order, then Finish; compat may hold equal names.
    Errors:  InputError for unknown rules.
    Source:  rapidapi.py api_json_to_openai_json. `empty_start` is StableToolBench's form, in which the lists
             `required` and `optional` begin with an empty string; False is ToolBench's form and that of the
             shipped example answers. Strict rules ignore it and `wording`.
    """
    if rules not in RULES:
        raise InputError(f"unknown rules {rules!r}", expected=f"one of {', '.join(RULES)}")
    if rules == "strict":
        return (*_strict_entries(tools), _finish_entry(OWN_WORDING))
    entries = (_compat_entry(spec, wording, empty_start=empty_start) for spec in tools)
    return (*entries, _finish_entry(wording))


def find_by_suffix(entries: Sequence[FunctionEntry], name: str) -> FunctionEntry | None:
    """Find the function upstream routes a called name to: the first whose name ends with it.

    Where several functions have that one's full name, upstream takes category and tool of the first and the
    API of the last, so the first is out of reach.
    Source:  rapidapi.py _step and api_name_reflect. Differs: upstream raises for a proper suffix of `Finish`;
             here it is no match.
    """
    first = next((e for e in entries if e.raw is not None and e.shown.name.endswith(name)), None)
    if first is None or first.raw is None:
        return None
    last = next(e for e in reversed(entries) if e.shown.name == first.shown.name)
    if last is first or last.raw is None:
        return first
    tool = first.raw.identity.rpartition("/")[0]
    api = last.raw.identity.rpartition("/")[2]
    mixed = f"{tool}/{api}"
    return replace(last, shown=replace(last.shown, identity=mixed), raw=replace(last.raw, identity=mixed))


def nested_form(function: Json) -> dict[str, Json]:
    """Wrap a flat function object the way newer answer files write it."""
    return {"type": "function", "function": function}


def honest_schema(parameters: Iterable[tuple[str, Json, bool]]) -> dict[str, Json]:
    """JSON Schema of named upstream parameters, given as (name, upstream parameter, required)."""
    properties: dict[str, Json] = {}
    required: list[str] = []
    for name, parameter, needed in parameters:
        schema = dict(_honest_type(parameter.get("type", "")))
        if parameter.get("description"):
            schema["description"] = parameter["description"]
        default = parameter.get("default", "")
        if default is not None and str(default):
            schema["examples"] = [default]
        properties[name] = schema
        if needed and name not in required:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _honest_type(kind: str) -> dict[str, Json]:
    """Schema of an upstream type by its first word (`DATE (YYYY-MM-DD)` is a date); unknown: anything."""
    first = kind.split("(", maxsplit=1)[0].strip().lower()
    return _HONEST_TYPES.get(first, {})


def _parameters(entry: Json) -> Iterator[tuple[Json, bool]]:
    for parameter in entry.get("required_parameters") or ():
        yield parameter, True
    for parameter in entry.get("optional_parameters") or ():
        yield parameter, False


# ---- compat --------------------------------------------------------------------------------------------


def _compat_entry(spec: ToolSpec, wording: Wording, *, empty_start: bool) -> FunctionEntry:
    entry = spec.extra
    name = function_name(entry["api_name"], entry["tool_name"])
    start = [""] if empty_start else []
    schema: dict[str, Json] = {"type": "object", "properties": {}, "required": [*start], "optional": [*start]}
    if entry.get("required_parameters"):
        for parameter, needed in _parameters(entry):
            shown_name = parameter_name(parameter["name"])
            # A second parameter of the same name overwrites the first, and both are listed.
            schema["properties"][shown_name] = _compat_parameter(parameter)
            schema["required" if needed else "optional"].append(shown_name)
    function = {"name": name, "description": _compat_description(entry, name, wording), "parameters": schema}
    return _entry(spec, function)


def _compat_parameter(parameter: Json) -> dict[str, Json]:
    shown = {
        "type": _COMPAT_TYPES.get(parameter.get("type", ""), "string"),
        "description": parameter.get("description", "")[:_DESCRIPTION_LIMIT],
    }
    default = parameter.get("default", "")
    return {**shown, "example_value": default} if str(default) else shown


def _compat_description(entry: Json, name: str, wording: Wording) -> str:
    text = wording.tool_sentence.replace("{tool}", standardize(entry["tool_name"]))
    described = entry.get("api_description", "").strip()
    if not described:
        return text
    cut = described.replace(entry["api_name"], name)[:_DESCRIPTION_LIMIT]
    return text + wording.description_sentence.replace("{description}", cut)


# ---- strict --------------------------------------------------------------------------------------------


def _strict_entries(tools: Sequence[ToolSpec]) -> Iterator[FunctionEntry]:
    taken = {FINISH}
    for position, spec in enumerate(tools):
        name = _unique_name(spec, position, taken)
        taken.add(name)
        named = tuple(_strict_parameters(spec.extra))
        schema = honest_schema(named)
        schema["additionalProperties"] = False
        function = {"name": name, "description": _strict_description(spec), "parameters": schema}
        renamed = {shown: item["name"] for shown, item, _ in named if shown != item["name"]}
        yield _entry(spec, function, renamed)


def _unique_name(spec: ToolSpec, position: int, taken: set[str]) -> str:
    full = full_function_name(spec.extra["api_name"], spec.extra["tool_name"])
    plain = _FOREIGN.sub("_", full)
    if plain == full and len(full) <= FUNCTION_NAME_LIMIT and full not in taken:
        return full
    # The position joins in because one query may list the same API twice.
    text = f"{spec.identity}\n{position}"
    tail = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{plain[: FUNCTION_NAME_LIMIT - _DIGEST_LENGTH - 1]}_{tail}"


def _strict_parameters(entry: Json) -> Iterator[tuple[str, Json, bool]]:
    """Parameters under their normalised names (cache keys hold these), numbered where they collide."""
    taken: set[str] = set()
    for parameter, needed in _parameters(entry):
        base = parameter_name(parameter["name"]) or "parameter"
        shown, count = base, 2
        while shown in taken:
            shown, count = f"{base}_{count}", count + 1
        taken.add(shown)
        yield shown, parameter, needed


def _strict_description(spec: ToolSpec) -> str:
    head = f"API {spec.extra['api_name']!r} of the tool {spec.extra['tool_name']!r}."
    described = spec.description.strip()
    return f"{head} {described}" if described else head


# ---- both ----------------------------------------------------------------------------------------------


def _entry(spec: ToolSpec, function: dict[str, Json], renamed: dict[str, str] | None = None) -> FunctionEntry:
    shown = ToolSpec(
        name=function["name"],
        identity=spec.identity,
        description=function["description"],
        parameters=function["parameters"],
        response_shape=spec.response_shape,
        repeat_policy=spec.repeat_policy,
        depends_on_state=spec.depends_on_state,
        mutates=spec.mutates,
        extra={"renamed": renamed} if renamed else None,
    )
    return FunctionEntry(shown=shown, raw=spec, upstream=function)


def _finish_entry(wording: Wording) -> FunctionEntry:
    parameters = {
        "type": "object",
        "properties": {
            "return_type": {"type": "string", "enum": ["give_answer", "give_up_and_restart"]},
            "final_answer": {"type": "string", "description": wording.final_answer},
        },
        "required": ["return_type"],
    }
    function = {"name": FINISH, "description": wording.finish, "parameters": parameters}
    shown = ToolSpec(name=FINISH, description=wording.finish, parameters=parameters)
    return FunctionEntry(shown=shown, raw=None, upstream=function)
