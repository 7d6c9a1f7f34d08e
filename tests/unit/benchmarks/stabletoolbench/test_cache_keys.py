"""Keys of cache files: both encodings, the odd ones, and hostile ones."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.cache_keys import (
    COMPACT_JSON,
    MAX_KEY_CHARACTERS,
    PYTHON_REPR,
    parse_cache_key,
)
from replay.core.types import Json


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"q": "birthday party ideas"},
        {"n": 5, "x": True, "y": None, "z": 5.0},
        {"q": "it's"},
        {"q": "both ' and \""},
        {"q": "Ålund 天气 😂 \\ \n"},
        {"nested": {"a": [1, [2]]}},
        [],
        [1, "a"],
        5,
        "text",
        {"big": 2**64},
    ],
)
def test_python_text_is_read_back(arguments: Json) -> None:
    """What Python's str() writes is read as the same value under the upstream label."""
    key = parse_cache_key(str(arguments) if not isinstance(arguments, str) else repr(arguments))
    assert (key.arguments, key.problem) == (arguments, "")


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ({"phone": 14155552671}, '{"phone":14155552671}'),
        ({"q": "Å"}, '{"q":"\\u00c5"}'),
        ({"q": "Å"}, '{"q":"Å"}'),
        ({"a": True, "b": None}, '{"a":true,"b":null}'),
        ({"url": "a\\/b"}, '{"url":"a\\\\/b"}'),
    ],
)
def test_compact_json_is_told_apart(expected: Json, text: str) -> None:
    """Keys of the fork are compact JSON."""
    key = parse_cache_key(text)
    assert (COMPACT_JSON, expected, "") == (key.label, key.arguments, key.unusual)


def test_empty_object_is_a_python_key() -> None:
    """`{}` is spelled alike in both encodings and counts as upstream's."""
    assert parse_cache_key("{}").label == PYTHON_REPR


def test_empty_key_stands_for_no_arguments() -> None:
    """Upstream reads an empty input as {}; so does the key, and says so."""
    key = parse_cache_key("")
    assert (key.arguments, key.unusual) == ({}, "empty key, read as {}")


def test_spaced_json_is_marked() -> None:
    """JSON with spaces is read and marked as unusual."""
    assert parse_cache_key('{"a": true}').unusual == "JSON, but not compact"


def test_other_python_spelling_is_marked() -> None:
    """A literal that Python would spell otherwise is read and marked."""
    key = parse_cache_key("{'a':1}")
    assert (key.arguments, key.unusual) == ({"a": 1}, "not spelled as Python spells it")


@pytest.mark.parametrize(
    "text",
    [
        "{'x': nan}",
        "__import__('os').system('true')",
        "open('a')",
        "{'a'",
        "(" * 5000,
        "[" * 90_000,
        "9" * 5000,
        "{'a': b'x'}",
        "{1: 2}",
        "{1, 2}",
        "{'a': '\\ud800'}",
        "x" * (MAX_KEY_CHARACTERS + 1),
    ],
)
def test_hostile_keys_say_why(text: str) -> None:
    """What has no canonical form is never evaluated, never raises, and says what is wrong."""
    key = parse_cache_key(text)
    assert key.problem
    assert key.arguments is None


def test_keys_that_warn_stay_silent() -> None:
    """A JSON escape that Python only warns about gives no warning (warnings are errors here)."""
    assert parse_cache_key('{"a":"\\/"}').arguments == {"a": "/"}
