"""Templates of API answers as JSON Schema: every spelling that the query files have, and named errors."""

from __future__ import annotations

import json

import pytest

from replay.benchmarks.stabletoolbench.shapes import MAX_LIST_ITEMS, answer_schema, shape_schema
from replay.core.errors import InputError
from replay.core.types import Json

CLOSED: Json = {"type": "object", "additionalProperties": False}


@pytest.mark.parametrize(
    ("leaf", "schema"),
    [
        ("str", {"type": "string"}),
        ("int", {"type": "integer"}),
        ("float", {"type": "number"}),
        ("bool", {"type": "boolean"}),
        ("NoneType", {"type": "null"}),
        ("empty list", {"type": "array", "maxItems": 0}),
        (["list of str with length 12"], {"type": "array", "items": {"type": "string"}, "maxItems": 3}),
        (["list of int with length 2"], {"type": "array", "items": {"type": "integer"}, "maxItems": 2}),
        (["list of float with length 7"], {"type": "array", "items": {"type": "number"}, "maxItems": 3}),
        (["list of NoneType with length 1"], {"type": "array", "items": {"type": "null"}, "maxItems": 1}),
        (
            ["list of list with length 4"],
            {"type": "array", "items": {"type": "array", "maxItems": 3}, "maxItems": 3},
        ),
        ("list of str with length 5", {"type": "array", "items": {"type": "string"}, "maxItems": 3}),
        (["list of str with length 0"], {"type": "array", "maxItems": 0}),
        ([], {"type": "array", "maxItems": 0}),
    ],
)
def test_every_leaf_has_its_type(leaf: Json, schema: Json) -> None:
    """The spellings that the survey of all templates found."""
    found = shape_schema({"x": leaf})
    assert found is not None
    assert schema == found["properties"]["x"]


def test_members_are_required_in_their_order() -> None:
    """An answer has what the recorded one had."""
    found = shape_schema({"b": "str", "a": {"c": "int"}, "e": {}})
    inner = {**CLOSED, "properties": {"c": {"type": "integer"}}, "required": ["c"]}
    properties = {"b": {"type": "string"}, "a": inner, "e": {**CLOSED, "properties": {}, "required": []}}
    assert {**CLOSED, "properties": properties, "required": ["b", "a", "e"]} == found
    assert found is not None
    assert ["b", "a", "e"] == list(found["properties"])


def test_list_lengths_are_hints_and_not_members() -> None:
    """`_list_length` says how many there were; a list holds up to three."""
    found = shape_schema([{"id": "int", "_list_length": 25}])
    item = {**CLOSED, "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    assert {"type": "array", "items": item, "maxItems": MAX_LIST_ITEMS} == found


def test_a_member_named_like_the_hint_is_kept() -> None:
    """With a type name for a value it is the answer's own."""
    found = shape_schema({"_list_length": "int", "_id": "str"})
    assert found is not None
    assert ["_list_length", "_id"] == found["required"]


def test_an_answer_is_wrapped_as_the_benchmark_wraps_it() -> None:
    """Error first, then the response."""
    found = answer_schema({"a": "str"})
    assert ["error", "response"] == list(found["properties"]) == found["required"]
    assert {"type": "string"} == found["properties"]["error"]
    assert ["a"] == found["properties"]["response"]["required"]


@pytest.mark.parametrize("shape", [None, {}, "", "  "])
def test_without_a_shape_the_response_is_any_value(shape: Json) -> None:
    """An empty template says nothing."""
    assert shape_schema(shape) is None
    assert {} == answer_schema(shape)["properties"]["response"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"a": "str", "b": "int"}', ["a", "b"]),
        ('{"a": "str", "b": {"c": "int", "d": "fl', ["a", "b"]),
        ('{"a": "str", "b": ["list of st', ["a", "b"]),
        ('{"a": "str", "b"', ["a"]),
        ('{"a": "str", "b":', ["a"]),
        ('{"a": "str", ', ["a"]),
        ('{"a, \\"}": "str", "b": [{"c": "int", "_list_length": 3', ['a, "}', "b"]),
        ('{"a": {"b": "str"}', ["a"]),
    ],
)
def test_a_template_that_was_cut_keeps_its_whole_members(text: str, kept: list[str]) -> None:
    """Upstream wrote long templates as the first 1,000 characters of their JSON."""
    found = shape_schema(text)
    assert found is not None
    assert kept == found["required"]


def test_a_template_that_was_cut_inside_an_object_keeps_what_is_before() -> None:
    """The member that was cut is left out, the ones beside it stay."""
    found = shape_schema('{"a": {"b": "str", "c": {"d": "int", "e": "flo')
    assert found is not None
    inner = found["properties"]["a"]
    assert ["b", "c"] == inner["required"]
    assert ["d"] == inner["properties"]["c"]["required"]


@pytest.mark.parametrize(
    ("shape", "what"),
    [
        ({"a": "string"}, r"leaf 'string' of a template \(.*\$\.a\); expected one of str, int"),
        ({"a": ["list of foo with length 3"]}, "leaf 'list of foo with length 3'"),
        ({"a": [{"b": "tuple"}]}, r"\$\.a\[0\]\.b"),
        ({"a": ["str", "int"]}, "a list of 2 elements"),
        ({"a": 3}, "3 in a template"),
        ({"a": None}, "null in a template"),
        ("not JSON at all", "a template text that is no JSON"),
        ('{"a": "str"]', "a template text that is no JSON"),
        (7, "7 in a template"),
    ],
)
def test_unknown_spellings_are_named_with_their_place(shape: Json, what: str) -> None:
    """A template is never guessed at."""
    with pytest.raises(InputError, match=what):
        shape_schema(shape, where="Data/tool/api")


def test_hostile_templates_are_bounded() -> None:
    """Depth and number of parts."""
    deep: Json = "str"
    for _ in range(60):
        deep = {"a": deep}
    with pytest.raises(InputError, match="a template that is too large"):
        shape_schema(deep)
    with pytest.raises(InputError, match="a template that is too large"):
        shape_schema({f"m{i}": "str" for i in range(30_000)})
    with pytest.raises(InputError, match="no JSON"):
        shape_schema("[" * 100_000)


def test_lists_of_lists_are_free_lists() -> None:
    """The template does not say what is in the inner ones."""
    found = shape_schema({"a": ["list of list with length 2"]})
    assert '{"type": "array", "maxItems": 3}' in json.dumps(found)
