"""One expected value against one received value (spec 6.4, the table).

Owns what each kind of expected value accepts. Which key is compared, and what a missing key means, is
`arguments`' business.
"""

from __future__ import annotations

import math
import re
from typing import Final

from replay.benchmarks.codexomics.naming import is_marker_text, placeholder_name
from replay.benchmarks.codexomics.scoring.coercion import is_number, is_same, js_number
from replay.benchmarks.codexomics.scoring.flow import Flow
from replay.benchmarks.codexomics.scoring.rules import Rules
from replay.benchmarks.codexomics.scoring.tables import FALSE_WORDS, HIDE_WORDS, SHOW_WORDS, TRUE_WORDS
from replay.core.types import Json, Record

__all__ = ["ValueRules", "is_concrete", "marker_accepts", "scalar_matches", "track_matches", "visibility_of"]

_CREATED_ID: Final = re.compile(r"user_\d+_[A-Za-z0-9]+")
_PROTEIN: Final = re.compile(r"(?<![A-Za-z0-9])prot(ein)?(?![A-Za-z0-9])", re.IGNORECASE)
_SLASH: Final = re.compile(r"[\\/]")
_IDENTIFIERS: Final = re.compile(r"(^id|Id|^identifier|Identifier)$")


class ValueRules(Record, frozen=True, kw_only=True):
    """How values are compared in one verdict."""

    completion: bool
    rules: Rules
    flow: Flow


def is_concrete(value: Json) -> bool:
    """Tell whether a value is one: not null, not blank, no empty list, no placeholder."""
    if value is None or is_marker_text(value):
        return False
    if isinstance(value, str):
        return bool(value.strip())
    return not (isinstance(value, list) and not value)


def marker_accepts(marker: str, value: Json, rules: ValueRules) -> bool:
    """Tell whether a concrete value may stand where the oracle has a placeholder or a reference.

    Source:  spec 6.4. Differs: with `data_flow` the value must be that of the session or the earlier result
             wherever that is known.
    """
    if not is_concrete(value):
        return False
    name = placeholder_name(marker)
    if name == "created_annotation_id" and not _is_text(_CREATED_ID.fullmatch, value):
        return False
    if name == "created_protein_database" and not _is_text(_PROTEIN.search, value):
        return False
    return not rules.rules.data_flow or rules.flow.allows(marker, value)


def scalar_matches(expected: Json, value: Json, rules: ValueRules, key: str = "") -> bool:
    """Compare with an expected null, number, boolean or text."""
    if is_same(expected, value):
        return True
    if isinstance(expected, bool):
        return _boolean_matches(value, completion=rules.completion) is expected
    if is_number(expected):
        return _number_matches(expected, value, honest=rules.rules.honest_numbers)
    if isinstance(expected, str) and isinstance(value, str):
        return _text_matches(expected, value, key, strict=rules.rules.path_case)
    return False


def track_matches(expected: Json, value: Json) -> bool:
    """Compare track names: blanks, `_` and `-` dropped, gc is gccontent, singular is plural."""
    if not isinstance(expected, str) or not isinstance(value, str):
        return False
    return _track(expected) == _track(value)


def visibility_of(value: Json) -> bool | None:
    """Read a track's visibility; None for what is neither shown nor hidden."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in SHOW_WORDS else False if word in HIDE_WORDS else None


def _is_text(check: object, value: Json) -> bool:
    return isinstance(value, str) and callable(check) and check(value.strip()) is not None


def _boolean_matches(value: Json, *, completion: bool) -> bool | None:
    """Boolean that a value stands for, or None."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word == "true" or (completion and word in TRUE_WORDS):
        return True
    return False if word == "false" or (completion and word in FALSE_WORDS) else None


def _number_matches(expected: float, value: Json, *, honest: bool) -> bool:
    if honest:
        # A numeric text is still the number a person meant; nothing else is.
        return isinstance(value, str) and bool(value.strip()) and js_number(value) == expected
    number = js_number(value)
    return not math.isnan(number) and number == expected


def _text_matches(expected: str, value: str, key: str, *, strict: bool) -> bool:
    left, right = expected.strip(), value.strip()
    has_slash = _SLASH.search(left) is not None or _SLASH.search(right) is not None
    if has_slash:
        left, right = _path(left), _path(right)
    if strict and (has_slash or _IDENTIFIERS.search(key)):
        return left == right
    return left.lower() == right.lower()


def _path(text: str) -> str:
    text = text.replace("\\", "/")
    while "/./" in text:
        text = text.replace("/./", "/")
    return re.sub(r"/{2,}", "/", text)


def _track(name: str) -> str:
    folded = re.sub(r"[\s_-]+", "", name).lower()
    folded = "gccontent" if folded == "gc" else folded
    return folded.removesuffix("s")
