"""Refusals as the official checker reads them: pieces of text, anywhere (spec 3.6).

Source: eval_main.py at commit 56dd66c.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from replay.benchmarks.acebench.scoring.official_values import OfficialCrashError
from replay.core.types import Json

__all__ = ["ANCHORS", "check_special"]

ANCHORS: Final[Mapping[str, str]] = {
    "special_incomplete": "Missing necessary parameters",
    "special_error_param": "There is incorrect value",
    "special_irrelevant": "the limitations of the function",
}
"""What an answer must say, by category."""


def check_special(output: Json, truth: Json, category: str) -> str:
    """Look for the anchor and, where the truth names them, API, parameters or values; the error or empty.

    Errors:  OfficialCrashError where upstream raises.
    """
    if category == "special_irrelevant":
        return "" if _holds(output, ANCHORS[category]) else "error_detection"
    if not isinstance(truth, dict):
        raise OfficialCrashError("AttributeError")
    error = ""
    for name, values in truth.items():
        found = _check_entry(output, name, values, category)
        error = found or error  # the last entry that fails names the error
    return error


def _check_entry(output: Json, name: str, values: Json, category: str) -> str:
    if not _holds(output, ANCHORS[category]):
        return "error_detection"
    if category == "special_incomplete" and not _holds(output, name):
        return "error_correction"
    return "" if all(_holds(output, value) for value in values) else "error_correction"


def _holds(output: Json, piece: Json) -> bool:
    """Tell whether a piece is in an output, whatever the output is: text, list or object."""
    try:
        return piece in output
    except TypeError:
        raise OfficialCrashError("TypeError") from None
