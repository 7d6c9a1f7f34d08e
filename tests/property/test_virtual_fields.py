"""The quick way of reading a body of `/virtual` and the slow one say the same."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from replay.server.fields import FIELDS, BodyFaultError, _read_slowly, read_fields
from tests.property.strategies import json_values, texts

RAW = st.sampled_from(
    (b'"\\ud83d\\ude00"', b'"\\ud83d"', b'"\x01"', b'"\x7f"', b'"\xff"', b'"\\/"', b'"\\x"', b"NaN", b"1e400")
)
"""Spellings of a value on which readers of JSON differ."""

values = st.one_of(texts.map(json.dumps).map(str.encode), json_values.map(json.dumps).map(str.encode), RAW)
bodies = st.lists(st.tuples(st.sampled_from((*FIELDS, "other")), values), max_size=8).map(
    lambda pairs: b"{" + b", ".join(b'"%b":%b' % (name.encode(), value) for name, value in pairs) + b"}"
)
whole = st.lists(values, min_size=len(FIELDS), max_size=len(FIELDS)).map(
    lambda found: (
        b"{" + b",".join(b'"%b":%b' % (n.encode(), v) for n, v in zip(FIELDS, found, strict=True)) + b"}"
    )
)


@given(bodies | whole)
def test_both_ways_of_reading_a_body_agree(body: bytes) -> None:
    """Values or faults, the same."""
    assert outcome(body, slowly=True) == outcome(body, slowly=False)


def outcome(body: bytes, *, slowly: bool) -> object:
    """What comes of a body, comparable: a text of it where a NaN may be inside."""
    try:
        return repr(_read_slowly(body) if slowly else read_fields(body, "application/json"))
    except BodyFaultError as fault:
        return repr(fault.detail)
