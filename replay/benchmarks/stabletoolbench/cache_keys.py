"""The keys inside a cache file: which encoding they are in and which arguments they stand for.

Two encodings are in use: Python's text of the parsed arguments (upstream) and compact JSON (a fork).
Key text is hostile input: bounded, parsed as literals only, never evaluated.
"""

from __future__ import annotations

import ast
import json
import warnings
from typing import Final

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import CanonicalError
from replay.core.types import Json, Record

__all__ = ["COMPACT_JSON", "MAX_KEY_CHARACTERS", "OLD_NAME", "PYTHON_REPR", "CacheKey", "parse_cache_key"]

PYTHON_REPR: Final = "python-repr"
COMPACT_JSON: Final = "compact-json"
OLD_NAME: Final = "old-name"
MAX_KEY_CHARACTERS: Final = 64 << 10
"""Literal parsing needs memory far beyond its text; longer keys stay reachable by their text only."""


class CacheKey(Record, frozen=True, kw_only=True):
    """What one key says."""

    label: str
    """Alias step that finds it: `python-repr` or `compact-json`."""
    arguments: Json = None
    problem: str = ""
    """Why it has no canonical form; empty when it has one."""
    unusual: str = ""
    """How it departs from its encoding, for example the empty key."""


def parse_cache_key(text: str) -> CacheKey:
    """Read a key. Never raises: what cannot be read is reachable by its text and says why.

    Source:  server/main.py, the key is `str()` of the parsed arguments; it reads an empty input as `{}`.
    """
    if text == "":
        return CacheKey(label=PYTHON_REPR, arguments={}, unusual="empty key, read as {}")
    if len(text) > MAX_KEY_CHARACTERS:
        return CacheKey(label=PYTHON_REPR, problem=f"{len(text)} characters, over {MAX_KEY_CHARACTERS}")
    found, value = _literal(text)
    if found and str(value) == text:
        return _checked(PYTHON_REPR, value)
    try:
        parsed = parse_json(text)
    except CanonicalError as error:
        if found:
            return _checked(PYTHON_REPR, value, unusual="not spelled as Python spells it")
        return CacheKey(label=PYTHON_REPR, problem=f"neither a Python literal nor JSON: {error.what}")
    exact = text in (
        json.dumps(parsed, separators=(",", ":")),
        json.dumps(parsed, separators=(",", ":"), ensure_ascii=False),
    )
    return _checked(COMPACT_JSON, parsed, unusual="" if exact else "JSON, but not compact")


def _literal(text: str) -> tuple[bool, Json]:
    try:
        with warnings.catch_warnings():
            # JSON escapes are unknown to Python and only warned about; such a text is no Python key anyway.
            warnings.simplefilter("ignore")
            return True, ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False, None


def _checked(label: str, value: Json, *, unusual: str = "") -> CacheKey:
    try:
        canonical_bytes(value)
    except CanonicalError as error:
        return CacheKey(label=label, problem=f"{error.what} at {error.where}", unusual=unusual)
    return CacheKey(label=label, arguments=value, unusual=unusual)
