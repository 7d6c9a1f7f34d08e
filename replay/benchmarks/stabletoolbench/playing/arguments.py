"""From the argument text of a call to the value that is looked up, as the virtual API server reads it.

Owns the parsing rule of the server (spec 1.4), the names of everything that can be wrong with an argument
text, and the upstream spellings of a value (cache key texts). Looks nothing up. Source: server/main.py at
aa4ed9f.
"""

from __future__ import annotations

import json
import re
from typing import Final

from replay.core.canonical import MAX_DEPTH, canonical_bytes
from replay.core.errors import CanonicalError
from replay.core.types import Json, Record

__all__ = [
    "MAX_ARGUMENT_CHARACTERS",
    "PARSE_ERROR",
    "Fault",
    "ParsedArguments",
    "compact_json_text",
    "parse_arguments",
    "python_repr_text",
]

MAX_ARGUMENT_CHARACTERS: Final = 1 << 20
"""Longer argument texts are refused by name: no API here takes a megabyte, a looping model writes one."""

PARSE_ERROR: Final = {"error": "Tool input parse error...\n", "response": ""}
"""What the virtual API answers to text that is not JSON; byte compatibility needs the exact text."""

Fault = str
"""malformed, not-an-object, not-hashable, too-deep or too-long; empty when nothing is wrong."""

_COMPACT: Final = json.JSONEncoder(separators=(",", ":"))
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKET: Final = re.compile(r"[\[{\]}]")


class ParsedArguments(Record, frozen=True, kw_only=True):
    """What an argument text says, or why it says nothing."""

    value: Json = None
    """The parsed value; meaningless when there is a fault."""
    fault: Fault = ""
    detail: str = ""
    """The fault in words a person can act on."""
    repeated: tuple[str, ...] = ()
    """Names that one object gives more than once, sorted; the last value counts, as in Python's json."""


def parse_arguments(text: str, *, objects_only: bool) -> ParsedArguments:
    """Parse an argument text: empty is `{}`, JSON is its value, anything else is a named fault.

    Errors:  never raises; every refusal is a fault, so that a model's slip is an observation and not a crash.
    Source:  server/main.py, get_virtual_response. Differs: what cannot be looked up by an honest key (NaN,
             infinity, lone surrogates, nesting over 200) is refused by name; upstream looks it up by its
             Python text.
    """
    if text == "":
        return ParsedArguments(value={})
    if len(text) > MAX_ARGUMENT_CHARACTERS or _is_too_deep(text):
        return _refuse_size(text)
    repeated: list[str] = []
    try:
        value = _read(text, repeated)
    except (ValueError, RecursionError) as error:
        return ParsedArguments(fault="malformed", detail=str(error))
    if objects_only and not isinstance(value, dict):
        return ParsedArguments(fault="not-an-object", detail=f"the arguments are a JSON {_kind(value)}")
    try:
        canonical_bytes(value)
    except CanonicalError as error:
        return ParsedArguments(fault="not-hashable", detail=f"{error.what} at {error.where}")
    return ParsedArguments(value=value, repeated=tuple(sorted(set(repeated))))


def python_repr_text(value: Json) -> str:
    """Spell a value as upstream's cache does: Python's own text, `{'n': 5.0, 'x': True, 'y': None}`."""
    return str(value)


def compact_json_text(value: Json) -> str:
    """Spell a value as the fork's cache does: JSON without spaces, names in the order given."""
    return _COMPACT.encode(value)


def _refuse_size(text: str) -> ParsedArguments:
    if len(text) > MAX_ARGUMENT_CHARACTERS:
        detail = f"{len(text)} characters, at most {MAX_ARGUMENT_CHARACTERS} are read"
        return ParsedArguments(fault="too-long", detail=detail)
    return ParsedArguments(fault="too-deep", detail=f"nested deeper than {MAX_DEPTH} levels")


def _read(text: str, repeated: list[str]) -> Json:
    """Read as Python's json does, and note names that come twice, in a second reading: they are rare."""
    try:
        return _UNIQUE.decode(text)
    except ValueError:
        return json.loads(text, object_pairs_hook=lambda pairs: _last_wins(pairs, repeated))


def _refuse_repeated(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    parsed = dict(pairs)
    if len(parsed) != len(pairs):
        raise ValueError
    return parsed


_UNIQUE: Final = json.JSONDecoder(object_pairs_hook=_refuse_repeated)


def _last_wins(pairs: list[tuple[str, Json]], repeated: list[str]) -> dict[str, Json]:
    parsed: dict[str, Json] = {}
    for name, value in pairs:
        if name in parsed:
            repeated.append(name)
        parsed[name] = value
    return parsed


def _is_too_deep(text: str) -> bool:
    """Measure nesting before the parser recurses: its own limit differs from one Python to the next."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array"
