"""Secrets are masked by field name; everything else is left alone."""

from __future__ import annotations

import pytest

from replay.core.errors import CanonicalError
from replay.core.types import Json
from replay.tools.redaction import API_KEYS, CREDENTIALS, MASK, PASSWORDS, is_mask, scrub

ALL = (CREDENTIALS, API_KEYS, PASSWORDS)


@pytest.mark.parametrize(
    "field",
    [
        "Authorization",
        "proxy-authorization",
        "Cookie",
        "Set-Cookie",
        "api_key",
        "X-RapidAPI-Key",
        "apiKey",
        "access_token",
        "client_secret",
        "toolbench_key",
        "password",
        "Passwd",
    ],
)
def test_secret_fields_are_masked_in_any_spelling(field: str) -> None:
    """A field that a rule names is masked whatever its case and separators."""
    assert is_mask(scrub({field: "planted-secret"}, ALL)[field])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tool_call_id", "call_0123456789abcdef"),
        ("id", "550e8400e29b41d4a716446655440000"),
        ("created_ms", 1700000000000),
        ("timestamp", "2024-01-01T00:00:00Z"),
        ("token", "BTC"),
        ("key", "C major"),
        ("keyword", "api key"),
    ],
)
def test_ids_hashes_and_times_are_left_alone(field: str, value: Json) -> None:
    """Only names decide: what merely looks like a secret stays."""
    assert scrub({field: value}, ALL) == {field: value}


def test_masks_say_rule_and_type() -> None:
    """A placeholder is typed, so that no API could take it for a value."""
    assert scrub({"api_key": "abc"}, ALL) == {"api_key": {MASK: {"rule": "api-key", "type": "string"}}}


@pytest.mark.parametrize("value", [None, "", True, False])
def test_a_field_without_a_secret_stays(value: Json) -> None:
    """Nothing, an empty text and a flag are no secrets; masking them would merge different calls."""
    assert scrub({"api_key": value}, ALL) == {"api_key": value}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://api.test/v1?api_key=planted&q=tea", f"https://api.test/v1?api_key={MASK}&q=tea"),
        ("api_key=planted&q=tea", f"api_key={MASK}&q=tea"),
        ("a=1;access_token=planted", f"a=1;access_token={MASK}"),
        ("Authorization: Bearer planted-secret-1", f"Authorization: Bearer {MASK}"),
        ("Basic knowledge of tea", "Basic knowledge of tea"),
        ("x=1&sort=asc", "x=1&sort=asc"),
    ],
)
def test_secrets_inside_texts_are_masked(text: str, expected: str) -> None:
    """Query strings and authorization headers written out as text are scrubbed too."""
    assert scrub({"url": text}, ALL) == {"url": expected}


def test_nested_secrets_are_masked() -> None:
    """Rules hold at any depth, in objects and in lists."""
    masked = scrub({"a": [{"headers": {"cookie": "planted"}}]}, ALL)
    assert is_mask(masked["a"][0]["headers"]["cookie"])


def test_hostile_nesting_is_an_error_with_its_path() -> None:
    """A value too deep for a key is refused before the interpreter gives up."""
    value: Json = "x"
    for _ in range(5_000):
        value = [value]
    with pytest.raises(CanonicalError, match=r"too deeply nested"):
        scrub(value, ALL)
