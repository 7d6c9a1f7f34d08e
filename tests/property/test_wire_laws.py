"""Answers that go out as they stand are what reading and writing them would give."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from replay.core.errors import CanonicalError
from replay.core.parsing import parse_json
from replay.core.types import Json
from replay.server.wire import as_it_stands, to_json
from tests.property.strategies import json_values

APART = (
    '{"a":1,"a":2}', '{"n":1e16}', '{"n":1e-05}', '{"n":0.00001}', "[-0]", "[-0.0]", "[1.0]", "[1.10]",
    '"\\ud800"', '"\\u00e9"', '"\\/"', '"\\u001F"', "[18446744073709551616]", "NaN", "", '{"a": 1}', "[1,]",
    "[1e400]", "[" * 300 + "]" * 300,
)  # fmt: skip
"""Texts on which readers and writers of JSON differ."""

texts = st.one_of(
    json_values.map(json.dumps),
    json_values.map(lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: f"[{number!r}]"),
    st.sampled_from(APART),
)


@given(texts)
def test_what_goes_out_as_it_stands_is_what_would_be_written(text: str) -> None:
    """Either a text is what the framework writes of its value, or it is read and written anew."""
    try:
        expected = to_json(parse_json(text))
    except (CanonicalError, ValueError):
        expected = None
    assert as_it_stands(text) in (None, expected)


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**63), st.lists))
def test_a_compact_answer_goes_out_as_it_stands(value: Json) -> None:
    """What the framework wrote of everyday values is not written a second time."""
    written = to_json(value)
    assert written == as_it_stands(written.decode())
