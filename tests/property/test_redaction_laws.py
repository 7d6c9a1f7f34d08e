"""A quick look that finds no secret is right: masking would have changed nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replay.core.canonical import MAX_DEPTH
from replay.core.types import Json
from replay.tools.redaction import API_KEYS, CREDENTIALS, PASSWORDS, _may_hold, _scrub
from tests.property.strategies import json_values, texts

ALL = (CREDENTIALS, API_KEYS, PASSWORDS)
NAMES = ("Authorization", "X-RapidAPI-Key", "api_\u212aey", "Pass Word", "access.token", "key", "token", "q")

pairs = st.tuples(st.sampled_from(NAMES), texts).map(lambda pair: f"{pair[0]}={pair[1]}")
leaves = st.one_of(texts, pairs, st.just("authorization: Bearer abc"), json_values)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
)


@given(values)
def test_what_the_quick_look_passes_holds_nothing_to_mask(value: Json) -> None:
    """Fields, pairs in texts and headers written out, in any spelling."""
    assert _may_hold(value, ALL) or value == _scrub(value, ALL, MAX_DEPTH)
