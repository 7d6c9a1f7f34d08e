"""A chat request in an order of members that follows from its key.

Keys are made of canonical JSON, in which the members of an object have no order; a prompt and a grammar are
written in some order, and a model answers differently in another. So a request is put into one order before
anything is made of it: two requests with one key give one prompt, and a recorded request gives the prompt
that it was recorded with. Lists keep their order in a key, and `required` and `optional` are lists: they say
in which order the properties of a schema were meant.
"""

from __future__ import annotations

from typing import Final

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.types import ChatRequest, Json

__all__ = ["in_key_order"]

_KEYWORDS: Final = (
    "$ref",
    "type",
    "title",
    "description",
    "enum",
    "const",
    "default",
    "example_value",
    "examples",
    "items",
    "properties",
    "required",
    "optional",
)
"""Keywords of a schema in the order people write them; all others follow, sorted."""

_NAMED: Final = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
"""Keywords whose members are named by the schema's author: names there are no keywords."""


def in_key_order(request: ChatRequest) -> ChatRequest:
    """Return the same request with the members of its schemas in the order that follows from its key.

    Errors:  CanonicalError for a value that no key can be made of.
    """
    tools = tuple(msgspec.structs.replace(tool, parameters=_order(tool.parameters)) for tool in request.tools)
    schema = request.response_schema
    return msgspec.structs.replace(request, tools=tools, response_schema=_order(schema))


def _order(schema: Json) -> Json:
    # Through canonical JSON: what two spellings of one value differ in is gone.
    return None if schema is None else _order_schema(parse_json(canonical_bytes(schema)))


def _order_schema(value: Json) -> Json:
    if isinstance(value, list):
        return [_order_schema(item) for item in value]
    if not isinstance(value, dict):
        return value
    ordered = [name for name in _KEYWORDS if name in value]
    ordered += sorted(value.keys() - set(ordered))
    return {
        name: _order_named(value[name], _meant(value) if name == "properties" else [])
        if name in _NAMED
        else _order_schema(value[name])
        for name in ordered
    }


def _order_named(value: Json, meant: list[str]) -> Json:
    if not isinstance(value, dict):
        return _order_schema(value)
    first = [name for name in dict.fromkeys(meant) if name in value]
    rest = sorted(value.keys() - set(first))
    return {name: _order_schema(value[name]) for name in (*first, *rest)}


def _meant(schema: dict[str, Json]) -> list[str]:
    """Names in the order in which the schema lists them."""
    lists = (schema.get("required"), schema.get("optional"))
    return [name for names in lists if isinstance(names, list) for name in names if isinstance(name, str)]
