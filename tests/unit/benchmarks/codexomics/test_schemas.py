"""Native schemas, the official validator, and schemas that contradict themselves."""

from __future__ import annotations

import pytest

from replay.benchmarks.codexomics.schemas import find_contradictions, native_schema, schema_errors
from replay.core.errors import InputError
from replay.core.types import Json


def test_required_flags_are_lifted_and_objects_closed() -> None:
    """`required: true` on a property joins the list, and listed properties are all there are."""
    given = {"properties": {"a": {"type": "string", "required": True, "x-note": 1}, "b": {"type": "number"}}}
    expected = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "number"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert expected == native_schema("tool", given)


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "a.b"])
def test_names_no_provider_takes_are_refused(name: str) -> None:
    """A tool's name has 1 to 64 letters, digits, _ or -."""
    with pytest.raises(InputError, match="unusable tool name"):
        native_schema(name, {})


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"type": "integer"}, 2.0, True),
        ({"type": "integer"}, 2.5, False),
        ({"type": "number"}, True, False),
        ({"type": ["string", "array"]}, ["x"], True),
        ({"enum": [1, "a"]}, True, False),
        ({"const": 1}, 1.0, True),
        ({"minimum": 1, "maximum": 3}, 4, False),
        ({"exclusiveMinimum": 5}, 1, True),
        ({"type": "string", "format": "email"}, "x", True),
        ({"minLength": 2}, "x", False),
        ({"pattern": "^a"}, "ba", False),
        ({"items": {"type": "string"}}, [1], False),
        ({"minItems": 1}, [], False),
        ({"required": ["a"]}, {}, False),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, False),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, False),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, True),
        ({"oneOf": [{}], "anyOf": [{"required": ["a"]}]}, {}, True),
        ({"allOf": [{"required": ["a"]}]}, {}, False),
    ],
)
def test_the_validator(schema: Json, value: Json, valid: bool) -> None:
    """Keywords are checked as upstream does; exclusive bounds and formats are not."""
    assert valid is not bool(schema_errors(schema, value))


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": 3, "maximum": 1},
        {"minLength": 3, "maxLength": 1},
        {"type": "number", "enum": ["a"]},
        {"enum": ["a"], "const": "b"},
        {"type": "text"},
        {"pattern": "("},
        {"properties": {"a": {}}, "required": ["b"], "additionalProperties": False},
        {"properties": {"a": {"minimum": 2, "maximum": 1}}},
        {"anyOf": [{"type": "text"}]},
    ],
)
def test_contradictory_keywords_are_named(schema: Json) -> None:
    """A schema that no value can fit is found at import, with its place."""
    (found,) = find_contradictions(schema)
    assert found.startswith("$")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": {"a": 1}},
        {"type": [["string"]]},
        {"properties": {"x": {"type": {}}}},
        {"properties": {}, "required": [["x"]], "additionalProperties": False},
    ],
)
def test_schemas_of_odd_types_are_contradictory(schema: Json) -> None:
    """A type or a name that is no text is named, not stumbled over."""
    assert find_contradictions(schema)


def test_integers_of_any_size_are_integers() -> None:
    """Beyond what a float holds, too."""
    assert not find_contradictions({"type": "integer", "enum": [10**400]})
