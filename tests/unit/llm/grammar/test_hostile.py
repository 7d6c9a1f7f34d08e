"""Schemas made to exhaust: each is a named error, at once."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from replay.core.errors import GrammarError
from replay.core.types import Json
from replay.llm.grammar.schema import check_output, compile_schema


def nested(levels: int) -> Json:
    """Arrays in arrays."""
    schema: Json = {"type": "null"}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def chain(length: int) -> Json:
    """References that lead to one another and to nothing else."""
    definitions: Json = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{length}": {"type": "null"}}}


def doubling(keyword: str, levels: int) -> Json:
    """Definitions that each name the next one twice."""
    definitions: Json = {
        f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]}
        for i in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "null"}}}


def crossed() -> Json:
    """Alternatives times alternatives times alternatives."""
    tens = [{"properties": {f"p{i}": {"type": "null"}}} for i in range(10)]
    return {
        "type": "object",
        "allOf": [{"anyOf": tens}, {"anyOf": list(reversed(tens))}, {"anyOf": tens[::2]}],
    }


HOSTILE: dict[str, tuple[Callable[[], Json], str]] = {
    "deep": (lambda: nested(130), "nested too deep"),
    "very deep": (lambda: nested(900), "not JSON|nested too deep"),
    "large": (lambda: {"enum": ["x" * 2_000_000]}, "schema of 2,000,0"),
    "many values": (lambda: {"enum": [f"{i:07}" * 9 for i in range(15_000)]}, "too large"),
    "many optional members": (
        lambda: {"properties": {f"name-{i}": {"type": "string"} for i in range(12_000)}},
        "an object of 12,000 named members",
    ),
    "many members by 2,000 definitions": (
        lambda: {
            "properties": {f"name-{i}": {"type": "string", "maxLength": i} for i in range(1_900)},
        },
        "too large",
    ),
    "chain of references": (lambda: chain(500), "references in a row"),
    "doubling anyOf": (lambda: doubling("anyOf", 25), "steps to resolve"),
    "doubling allOf": (lambda: doubling("allOf", 25), "steps to resolve"),
    "crossed alternatives": (crossed, "more than 256 alternatives"),
    "own tail": (
        lambda: {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}},
        },
        "no finite text fits",
    ),
    "long strings": (lambda: {"type": "string", "minLength": 5_000}, "at least 5,000 characters"),
    "long arrays": (lambda: {"type": "array", "minItems": 5_000}, "at least 5,000 items"),
    "many members": (lambda: {"type": "object", "minProperties": 5_000}, "at least 5,000 members"),
    "large bound": (lambda: {"type": "integer", "minimum": 10**40}, "a bound of 41 digits"),
    "long pattern": (lambda: {"type": "string", "pattern": "a" * 1_001}, "pattern of 1,001 characters"),
    "repeated repetition": (lambda: {"type": "string", "pattern": "((a{99}){99}){99}"}, "970,299 characters"),
    "nested groups": (
        lambda: {"type": "string", "pattern": "(" * 400 + "a" + ")" * 400},
        "nested deeper than 16",
    ),
    "names to differ from": (
        lambda: {"properties": {f"{i:050}": True for i in range(100)}, "additionalProperties": True},
        "at most 4,000 characters in all",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_are_named_errors_at_once(name: str) -> None:
    """No schema takes more than a moment, whether it becomes a grammar or not."""
    make, what = HOSTILE[name]
    schema = make()
    start = time.perf_counter()
    with pytest.raises(GrammarError, match=what):
        compile_schema(schema)
    assert time.perf_counter() - start < 3


def test_a_wide_choice_of_values_shares_beginnings() -> None:
    """A thousand values are a tree, not a thousand ways for the sampler to follow."""
    compiled = compile_schema({"enum": [f"value-{i}" for i in range(1000)]})
    [root] = [line for line in compiled.gbnf.splitlines() if line.startswith("literal-1 ")]
    assert 'literal-1 ::= "\\"value-" one-of-3' == root


def test_values_that_are_each_the_beginning_of_the_next_one_compile() -> None:
    """Shared beginnings are followed sixty deep, then texts stand side by side."""
    assert "root" in compile_schema({"enum": ["a" * i for i in range(1, 200)]}).gbnf


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("^(a|a)*b$", "a" * 2_000),
        ("^(a|aa)+$", "a" * 2_000 + "b"),
        ("(x+x+)+y", "x" * 2_000),
        ("(.*)(.*)(.*)(.*)(.*)[^a]$", "a" * 2_000),
    ],
)
def test_patterns_that_ruin_other_matchers_take_linear_time(pattern: str, value: str) -> None:
    """Ways through a pattern are followed side by side, never one after the other."""
    compiled = compile_schema({"type": "array", "items": {"type": "string", "pattern": pattern}})
    start = time.perf_counter()
    with pytest.raises(GrammarError, match="pattern fails"):
        check_output(compiled, f'["{value}"]')
    assert time.perf_counter() - start < 2


@pytest.mark.slow
def test_validation_that_branches_without_end_runs_out_of_budget() -> None:
    """A value on which each level tries every branch is given up, not waited for."""
    item = {"type": "array", "items": {"$ref": "#/$defs/a"}, "minItems": 1}
    definition = {"anyOf": [item, {**item, "maxItems": 3}, {"const": 1}]}
    compiled = compile_schema({"$ref": "#/$defs/a", "$defs": {"a": definition}})
    start = time.perf_counter()
    with pytest.raises(GrammarError, match=r"steps to validate|too deep"):
        check_output(compiled, "[" * 40 + "2" + "]" * 40)
    assert time.perf_counter() - start < 5


def test_outputs_nested_too_deep_are_refused() -> None:
    """Two hundred levels are the limit of all JSON here."""
    compiled = compile_schema(
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}
    )
    with pytest.raises(GrammarError, match="nested too deeply"):
        check_output(compiled, "[" * 201 + "]" * 201)


def test_outputs_of_a_million_characters_are_refused() -> None:
    """Before they are parsed."""
    with pytest.raises(GrammarError, match="output of 1,100,002 characters"):
        check_output(compile_schema({}), '"' + "x" * 1_100_000 + '"')
