"""JavaScript's conversions, where the official evaluator leans on them (spec 6.4, defect 7).

Owns `Number(value)` and sameness of JSON values as `===` on primitives sees it: true is not 1, 25 is 25.0.
"""

from __future__ import annotations

import math
import re
from typing import Final

from replay.core.types import Json

__all__ = ["is_number", "is_same", "js_number"]

_DECIMAL: Final = re.compile(r"[+-]?(Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)")
_RADIX: Final = {"0x": 16, "0o": 8, "0b": 2}
_MAX_TEXT: Final = 4_096
"""Longer texts are no numbers of any test; the bound keeps conversion cheap."""


def is_number(value: Json) -> bool:
    """Tell a number from everything else; booleans are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_same(left: Json, right: Json) -> bool:
    """Compare two JSON values by type and value; 1 and 1.0 are one number, 1 and true are not."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(is_same(left[name], right[name]) for name in left)
    return bool(left == right)


def js_number(value: Json) -> float:
    """Convert as `Number(value)`: null, false, "" and [] are 0, true is 1, [12] is 12; else NaN.

    Source:  ECMAScript ToNumber; arrays go through their joined text.
    """
    if isinstance(value, bool):
        return float(value)
    if value is None:
        return 0.0
    if isinstance(value, (int, float)):
        return _as_double(value)
    if isinstance(value, list):
        return _from_text(_joined(value, 0))
    return _from_text(value) if isinstance(value, str) else math.nan


def _from_text(text: str) -> float:
    text = text.strip()
    if not text:
        return 0.0
    if len(text) > _MAX_TEXT:
        return math.nan
    base = _RADIX.get(text[:2].lower())
    if base is not None:
        digits = text[2:]
        valid = digits.isascii() and digits.isalnum()
        try:
            return _as_double(int(digits, base)) if valid else math.nan
        except ValueError:
            return math.nan
    if not text.isascii() or _DECIMAL.fullmatch(text) is None:
        return math.nan
    return float(text.replace("Infinity", "inf"))


def _joined(items: list[Json], depth: int) -> str:
    """Text of an array as `String(array)` gives it; too deep a nesting is no number."""
    if depth > 20 or len(items) > _MAX_TEXT:
        return "?"
    parts = []
    for item in items:
        if isinstance(item, list):
            parts.append(_joined(item, depth + 1))
        elif item is None:
            parts.append("")
        elif isinstance(item, bool):
            parts.append("true" if item else "false")
        else:
            parts.append("[object Object]" if isinstance(item, dict) else str(item))
    return ",".join(parts)


def _as_double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
