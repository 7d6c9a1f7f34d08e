"""Laws of canonical JSON: equal values, and only they, have equal bytes; what is refused is named."""

from __future__ import annotations

import contextlib
import json
import math
import random
from collections import OrderedDict

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from replay.core.canonical import _encode_slowly, canonical_bytes, canonical_jcs, digest, parse_json
from replay.core.errors import CanonicalError
from replay.core.types import Json
from tests.property.strategies import (
    NASTY_NUMBERS,
    NASTY_TEXTS,
    json_objects,
    json_values,
    names,
    refused_values,
    texts,
)


@given(json_values)
def test_fast_and_complete_writer_agree(value: Json) -> None:
    """The bytes never depend on which of the two writers made them."""
    assert _encode_slowly(value) == canonical_bytes(value)


@given(st.dictionaries(names, st.sampled_from(NASTY_NUMBERS), max_size=8))
def test_names_and_numbers_agree_in_both_writers(value: dict[str, Json]) -> None:
    """The order of names and the text of numbers are the same in both writers."""
    assert _encode_slowly(value) == canonical_bytes(value)


@given(json_values)
def test_canonical_form_is_a_fixed_point(value: Json) -> None:
    """Reading canonical bytes and writing them again changes nothing."""
    once = canonical_bytes(value)
    assert once == canonical_bytes(parse_json(once))


@given(json_values)
def test_canonical_bytes_mean_the_value(value: Json) -> None:
    """A reader that knows nothing of us reads the value back: text, structure, and numbers as doubles."""
    assert _as_doubles(value) == _as_doubles(json.loads(canonical_bytes(value)))


@given(json_values)
def test_equal_bytes_agree_with_another_implementation(value: Json) -> None:
    """Where a strict RFC 8785 implementation accepts a value, its bytes are ours."""
    try:
        expected = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        return  # integers beyond 2^53 - 1: our documented extension
    assert expected == canonical_jcs(value)


@given(json_objects, st.randoms(use_true_random=False))
def test_order_of_names_is_no_part_of_a_value(value: dict[str, Json], rng: random.Random) -> None:
    """Objects with the same members in another order are one key."""
    members = list(value.items())
    rng.shuffle(members)
    assert digest("t", value) == digest("t", dict(members))


@given(json_values, json_values)
def test_different_values_have_different_bytes(left: Json, right: Json) -> None:
    """Two values share bytes exactly if they are one JSON value."""
    assert _identity(left) == _identity(right) or canonical_bytes(left) != canonical_bytes(right)


@given(json_values)
def test_tuples_and_subclasses_count_as_their_base(value: Json) -> None:
    """A tuple is a list and an OrderedDict is an object."""
    assert canonical_bytes(value) == canonical_bytes(_disguise(value))


@given(json_values)
def test_writing_does_not_change_the_value(value: Json) -> None:
    """The value handed in is the same afterwards, integral doubles included."""
    before = repr(value)
    canonical_bytes(value)
    assert before == repr(value)


@given(refused_values())
def test_what_cannot_be_hashed_is_refused_with_its_path(case: tuple[Json, str]) -> None:
    """NaN, infinities, lone surrogates, foreign types and names are refused where they are."""
    value, path = case
    with pytest.raises(CanonicalError) as caught:
        canonical_bytes(value)
    assert path == caught.value.where


@given(json_values)
def test_strict_reader_reads_what_was_written(value: Json) -> None:
    """Any valid JSON text reads as Python's own reader reads it."""
    text = json.dumps(value)
    assert repr(json.loads(text)) == repr(parse_json(text))


@given(st.text(max_size=30))
def test_reader_refuses_or_reads_and_nothing_else(text: str) -> None:
    """Any text is read as a value with a canonical form, or refused by name."""
    try:
        value = parse_json(text)
    except CanonicalError:
        return
    assert canonical_bytes(value)


@given(st.binary(max_size=30))
def test_reader_takes_any_bytes(data: bytes) -> None:
    """Any bytes are read or refused by name; no other error escapes."""
    with contextlib.suppress(CanonicalError):
        parse_json(data)


@given(names, json_objects, texts)
def test_duplicate_names_are_refused_however_they_are_escaped(name: str, rest: Json, other: str) -> None:
    """A name that occurs twice is refused although one of the two is written with escapes."""
    escaped = "".join(f"\\u{unit:04x}" for unit in _utf16(name))
    text = f'{{{json.dumps(name)}: {json.dumps(rest)}, "{escaped}": {json.dumps(other)}}}'
    with pytest.raises(CanonicalError, match="occurs twice"):
        parse_json(text)


@pytest.mark.parametrize("text", NASTY_TEXTS)
def test_nasty_texts_agree_in_both_writers(text: str) -> None:
    """Each text that has broken something elsewhere has one spelling, as value and as name."""
    assert _encode_slowly({text: [text]}) == canonical_bytes({text: [text]})


def _utf16(text: str) -> list[int]:
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


def _as_doubles(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _as_doubles(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_doubles(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 10**300 else str(value)
    return value


def _identity(value: Json) -> Json:
    """What makes two values one: types told apart as JSON does, numbers by their canonical text's meaning."""
    if isinstance(value, dict):
        return ("object", frozenset((name, _identity(item)) for name, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(_identity(item) for item in value))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return (type(value).__name__, value)
    if isinstance(value, float) and (not value.is_integer() or abs(value) >= 1e21):
        return ("double", value)
    return ("integer", int(format(value, ".0f")) if abs(value) <= 2**53 else _shortest(value))


def _shortest(value: float) -> int:
    if isinstance(value, int):
        return value
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    shift = int(exponent or 0) - len(fraction)
    digits = int(whole + fraction)
    return digits * int(10**shift) if shift >= 0 else digits // int(10**-shift)


def _disguise(value: Json) -> Json:
    if isinstance(value, dict):
        return OrderedDict((name, _disguise(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(_disguise(item) for item in value)
    return value


def test_identity_of_the_tests_knows_the_hard_pairs() -> None:
    """The tests' own notion of one value is right where it matters."""
    assert _identity(2.0**53) == _identity(2**53)
    assert _identity(2.0**60) != _identity(2**60)
    assert math.isclose(2.0**60, 2**60)
