"""Parameter schemas of tools, cleaned and put together into one schema of calls."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import GrammarError
from replay.core.types import Json
from replay.llm.dialects.arguments import call_schema, parameter_schema
from tests.support.chats import make_tool
from tests.support.grammars import accepted


def test_keywords_that_mean_nothing_are_left_out() -> None:
    """Benchmarks add words of their own, and required names that no property has."""
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string", "example_value": "Oslo", "description": "d"}},
        "required": ["", "city"],
        "optional": [""],
    }
    cleaned = {"city": {"type": "string", "description": "d"}}
    assert {"type": "object", "properties": cleaned, "required": ["city"]} == parameter_schema(parameters)


@pytest.mark.parametrize("parameters", [None, {}, "x"])
def test_a_tool_without_parameters_takes_none(parameters: Json) -> None:
    """Its arguments are an empty object."""
    assert [True, False] == accepted(parameter_schema(parameters), [{}, {"a": 1}])


def test_names_of_properties_are_not_keywords() -> None:
    """A parameter may be called `type` or `not`."""
    parameters = {"properties": {"not": {"type": "integer"}, "optional": {"type": "null"}}}
    assert ["not", "optional"] == list(parameter_schema(parameters)["properties"])


def test_references_of_each_tool_stay_its_own() -> None:
    """Two tools may define the same name differently."""
    tools = tuple(
        make_tool(
            f"tool-{kind}",
            {
                "type": "object",
                "properties": {"x": {"$ref": "#/$defs/item"}},
                "required": ["x"],
                "$defs": {"item": {"type": kind}},
            },
        )
        for kind in ("integer", "string")
    )
    calls = [
        {"name": f"tool-{kind}", "arguments": {"x": x}} for kind in ("integer", "string") for x in (1, "1")
    ]
    assert [True, False, False, True] == accepted(call_schema(tools), calls)


def test_a_tool_whose_parameters_no_grammar_keeps_is_named() -> None:
    """With the keyword, its place, and what can be done."""
    tool = make_tool("odd", {"type": "object", "properties": {"a": {"not": {}}}})
    with pytest.raises(
        GrammarError, match=r"parameters of tool 'odd': keyword 'not' .*\(#/properties/a/not\).*react dialect"
    ):
        call_schema((tool,))


def test_the_schema_is_plain_json() -> None:
    """It can be hashed and shown."""
    assert json.loads(json.dumps(call_schema((make_tool(),))))
