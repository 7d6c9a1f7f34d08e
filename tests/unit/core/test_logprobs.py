"""Log-probabilities in a completion's detail: what is written is read, to the last bit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import DamagedError
from replay.core.logprobs import RankedToken, has_logprobs, read_logprobs, write_logprobs
from replay.core.types import Json

PIECES = st.binary(max_size=4) | st.text(max_size=3).map(str.encode)
VALUES = st.floats(-9999.0, 0.0)
TOKENS = st.builds(
    RankedToken,
    piece=PIECES,
    logprob=VALUES,
    top=st.lists(st.tuples(PIECES, VALUES), max_size=3).map(tuple),
)


@given(tokens=st.lists(TOKENS, max_size=4).map(tuple))
def test_what_is_written_is_read(tokens: tuple[RankedToken, ...]) -> None:
    """Through canonical JSON, as a record is stored; bytes that are no text too."""
    detail = parse_json(canonical_bytes({"at_risk": 0, **write_logprobs(tokens, top=3)}))
    found = read_logprobs(detail)
    assert found is not None
    assert (3, tokens) == (found.top, found.tokens)


@pytest.mark.parametrize("detail", [None, {}, {"raw": "text"}, "text"])
def test_none_were_asked_for(detail: Json) -> None:
    """Then there are none."""
    assert (False, None) == (has_logprobs(detail), read_logprobs(detail))


@pytest.mark.parametrize(
    "held",
    [None, {"top": 1}, {"top": 1, "tokens": [["a", "b", []]]}, {"top": 0, "tokens": [[[256], 0.0, []]]}],
)
def test_what_cannot_be_read_is_damage(held: Json) -> None:
    """Never taken for an answer without them."""
    with pytest.raises(DamagedError, match="log-probabilities"):
        read_logprobs({"logprobs": held})
