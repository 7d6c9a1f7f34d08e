"""Argument texts: what is parsed, what is refused and by which name, how values are spelled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.benchmarks.stabletoolbench.playing.arguments import (
    MAX_ARGUMENT_CHARACTERS,
    compact_json_text,
    parse_arguments,
    python_repr_text,
)
from replay.core.canonical import canonical_bytes
from replay.core.types import Json


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, ""),
        ({}, " { } "),
        ({"b": 1, "a": [True, None]}, '{"b": 1, "a": [true, null]}'),
        ([], "[]"),
        (None, "null"),
        ("Oslo", '"Oslo"'),
        (5.0, "5.0"),
    ],
)
def test_json_is_its_value(value: Json, text: str) -> None:
    """Any JSON value is taken, and the empty text is an empty object."""
    parsed = parse_arguments(text, objects_only=False)
    assert ("", value, type(value)) == (parsed.fault, parsed.value, type(parsed.value))


@pytest.mark.parametrize("text", [" ", "{", "{'a': 1}", '{"a": 1,}', "{} {}", '{"a":\n"b\nc"}', "1" * 5000])
def test_what_is_not_json_is_malformed(text: str) -> None:
    """Broken JSON, two values, raw line ends in strings and endless digits are malformed."""
    assert parse_arguments(text, objects_only=False).fault == "malformed"


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        '{"\\udfff": 1}',
    ],
)
def test_what_has_no_honest_key_is_refused(text: str) -> None:
    """NaN, infinities and lone surrogates parse in Python but cannot be looked up."""
    parsed = parse_arguments(text, objects_only=False)
    assert parsed.fault == "not-hashable"
    assert parsed.detail.encode()


@pytest.mark.parametrize("text", ["[]", "null", "5", "true", '"a"'])
def test_strict_wants_an_object(text: str) -> None:
    """Under strict rules any other JSON value is named."""
    assert parse_arguments(text, objects_only=True).fault == "not-an-object"


@pytest.mark.parametrize("depth", [201, 5_000, 300_000])
def test_deep_nesting_is_refused_before_parsing(depth: int) -> None:
    """Nesting over the limit is one fault, whatever the parser's own limit is."""
    text = '{"a":' * depth + "1" + "}" * depth
    wanted = "too-long" if len(text) > MAX_ARGUMENT_CHARACTERS else "too-deep"
    assert parse_arguments(text, objects_only=False).fault == wanted


def test_brackets_inside_strings_are_not_nesting() -> None:
    """A string full of brackets is just a string."""
    value = {"a": "[{" * 500 + '\\"'}
    assert value == parse_arguments(compact_json_text(value), objects_only=True).value


def test_nesting_up_to_the_limit_is_taken() -> None:
    """200 levels are still a value."""
    assert parse_arguments("[" * 200 + "]" * 200, objects_only=False).fault == ""


def test_a_megabyte_of_arguments_is_taken_and_more_is_refused() -> None:
    """The bound on length is exact."""
    text = '"' + "x" * (MAX_ARGUMENT_CHARACTERS - 2) + '"'
    assert parse_arguments(text, objects_only=False).fault == ""
    assert parse_arguments(text + " ", objects_only=False).fault == "too-long"


def test_the_last_of_repeated_names_wins_and_is_reported() -> None:
    """Repeated names are read as Python reads them: first place, last value."""
    parsed = parse_arguments('{"a": 1, "b": 2, "a": 3, "c": {"d": 1, "d": 1}}', objects_only=True)
    assert (["a", "b", "c"], 3) == (list(parsed.value), parsed.value["a"])
    assert parsed.repeated == ("a", "d")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'n': 5, 'x': True, 'y': None}", {"n": 5, "x": True, "y": None}),
        ("{'n': 5.0}", {"n": 5.0}),
        ("{'b': 1, 'a': 2}", {"b": 1, "a": 2}),
        ("{'q': \"it's\"}", {"q": "it's"}),
        ("{'q': 'caf\u00e9\\n'}", {"q": "caf\u00e9\n"}),
        ("{}", {}),
        ("[]", []),
        ("None", None),
        ("plain", "plain"),
    ],
)
def test_python_spelling(text: str, value: Json) -> None:
    """A cache key is Python's own text of the value, in the order the model wrote it."""
    assert text == python_repr_text(value)


@given(st.text(max_size=80) | st.from_regex(r'[\[\]{}":,0-9a-zN\\ ]{0,60}', fullmatch=True))
def test_any_text_is_a_value_or_a_named_fault(text: str) -> None:
    """No text raises, and what is taken has a canonical form."""
    parsed = parse_arguments(text, objects_only=False)
    assert parsed.fault in {"", "malformed", "not-hashable"}
    if not parsed.fault:
        canonical_bytes(parsed.value)
