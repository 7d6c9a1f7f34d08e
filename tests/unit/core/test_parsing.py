"""Strict reading: what is refused, and where the message says it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from replay.core.canonical import MAX_DEPTH, canonical_bytes, parse_json
from replay.core.errors import CanonicalError
from replay.core.types import Json


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (None, "null"),
        ([1, 2.5, "x", True, {}], b' [1, 2.5, "x", true, {}]\r\n\t'),
        ("\U0001f602", r'"\ud83d\ude02"'),
        (0.0, "1e-400"),
        (2**64, "18446744073709551616"),
        (10**4299, "1" + "0" * 4299),
        ({"a": {"a": 1}}, '{"a": {"a": 1}}'),
        ("9" * 5000, '"' + "9" * 5000 + '"'),
        (["\\ud800"], r'["\\ud800"]'),
        ({"é": "é"}, '{"é": "é"}'.encode()),
    ],
    ids=range(10),
)
def test_valid_texts_are_read(expected: Json, text: str | bytes) -> None:
    """Valid texts read as what they say, suspicious look or not."""
    assert expected == parse_json(text)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", r"Expecting value \(column 1\)"),
        ("[1,\n 2,]", r"not one JSON value: .*\(line 2 column 4\)"),
        ("{} {}", r"Extra data \(column 4\)"),
        ('{"x":NaN}', r"NaN is not a number that a double holds \(\$\.x\)"),
        ('[1,{"x":-Infinity}]', r"-Infinity is not a number .*\(\$\[1\]\.x\)"),
        ('{"x":1e400}', r"1e400 is not a number that a double holds \(\$\.x\)"),
        ('{"x":-1e400}', r"-1e400 is not a number"),
        ('{"a":{"x":1,"y":2,"x":1}}', r"a name that occurs twice in one object \(\$\.a\.x\)"),
        ('{"a":1,"\\u0061":2}', r"occurs twice in one object \(\$\.a\)"),
        ('["ok","\\ud800"]', r"a lone surrogate in a string \(\$\[1\]\)"),
        ('{"\\udfff":1}', r"a lone surrogate in a name"),
        ('["\\uD83D"]', r"a lone surrogate in a string"),
        ('["\\ud83dx\\ude02"]', r"a lone surrogate in a string"),
        ('"\ud800"', r"a lone surrogate in the text \(character 1\)"),
        (b'"\xff"', r"bytes that are not UTF-8 \(byte 1\)"),
        (b'"\xed\xa0\x80"', r"bytes that are not UTF-8"),
        (b'"\xc0\xaf"', r"bytes that are not UTF-8"),
        ('"a\nb"', r"Invalid control character"),
        ("[01]", r"not one JSON value"),
        ("[.5]", r"not one JSON value"),
        ("['a']", r"not one JSON value"),
        ('{"a":' + "9" * 4301 + "}", r"an integer of 4,301 digits \(\$\.a\); expected at most 4,300 digits"),
        ("[-" + "9" * 5000 + "]", r"an integer of 5,000 digits \(\$\[0\]\)"),
        ("9" * 5000 + ".5", r"99999999999999999999\.\.\. is not a number"),
    ],
    ids=lambda part: ascii(part)[:30],
)
def test_faulty_texts_are_refused_with_their_place(text: str | bytes, match: str) -> None:
    """Each fault is named with the line and column or the JSON path at which it is."""
    with pytest.raises(CanonicalError, match=match):
        parse_json(text)


@pytest.mark.parametrize("text", ["\ufeff{}", b"\xef\xbb\xbf{}"])
def test_a_byte_order_mark_is_refused(text: str | bytes) -> None:
    """A mark is refused with what to do about it."""
    with pytest.raises(CanonicalError, match=r"byte order mark .* remove its first three bytes"):
        parse_json(text)


def test_messages_name_the_source() -> None:
    """The caller's name of the text comes before the place in it."""
    with pytest.raises(CanonicalError, match=r"\(cache/get\.json record 3, \$\.a\[0\]\)"):
        parse_json('{"a":[NaN]}', where="cache/get.json record 3")


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_at_the_bound_is_read(opening: str, closing: str) -> None:
    """200 containers inside one another are read, and what is read can be written."""
    assert canonical_bytes(parse_json(opening * MAX_DEPTH + "1" + closing * MAX_DEPTH))


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 5_000, 1_000_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_over_the_bound_is_refused(opening: str, closing: str, levels: int) -> None:
    """One level more is refused by name, and so are levels that would exhaust any stack."""
    with pytest.raises(CanonicalError, match=r"nested too deeply .*at most 200 levels"):
        parse_json(opening * levels + "1" + closing * levels)


def test_depth_bomb_is_placed() -> None:
    """The message says at which column the bound was passed."""
    with pytest.raises(CanonicalError, match=r"\(line 2 column 200\)"):
        parse_json('["[[[\\"[",\n' + "[" * 100_000)


def test_many_containers_side_by_side_are_no_depth() -> None:
    """Only nesting counts: a long flat list is read."""
    assert [[]] * 1_000 == parse_json("[" + ",".join(["[]"] * 1_000) + "]")


def test_many_long_numbers_take_no_quadratic_time() -> None:
    """A megabyte of numbers at the digit bound is read in linear time per number."""
    text = "[" + ",".join(["1" * 4_300] * 50) + "]"
    assert 50 == len(parse_json(text))


def test_the_digit_bound_is_ours_whatever_the_interpreter_allows() -> None:
    """An environment that lowers or lifts Python's own bound changes nothing."""
    code = (
        "from replay.core.canonical import *\n"
        "from replay.core.errors import CanonicalError\n"
        "assert len(canonical_bytes(parse_json('1'*4300))) == 4300\n"
        "for make in (lambda: parse_json('1'*4301), lambda: canonical_bytes(10**4300)):\n"
        "    try: make()\n"
        "    except CanonicalError as error: assert '4,301 digits' in str(error)\n"
        "    else: raise SystemExit('not refused')\n"
    )
    for limit in ("0", "640"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONINTMAXSTRDIGITS": limit},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
