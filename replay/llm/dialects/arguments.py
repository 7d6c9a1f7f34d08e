"""A grammar for calls: the functions of a request as one JSON Schema of what may be called how.

Parameter schemas are written for people and remote models, so keywords that JSON Schema does not define are
left out (it says they mean nothing), as are required names that no property has. Keywords it does define and
a grammar cannot keep are errors that name the tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replay.core.errors import GrammarError
from replay.core.types import ChatRequest, Json, ToolSpec
from replay.llm.grammar.keywords import CHECKED, GRAMMAR, NOTES, REFUSED
from replay.llm.grammar.schema import compile_schema

__all__ = ["call_schema", "callable_tools", "parameter_schema"]

_KNOWN: Final = {*GRAMMAR, *CHECKED, *NOTES, *REFUSED}
_NO_PARAMETERS: Final[dict[str, Json]] = {"type": "object", "properties": {}, "additionalProperties": False}
_MAX_DEPTH: Final = 60


def callable_tools(request: ChatRequest) -> tuple[ToolSpec, ...]:
    """List the tools that the request's `tool_choice` leaves; all for auto and required, none for none.

    Errors:  GrammarError when it demands a function that is not there.
    """
    if request.tool_choice == "none":
        return ()
    if request.tool_choice in ("auto", "required"):
        return request.tools
    named = tuple(spec for spec in request.tools if spec.name == request.tool_choice)
    if not named:
        raise GrammarError(
            f"tool_choice {request.tool_choice[:60]!r}",
            expected=f"auto, none, required or one of {', '.join(spec.name for spec in request.tools)}",
        )
    return named


def call_schema(tools: Sequence[ToolSpec], *, arguments: str = "arguments") -> dict[str, Json]:
    """Write the schema of one call: name and arguments of exactly one of the tools.

    The parameter schemas lie under `#/$defs/tool-N`, where the caller must leave them.
    Errors:  GrammarError naming the tool whose parameters a grammar cannot keep.
    """
    definitions: dict[str, Json] = {}
    options: list[Json] = []
    for number, spec in enumerate(tools):
        place = f"tool-{number}"
        definitions[place] = _checked(spec, place)
        options.append(
            {
                "type": "object",
                "properties": {"name": {"const": spec.name}, arguments: {"$ref": f"#/$defs/{place}"}},
                "required": ["name", arguments],
                "additionalProperties": False,
            }
        )
    return {"anyOf": options, "$defs": definitions}


def parameter_schema(parameters: Json, place: str = "") -> dict[str, Json]:
    """Clean a tool's parameter schema; its references are led to `place` among the caller's definitions."""
    if not isinstance(parameters, dict) or not parameters:
        return dict(_NO_PARAMETERS)
    cleaned = _clean(parameters, place, 0)
    return {"type": "object", **cleaned}


def _checked(spec: ToolSpec, place: str) -> dict[str, Json]:
    try:
        compile_schema(parameter_schema(spec.parameters))
    except GrammarError as error:
        raise GrammarError(
            f"parameters of tool {spec.name[:60]!r}: {error.what}",
            where=error.where,
            expected=error.expected,
            next_step="choose the react dialect, which needs no grammar",
        ) from None
    return parameter_schema(spec.parameters, place)


def _clean(schema: Json, place: str, depth: int) -> Json:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return schema
    cleaned: dict[str, Json] = {}
    for keyword, value in schema.items():
        if keyword not in _KNOWN:
            continue
        kind = GRAMMAR.get(keyword)
        if kind == "schema":
            cleaned[keyword] = _clean(value, place, depth + 1)
        elif kind == "schemas" and isinstance(value, list):
            cleaned[keyword] = [_clean(item, place, depth + 1) for item in value]
        elif kind == "schemas by name" and isinstance(value, dict):
            cleaned[keyword] = {name: _clean(item, place, depth + 1) for name, item in value.items()}
        elif kind == "reference" and place and isinstance(value, str):
            cleaned[keyword] = value.replace("#/", f"#/$defs/{place}/", 1)
        else:
            cleaned[keyword] = value
    return _with_known_names(cleaned)


def _with_known_names(schema: dict[str, Json]) -> dict[str, Json]:
    """Leave out required names without a property, such as the empty one some benchmarks start with."""
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, dict) and isinstance(required, list):
        schema["required"] = list(dict.fromkeys(name for name in required if name in properties))
    return schema
