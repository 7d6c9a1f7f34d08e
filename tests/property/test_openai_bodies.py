"""Any body at /v1 is a request or is refused with its place: nothing else comes of reading it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.core.errors import CanonicalError
from replay.core.keys import completion_key
from replay.core.types import Json
from replay.server.chat_requests import CHAT, QUIET, TEXT, WITHOUT_EFFECT, read_chat, read_completion
from replay.server.chat_shapes import ChatShape
from replay.server.chat_wishes import WishError
from replay.wiring.serving.chat import request_of
from tests.property.strategies import json_values

NAMES: Final = (
    *("role", "content", "name", "tool_calls", "tool_call_id", "type", "text", "function", "arguments"),
    *("id", "description", "parameters", "strict", "schema", "json_schema", "include_usage", "properties"),
)
WORDS: Final = (
    *("system", "user", "assistant", "tool", "developer", "function", "text", "json_schema", "auto"),
    *("none", "required", "f", "object", "string", "", "\ud800", "x" * 40),
)
LEAVES: Final = st.sampled_from(WORDS) | st.sampled_from((None, True, False, 0, 1, -1, 2.5, 1e308, 10**30))
VALUES: Final = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
)
MESSAGE: Final = st.fixed_dictionaries(
    {"role": st.sampled_from(WORDS)}, optional={name: VALUES for name in NAMES if name != "role"}
)
OPTIONS: Final = sorted(CHAT | TEXT | WITHOUT_EFFECT | QUIET.keys())
BODIES: Final = st.fixed_dictionaries(
    {"model": st.sampled_from(["m", "", 5]), "messages": st.lists(MESSAGE, max_size=3) | VALUES},
    optional={name: VALUES for name in OPTIONS if name not in ("model", "messages")},
)


@given(body=BODIES)
def test_a_body_is_a_request_or_is_refused(body: Json) -> None:
    """What is read has a key and an id, unless it cannot be hashed honestly."""
    for read, is_chat in ((read_chat, True), (read_completion, False)):
        with suppress(WishError, CanonicalError):
            wish = read(json.dumps(body).encode())
            ChatShape(wish, is_chat=is_chat)
            completion_key("m", request_of(wish), seed=1, trial=0)


@given(value=json_values)
def test_any_json_is_read_or_refused(value: Json) -> None:
    """Objects of any names too."""
    with pytest.raises(WishError):
        read_chat(json.dumps(value).encode())


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"model": ' + b"[" * 100_000, b"1e400"]
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    """Also what is nested without end."""
    with pytest.raises(WishError, match="JSON"):
        read_chat(body)


def test_deep_schemas_are_refused() -> None:
    """Before anything walks through them."""
    text = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]})[:-1]
    tool = '{"type": "function", "function": {"name": "f", "parameters": %s}}'
    deep = '{"properties": {"a": ' * 5_000 + "{}" + "}}" * 5_000
    with pytest.raises(WishError):
        read_chat(f'{text}, "tools": [{tool % deep}]}}'.encode())
