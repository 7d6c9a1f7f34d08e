"""Canonical bytes and digests, value by value."""

from __future__ import annotations

import datetime as dt
import enum
import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from replay.core.canonical import (
    MAX_DEPTH,
    _encode_slowly,
    canonical_bytes,
    canonical_jcs,
    digest,
    digest_bytes,
    parse_json,
)
from replay.core.errors import CanonicalError, InternalError
from replay.core.types import Json, Provenance
from tests.support.data import GOLDEN

_VECTORS = sorted((GOLDEN / "jcs" / "input").glob("*.json"))


def _nest(levels: int, *, inside: Json = 0) -> Json:
    value = inside
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("source", _VECTORS, ids=lambda path: path.stem)
def test_official_vectors(source: Path) -> None:
    """The reference implementation's own inputs give its own outputs, byte for byte."""
    expected = (GOLDEN / "jcs" / "output" / source.name).read_bytes()
    assert expected == canonical_bytes(parse_json(source.read_bytes()))
    assert expected == canonical_jcs(parse_json(source.read_bytes()))


def test_there_are_six_official_vectors() -> None:
    """No vector got lost."""
    assert ["arrays", "french", "structures", "unicode", "values", "weird"] == [p.stem for p in _VECTORS]


def test_digest_vectors() -> None:
    """Digests are what they were; this file changes only with a format version."""
    for vector in json.loads((GOLDEN / "digests.json").read_text("utf-8")):
        value = parse_json(vector["text"])
        assert vector["canonical"].encode() == canonical_bytes(value)
        assert vector["digest"] == digest(vector["tag"], value)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (b"null", None),
        (b"true", True),
        (b"1", 1),
        (b'"1"', "1"),
        (b"[]", []),
        (b"{}", {}),
        (b"[]", ()),
        (b'{"a":{}}', {"a": {}}),
        (b"[[],{}]", [[], {}]),
        (b"25", 25.0),
        (b"25", 25),
        (b"0", -0.0),
        (b"[0,0]", [-0.0, 0]),
        (b"9007199254740992", 2.0**53),
        (b"9007199254740993", 2**53 + 1),
        (b"18446744073709551615", 2**64 - 1),
        (b"18446744073709551616", 2**64),
        (b"-9223372036854775809", -(2**63) - 1),
        (b"1152921504606847000", 2.0**60),
        (b"1152921504606846976", 2**60),
        (b"100000000000000000000", 1e20),
        (b"1e+21", 1e21),
        (b"1000000000000000000000", 10**21),
        (b"1e-7", 1e-7),
        (b"0.000001", 1e-6),
        (b"5e-324", 5e-324),
    ],
)
def test_single_values(expected: bytes, value: Json) -> None:
    """Each value alone has the form that RFC 8785 or our extension gives it, in both writers."""
    assert expected == canonical_bytes(value)
    assert expected == _encode_slowly(value)
    assert b"[" + expected + b"]" == canonical_bytes([value])


def test_names_are_ordered_by_utf16_units() -> None:
    """An emoji sorts before U+FB33, whose single unit is greater than a surrogate."""
    value = {"\ufb33": 3, "\U0001f602": 2, "\u20ac": 1, "\r": 0}
    assert '{"\\r":0,"\u20ac":1,"\U0001f602":2,"\ufb33":3}'.encode() == canonical_bytes(value)


def test_prefix_sorts_before_longer_name() -> None:
    """A name sorts before the names it begins, NUL included."""
    assert b'{"":1,"a":2,"a\\u0000":3,"aa":4}' == canonical_bytes({"aa": 4, "a\x00": 3, "a": 2, "": 1})


def test_every_bmp_character_agrees_in_both_writers() -> None:
    """No character of the basic plane, alone in a value or name, is escaped in another way by msgspec."""
    for code in range(0x10000):
        if not 0xD800 <= code <= 0xDFFF:
            text = chr(code)
            assert _encode_slowly([{text: text}]) == canonical_bytes([{text: text}]), hex(code)


def test_names_over_the_planes_are_ordered_alike_in_both_writers() -> None:
    """A sample of all planes as names of one object has one order."""
    codes = [*range(0x20, 0xD800, 97), *range(0xE000, 0x10000, 97), *range(0x10000, 0x110000, 9973)]
    value = {chr(code): code for code in reversed(codes)}
    assert _encode_slowly(value) == canonical_bytes(value)


def test_unicode_is_never_normalised() -> None:
    """The two forms of e-acute are two values."""
    assert digest("t", "caf\u00e9") != digest("t", "cafe\u0301")


@pytest.mark.parametrize(
    ("left", "right"), [(1, True), (0, False), (1, "1"), (None, ""), ([], {}), (0, None)]
)
def test_neighbours_are_different(left: Json, right: Json) -> None:
    """Values that Python or PHP mix up are two keys."""
    assert digest("t", [left]) != digest("t", [right])


def test_order_of_arguments_is_no_part_of_a_key() -> None:
    """Two spellings of one set of arguments are one key, nested ones too."""
    left = [{"a": 5, "b": [{"c": 1, "d": 2}]}]
    right = [{"b": [{"d": 2, "c": 1}], "a": 5}]
    assert digest("t", left) == digest("t", right)


class _Colour(enum.IntEnum):
    RED = 1


def test_subclasses_count_as_their_base() -> None:
    """A StrEnum is its text, an IntEnum its number, a defaultdict an object."""
    value = defaultdict(list, {Provenance.RECORDED: [Provenance.WORLD, _Colour.RED]})
    assert b'{"recorded":["world",1]}' == canonical_bytes(value)


class _Name(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def test_two_names_with_one_text_are_refused() -> None:
    """A str subclass with its own equality cannot smuggle a duplicate name in."""
    with pytest.raises(CanonicalError, match="two names with the same text"):
        canonical_bytes({_Name("a"): 1, _Name("a"): 2})


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ({"a": [1, float("nan")]}, r"nan is not a JSON number \(\$\.a\[1\]\)"),
        ([float("-inf")], r"-inf is not a JSON number \(\$\[0\]\)"),
        ({"a": "x\ud800"}, r"lone surrogate in a string \(\$\.a\)"),
        ({"\udc00": 1}, r'lone surrogate in a name \(\$\["\\udc00"\]\)'),
        ({"a": {1: 2}}, r"int as a name \(\$\.a\)"),
        ({"a": {b"k": 2}}, r"bytes as a name \(\$\.a\)"),
        ([b"x"], r"bytes is not a JSON type \(\$\[0\]\)"),
        ([{1}], r"set is not a JSON type"),
        ([Decimal(1)], r"Decimal is not a JSON type"),
        ([dt.date(2024, 1, 1)], r"date is not a JSON type"),
        ({"deep key": [10**4300]}, r'integer of 4,301 digits \(\$\["deep key"\]\[0\]\)'),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_refused_values_are_named(value: Json, match: str) -> None:
    """What cannot be hashed honestly is refused with what it is and where."""
    with pytest.raises(CanonicalError, match=match):
        canonical_bytes(value)


def test_records_are_not_json() -> None:
    """A record is refused although msgspec could encode it: its owner says what its JSON form is."""

    class _Point(msgspec.Struct):
        x: int

    with pytest.raises(CanonicalError, match="_Point is not a JSON type"):
        canonical_bytes({"p": _Point(1)})


def test_depth_at_the_bound_is_written() -> None:
    """Exactly 200 containers inside one another have a form."""
    assert b"[" * MAX_DEPTH + b"0" + b"]" * MAX_DEPTH == canonical_bytes(_nest(MAX_DEPTH))


@pytest.mark.parametrize("inside", [0, {"a": 1}, [], 1e-9])
def test_depth_over_the_bound_is_refused(inside: Json) -> None:
    """One level more is refused, whatever lies at the bottom."""
    with pytest.raises(CanonicalError, match=r"nested too deeply .*at most 200 levels"):
        canonical_bytes(_nest(MAX_DEPTH + 1, inside=inside))


def test_very_deep_values_are_refused_without_recursion_error() -> None:
    """A value as deep as memory allows is refused like one a little too deep."""
    with pytest.raises(CanonicalError, match="nested too deeply"):
        canonical_bytes(_nest(100_000))


def test_a_list_that_holds_itself_twice_is_refused() -> None:
    """A cycle ends at the depth bound, without visiting both branches at every level."""
    loop: list[Json] = []
    loop += [loop, loop]
    with pytest.raises(CanonicalError, match="nested too deeply"):
        canonical_bytes(loop)


def test_longest_integer_is_written_whatever_the_interpreter_allows() -> None:
    """4,300 digits are exact, and do not depend on the interpreter's own limit."""
    assert b"1" + b"0" * 4299 == canonical_bytes(10**4299)


def test_strict_form_takes_what_a_double_holds() -> None:
    """Up to 2^53 - 1 the strict form is the canonical one."""
    assert b"[9007199254740991,-9007199254740991,1e+30]" == canonical_jcs([2**53 - 1, 1 - 2**53, 1e30])


@pytest.mark.parametrize("value", [2**53, -(2**53), 2**64])
def test_strict_form_refuses_larger_integers(value: int) -> None:
    """Beyond 2^53 - 1 other programs would read another number."""
    with pytest.raises(CanonicalError, match=r"beyond 2\^53 - 1 \(\$\.a\[0\]\)"):
        canonical_jcs({"a": [value]})


def test_digest_depends_on_the_tag() -> None:
    """One value under two tags has two digests."""
    assert digest("a", {}) != digest("b", {})


def test_digest_is_sha256_of_tag_nul_bytes() -> None:
    """Anyone can recompute a digest with sha256sum."""
    assert "sha256:" + "6fca3fcfeb33651f070e9903370a070344d3659d7cc8190fc4e22838220b2128" == digest_bytes(
        "t", b"x"
    )


def test_a_tag_with_nul_is_our_bug() -> None:
    """A tag that could be mistaken for tag and content is refused."""
    with pytest.raises(InternalError, match="NUL"):
        digest_bytes("a\x00b", b"")
