"""A request with one key gives one prompt: members of schemas have an order that follows from the key."""

from __future__ import annotations

import json

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.keys import completion_key
from replay.core.types import ChatRequest, Json, Message, Role, ToolSpec
from replay.llm.ordering import in_key_order

SCHEMA = {
    "type": "object",
    "properties": {
        "zone": {"description": "Zone", "type": "string"},
        "city": {"type": "string", "enum": ["b", "a"]},
        "limit": {"type": "integer"},
    },
    "required": ["zone", "city"],
}


def make_request(schema: Json = None, parameters: Json = None) -> ChatRequest:
    """Build a request with a response schema and one tool."""
    return ChatRequest(
        role=Role.CANDIDATE,
        messages=(Message(role="user", content="x"),),
        tools=(ToolSpec(name="f", parameters=parameters),),
        response_schema=schema,
    )


def text_of(value: Json) -> str:
    """The order of members, visible."""
    return json.dumps(value)


def test_a_request_read_back_from_its_key_gives_the_same_prompt() -> None:
    """What was recorded is canonical JSON, in which members are sorted."""
    request = make_request(SCHEMA, SCHEMA)
    recorded = msgspec.convert(parse_json(canonical_bytes(msgspec.to_builtins(request))), ChatRequest)
    assert text_of(request.response_schema) != text_of(recorded.response_schema)
    first, second = in_key_order(request), in_key_order(recorded)
    assert text_of(first.response_schema) == text_of(second.response_schema)
    assert text_of(first.tools[0].parameters) == text_of(second.tools[0].parameters)


def test_the_lists_of_a_schema_say_how_its_properties_were_meant() -> None:
    """Required ones first, in their order; then the optional ones, then the rest."""
    ordered = in_key_order(make_request(SCHEMA)).response_schema
    assert ["zone", "city", "limit"] == list(ordered["properties"])
    assert ["type", "properties", "required"] == list(ordered)
    assert ["type", "description"] == list(ordered["properties"]["zone"])
    optional = {**SCHEMA, "optional": ["", "limit"], "required": ["city"]}
    assert ["city", "limit", "zone"] == list(
        in_key_order(make_request(optional)).response_schema["properties"]
    )


def test_properties_named_like_keywords_are_names() -> None:
    """A parameter called `type` keeps its place among the parameters."""
    schema = {
        "type": "object",
        "properties": {"type": {"type": "string"}, "a": {}},
        "required": ["a", "type"],
    }
    assert ["a", "type"] == list(in_key_order(make_request(schema)).response_schema["properties"])


def test_lists_keep_their_order() -> None:
    """Lists are ordered in keys as well."""
    ordered = in_key_order(make_request(SCHEMA)).response_schema
    assert ["b", "a"] == ordered["properties"]["city"]["enum"]


def test_the_key_does_not_change() -> None:
    """It is the same request, written in another order."""
    request = make_request(SCHEMA, SCHEMA)
    keys = [completion_key("m", each, seed=1, trial=0) for each in (request, in_key_order(request))]
    assert keys[0] == keys[1]


def test_nothing_is_made_of_nothing() -> None:
    """No schema stays no schema; true and lists of schemas pass."""
    assert make_request() == in_key_order(make_request())
    schema = {"anyOf": [True, {"type": "null"}], "properties": "odd", "required": "odd"}
    assert schema == in_key_order(make_request(schema)).response_schema
