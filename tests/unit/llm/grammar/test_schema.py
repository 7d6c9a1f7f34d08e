"""Schemas become grammars whose texts fit them; what cannot be kept is an error or is listed."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import GrammarError, InputError
from replay.core.types import Json
from replay.llm.grammar.bounds import Bounds
from replay.llm.grammar.keywords import CHECKED, GRAMMAR, NOTES, REFUSED
from replay.llm.grammar.schema import check_output, compile_schema
from tests.support.grammars import accepted, sample_texts, sample_values

TREE: Json = {
    "$ref": "#/$defs/tree",
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 3},
            },
            "required": ["value"],
        }
    },
}

SCHEMAS: dict[str, Json] = {
    "any value": {},
    "anything": True,
    "text": {"type": "string"},
    "text of a length": {"type": "string", "minLength": 2, "maxLength": 5},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "flag or nothing": {"type": ["boolean", "null"]},
    "enum": {"enum": ["a", "ab", "abc", 1, 1.5, None, True, {"x": [1, "é"]}]},
    "const": {"const": {"b": 1, "a": [None]}},
    "typed enum": {"type": "string", "enum": ["x", "y", 3]},
    "closed object": {
        "type": "object",
        "properties": {"b": {"type": "integer"}, "a": {"type": "string"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    "optional members": {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in "abcde"},
        "required": ["c"],
    },
    "only optional members": {"type": "object", "properties": {name: {"type": "null"} for name in "abc"}},
    "open object": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "ab": {"type": "integer"}},
        "additionalProperties": {"type": "string", "maxLength": 3},
    },
    "map": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
    "required and not described": {
        "type": "object",
        "required": ["x"],
        "properties": {"y": {"type": "null"}},
    },
    "array": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
    "empty array": {"type": "array", "maxItems": 0},
    "tuple": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
    "tuple and rest": {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "items": {"type": "null"},
        "minItems": 1,
        "maxItems": 4,
    },
    "one of two": {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 3}]},
    "exactly one": {"oneOf": [{"type": "integer"}, {"type": "string", "maxLength": 3}]},
    "all of": {
        "allOf": [
            {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            {"properties": {"x": {"minimum": 3}, "y": {"type": "string", "maxLength": 3}}},
        ]
    },
    "base and branches": {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "required": ["kind"],
        "anyOf": [
            {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["x"]},
            {"properties": {"kind": {"const": "b"}}},
        ],
    },
    "recursion": TREE,
    "old definitions": {"$ref": "#/definitions/n", "definitions": {"n": {"type": "integer"}}},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}-\\d{1,3}$"},
    "pattern anywhere": {"type": "string", "pattern": "ab+c"},
    "digits only, bounded": {"type": "string", "pattern": "^\\d+$", "minLength": 2, "maxLength": 4},
    "integer range": {"type": "integer", "minimum": -12, "exclusiveMaximum": 1034},
    "number range": {"type": "number", "minimum": -2, "maximum": 3},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "not negative": {"type": "number", "minimum": 0},
    "inferred object": {"properties": {"a": {"type": "null"}}},
    "with notes": {
        "type": "integer",
        "title": "n",
        "description": "d",
        "default": 3,
        "examples": [1],
        "format": "x",
    },
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_generated_text_fits_its_schema(name: str) -> None:
    """What the grammar writes is strict JSON and valid, whatever way is taken through it."""
    assert 30 <= len(sample_values(SCHEMAS[name], seed=name))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("any value", [None, 1.5, "x", [], {}, {"a": [1, {"b": None}]}]),
        ("text of a length", ["ab", "abcde", "日本", "\U0001f600\U0001f600", 'a"']),
        ("integer", [0, -1, 999999999999999]),
        ("number", [0, -0.5, 1e30, 12.25]),
        ("enum", ["a", "ab", "abc", 1, 1.5, None, True, {"x": [1, "é"]}]),
        ("closed object", [{"b": 1, "a": ""}]),
        ("optional members", [{"c": 1}, {"a": 1, "c": 2}, {"b": 1, "c": 2, "e": 3}]),
        ("only optional members", [{}, {"a": None}, {"c": None}, {"a": None, "b": None, "c": None}]),
        ("open object", [{}, {"a": 1, "abc": "x"}, {"b": "x"}, {"a": 1, "ab": 2, "b": "", "c": ""}]),
        ("map", [{"k": 1}, {"k": 1, "l": 2}]),
        ("tuple", [[], [1], [1, "x"]]),
        ("tuple and rest", [[1], [1, "x"], [1, "x", None, None]]),
        ("recursion", [{"value": 1}, {"value": 1, "kids": [{"value": 2, "kids": []}]}]),
        ("pattern", ["AB-1", "XY-123"]),
        ("pattern anywhere", ["abc", "xxabbbcyy"]),
        ("integer range", [-12, 0, 1033]),
        ("number range", [-2, -1.5, 0, 2.999, 3]),
    ],
)
def test_fitting_values_are_accepted(name: str, values: list[Json]) -> None:
    """A grammar is not so narrow that it refuses what a schema means."""
    assert [True] * len(values) == accepted(SCHEMAS[name], values)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("text of a length", ["a", "abcdef", 1]),
        ("integer", [1.5, "1", True]),
        ("typed enum", [3, "z"]),
        ("closed object", [{"a": "", "b": 1}, {"b": 1}, {"b": 1, "a": "", "c": 1}]),
        ("optional members", [{}, {"a": 1}, {"c": 2, "a": 1}]),
        ("open object", [{"ab": "x"}, {"b": 1}, {"a": "x"}]),
        ("tuple", [["x"], [1, "x", 2]]),
        ("array", [[], [1, 2, 3, 4], ["x"]]),
        ("pattern", ["AB-1234", "ab-1", "AB-1 "]),
        ("integer range", [-13, 1034, 1034567]),
        ("number range", [-2.5, 3.1, 4]),
        ("base and branches", [{"kind": "a"}, {"kind": "c"}]),
        ("all of", [{"x": 2}, {}]),
    ],
)
def test_values_that_do_not_fit_are_refused(name: str, values: list[Json]) -> None:
    """The grammar itself, not only the check afterwards, keeps a schema's rules."""
    assert [False] * len(values) == accepted(SCHEMAS[name], values)


def test_members_come_in_the_order_of_the_schema() -> None:
    """Another order changes what a model says; sorting names is not an option."""
    texts = sample_texts(SCHEMAS["closed object"])
    assert ["b", "a"] == list(json.loads(texts[0]))


def test_white_space_is_at_most_one_space_after_comma_and_colon() -> None:
    """No run of blanks can keep a model busy."""
    schema = SCHEMAS["closed object"]
    compiled = compile_schema(schema)
    assert '"{\\"b\\":" space-1' in compiled.gbnf
    assert 'space-1 ::= " " | ""' in compiled.gbnf


@pytest.mark.parametrize("name", SCHEMAS)
def test_equal_schemas_give_equal_bytes(name: str) -> None:
    """A grammar is a part of what a completion depends on, so it never changes by itself."""
    copy = json.loads(json.dumps(SCHEMAS[name]))
    assert compile_schema(SCHEMAS[name]).gbnf == compile_schema(copy).gbnf


def test_grammar_text_is_ascii() -> None:
    """Characters beyond ASCII are written as code points, so no encoding can change them."""
    assert compile_schema({"const": "é日\U0001f600\u2028"}).gbnf.isascii()


@pytest.mark.parametrize("name", SCHEMAS)
def test_shortest_text_is_counted(name: str) -> None:
    """A token budget below it may never be enough, so the number must be one that is reached."""
    compiled = compile_schema(SCHEMAS[name])
    assert compiled.shortest_chars == min(len(text) for text in sample_texts(SCHEMAS[name], 20, room=-1))


def test_places_that_are_only_checked_are_listed() -> None:
    """What the grammar lets through is named, and found by the check of the output."""
    compiled = compile_schema(
        {"type": "array", "items": {"type": "integer", "multipleOf": 2}, "uniqueItems": True}
    )
    assert ("#/items/multipleOf", "#/uniqueItems") == compiled.unsupported
    with pytest.raises(GrammarError, match=r"uniqueItems fails \(\$\)"):
        check_output(compiled, "[2, 2]")
    with pytest.raises(GrammarError, match=r"multipleOf fails \(\$\[0\]\); expected multipleOf 2"):
        check_output(compiled, "[3]")


def test_strict_mode_refuses_what_is_only_checked() -> None:
    """Whoever needs the grammar alone to be enough can ask for that."""
    with pytest.raises(GrammarError, match=r"#/uniqueItems.*none in strict mode"):
        compile_schema({"type": "array", "uniqueItems": True}, strict=True)


def test_bounds_of_integers_are_in_the_grammar() -> None:
    """Nothing is listed that the grammar does keep."""
    assert () == compile_schema(SCHEMAS["integer range"], strict=True).unsupported
    assert () == compile_schema(SCHEMAS["number range"], strict=True).unsupported


def test_bounds_of_numbers_that_are_not_whole_are_listed() -> None:
    """Half-open ranges of numbers are not written digit by digit."""
    compiled = compile_schema({"type": "number", "minimum": 0.5, "exclusiveMaximum": 2})
    assert ("#/exclusiveMaximum", "#/minimum") == compiled.unsupported


@pytest.mark.parametrize("keyword", sorted(REFUSED))
def test_refused_keywords_are_errors_with_a_way_out(keyword: str) -> None:
    """A keyword that a grammar would miss is named with its place."""
    schema = {"type": "object", "properties": {"a/b": {keyword: {}}}}
    with pytest.raises(
        GrammarError, match=rf"'\{keyword}'" if keyword[0] == "$" else rf"'{keyword}'"
    ) as caught:
        compile_schema(schema)
    assert f"#/properties/a~1b/{keyword}" == caught.value.where


def test_unknown_keywords_are_errors() -> None:
    """A misspelt keyword does not become a constraint that nobody keeps."""
    with pytest.raises(
        GrammarError, match=r"'maxlength' is unknown \(#/maxlength\); expected one of .*maxLength"
    ):
        compile_schema({"type": "string", "maxlength": 3})


def test_every_keyword_is_in_exactly_one_list() -> None:
    """Understood, checked, noted or refused."""
    lists = [set(GRAMMAR), set(CHECKED), set(NOTES), set(REFUSED)]
    assert sum(map(len, lists)) == len(set().union(*lists))


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        ({"type": "text"}, r"'type' has a wrong value \(#/type\); expected one or more of object"),
        ({"type": []}, "'type' has a wrong value"),
        ({"enum": []}, "'enum' has a wrong value"),
        ({"required": ["a", "a"]}, "'required' has a wrong value"),
        ({"minLength": -1}, "'minLength' has a wrong value"),
        ({"minLength": True}, "'minLength' has a wrong value"),
        ({"multipleOf": 0}, "'multipleOf' has a wrong value"),
        ({"items": [{}]}, r"'items' has a wrong value \(#/items\); expected a schema"),
        ({"properties": {"a": 1}}, "'properties' has a wrong value"),
        ({"exclusiveMinimum": True}, "'exclusiveMinimum' has a wrong value"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, r"\$schema .* expected one of .*2020-12"),
        ({"properties": {"a": {"$id": "x"}}}, r"'\$id' is not supported"),
        ([], "neither an object nor true or false"),
        ({"const": float("nan")}, "schema is not JSON"),
    ],
)
def test_keywords_of_a_wrong_kind_are_errors(schema: Json, what: str) -> None:
    """Values that mean nothing are named with their pointer."""
    with pytest.raises(GrammarError, match=what):
        compile_schema(schema)


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        (False, "no value fits the schema `false`"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "minLength 3 above maxLength 2"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "at least 3 items and at most 2"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no integer lies from 3 to 2"),
        ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4}, "no integer lies from 4 to 3"),
        ({"type": "number", "minimum": 3.5, "maximum": 2}, "no number lies from 3.5 to 2"),
        ({"type": "string", "const": 1}, "no value of `enum` or `const` fits"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "types string and integer at once"),
        ({"allOf": [{"enum": [1]}, {"enum": [2]}]}, "none in common"),
        ({"type": "object", "required": ["a"], "properties": {"a": False}}, "'a' is required and refused"),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, "'a' is required and refused"),
        ({"type": "object", "minProperties": 3, "maxProperties": 2}, "minProperties 3 above maxProperties 2"),
        (
            {"type": "array", "prefixItems": [True], "items": False, "minItems": 2},
            "at least 2 items and at most 1",
        ),
        ({"type": "string", "pattern": "^a{5}$", "maxLength": 3}, "fits no string of 0 to 3"),
        ({"anyOf": [{"type": "string", "const": 1}, False]}, "no value"),
    ],
)
def test_contradictions_are_errors(schema: Json, what: str) -> None:
    """A schema that nothing fits is found before a model is asked."""
    with pytest.raises(GrammarError, match=what):
        compile_schema(schema)


def test_an_impossible_alternative_is_left_out() -> None:
    """One branch that nothing fits does not spoil the others."""
    schema = {"type": "string", "anyOf": [{"type": "integer"}, {"enum": ["x"]}]}
    assert ["x"] * 40 == sample_values(schema)


def test_a_refused_property_is_never_written() -> None:
    """`false` for an optional property means that it is absent."""
    schema = {"type": "object", "properties": {"a": False, "b": {"type": "null"}}, "required": ["b"]}
    assert [{"b": None}] * 40 == sample_values(schema)


def test_two_definitions_that_refer_to_each_other_in_one_all_of_come_to_an_end() -> None:
    """Merging recursive schemas gives recursive rules, not endless ones."""
    node = {"type": "object", "properties": {"n": {"$ref": "#/$defs/a"}, "x": {"type": "integer"}}}
    other = {"type": "object", "properties": {"n": {"$ref": "#/$defs/b"}}, "required": ["x"]}
    schema = {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}], "$defs": {"a": node, "b": other}}
    assert all("x" in value for value in sample_values(schema))


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        ("http://example.invalid/schema", "expected a place in this document"),
        ("other.json#/$defs/a", "expected a place in this document"),
        ("#", "expected a place in this document"),
        ("#/properties/a", "expected a place in this document"),
        ("#/$defs/none", "finds nothing"),
        ("#/$defs/a/enum/0", "finds no schema"),
        ("#/$defs/loop", "leads back to itself"),
    ],
)
def test_references_stay_inside_the_definitions(reference: str, what: str) -> None:
    """Nothing is fetched, and what leads nowhere is named."""
    definitions = {"a": {"enum": ["x"]}, "loop": {"anyOf": [{"$ref": "#/$defs/loop"}]}}
    with pytest.raises(GrammarError, match=what):
        compile_schema({"$ref": reference, "$defs": definitions})


def test_definitions_that_are_not_used_are_checked_too() -> None:
    """A schema is judged as a whole."""
    with pytest.raises(GrammarError, match=r"#/\$defs/a/not"):
        compile_schema({"type": "null", "$defs": {"a": {"not": {}}}})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"value": 1', "not one JSON value"),
        ('{"value": 1} x', "not one JSON value"),
        ('{"value": 1, "value": 2}', "occurs twice"),
        ('{"value": NaN}', "not one JSON value|NaN"),
        ('{"value": "1"}', r"type fails \(\$\.value\); expected type 'integer'"),
        ('{"kids": []}', r"required fails \(\$\)"),
        ("", "not one JSON value"),
    ],
)
def test_outputs_are_parsed_strictly_and_validated(text: str, what: str) -> None:
    """Whatever a grammar promised, the finished text is looked at once more."""
    with pytest.raises(GrammarError, match=what):
        check_output(compile_schema(TREE), text)


def test_a_checked_output_is_returned() -> None:
    """The value comes back, members in the order written."""
    assert {"value": 1, "kids": [{"value": 2}]} == check_output(
        compile_schema(TREE), ' {"value": 1, "kids": [{"value": 2}]}\n'
    )


def test_bounds_narrow_what_has_none() -> None:
    """Strings, arrays and free values end where the caller says."""
    bounds = Bounds(string_chars=3, array_items=2, free_depth=1)
    schema = {"type": "array", "items": {"type": "string"}}
    assert [True, False, False] == accepted(schema, [["abc", ""], ["abcd"], ["", "", ""]], bounds)
    assert [True, False] == accepted({}, [[1], [[1]]], bounds)


def test_bounds_out_of_range_are_errors() -> None:
    """The sampler cannot count beyond 2,000."""
    with pytest.raises(InputError, match="string_chars = 5000; expected a number from 1 to 2000"):
        compile_schema({}, bounds=Bounds(string_chars=5000))
