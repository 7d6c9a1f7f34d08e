"""Similarity of one cell and the value that is looked for: a fraction, or None where official ones are null.

Official results are 32-bit floats, and so are these. Source: upstream common/evaluation.py at 165848b, the
`column_*_similarity` functions and the defaults by table.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from typing import Final

from replay.benchmarks.toolsandbox.records import Override
from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError, OfficialCrashError
from replay.benchmarks.toolsandbox.scoring.rouge import TextScorer
from replay.benchmarks.toolsandbox.scoring.rules import Rules
from replay.core.types import Json

__all__ = ["CellScorer", "as_single", "read_tolerances", "read_traces"]

Tolerances = Mapping[str, float] | None

EXACT: Final = "column_exact_match_similarity"
CLOSE: Final = "column_close_similarity"
ONE: Final = "column_one_similarity"
CONTAINS: Final = "column_contains_similarity"
TRACE: Final = "column_tool_trace_exact_match_similarity"
ROUGE: Final = "column_rouge_l_similarity"

_DEFAULTS: Final[Mapping[tuple[str, str], str]] = {
    ("SANDBOX", "content"): ROUGE,
    ("MESSAGING", "content"): ROUGE,
    ("REMINDER", "content"): ROUGE,
    ("CONTACT", "relationship"): ROUGE,
    ("SANDBOX", "openai_tool_call_id"): ONE,
    ("SANDBOX", "openai_function_name"): ONE,
    ("SANDBOX", "tool_call_exception"): ONE,
    ("SANDBOX", "tool_trace"): TRACE,
}
"""Columns that are not compared exactly."""

_SINGLE: Final = struct.Struct("<f")
_MISSING: Final = object()


def as_single(value: float) -> float:
    """Round to a 32-bit float."""
    number: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return number


def read_tolerances(override: Override) -> Tolerances:
    """Read a tolerance map, `Infinity` included. Raises DefinitionError for what is no number."""
    if override.atol_dict is None:
        return None
    read = {}
    for name, value in override.atol_dict.items():
        if value is None:
            continue
        if value == "Infinity":
            read[name] = math.inf
        elif isinstance(value, (int, float)):
            read[name] = float(value)
        else:
            raise DefinitionError(f"tolerance {value!r} of {name} is no number")
    return read


class CellScorer:
    """Scores cells by the column's similarity function; remembers the words of texts."""

    def __init__(self, rules: Rules) -> None:
        """Choose which defects are mended."""
        self._mends_null = "null-cell" in rules
        self._whole_words = "substring" in rules
        self._texts = TextScorer(wide="words-ascii" in rules)
        self._by_name: Mapping[str, Callable[[Json, Json, str, Tolerances], float | None]] = {
            EXACT: self._exact,
            CLOSE: self._close,
            ONE: lambda *_: 1.0,
            CONTAINS: self._contains,
            TRACE: self._trace,
            ROUGE: self._rouge,
        }

    def score(
        self, table: str, column: str, *, cell: Json, target: Json, override: Override | None
    ) -> float | None:
        """Score one cell; None is the official null.

        Errors:  OfficialCrashError where the official function raises; DefinitionError for an unknown one.
        """
        name = _DEFAULTS.get((table, column), EXACT) if override is None else override.fn
        function = self._by_name.get(name)
        if function is None:
            raise DefinitionError(f"unknown similarity {name!r}; known: {', '.join(self._by_name)}")
        tolerances = None if override is None else read_tolerances(override)
        return function(cell, target, column, tolerances)

    def _exact(self, cell: Json, target: Json, column: str, tolerances: Tolerances) -> float | None:  # noqa: ARG002
        if target is None:
            return 1.0 if cell is None else 0.0
        if cell is None:
            return 0.0 if self._mends_null else None
        return 1.0 if cell == target else 0.0

    def _close(self, cell: Json, target: Json, column: str, tolerances: Tolerances) -> float:
        if not isinstance(target, (int, float)) or tolerances is None:
            if self._mends_null:
                return 1.0 if cell == target else 0.0
            raise OfficialCrashError("AssertionError", "a close column needs a number and tolerances")
        return 1.0 if _is_close(cell, target, tolerances.get(column)) else 0.0

    def _contains(self, cell: Json, target: Json, column: str, tolerances: Tolerances) -> float | None:  # noqa: ARG002
        if not isinstance(target, str) or not isinstance(cell, str | None):
            if self._mends_null:
                return 0.0
            raise OfficialCrashError("InvalidOperationError", "`contains` compares texts only")
        if cell is None:
            return 0.0 if self._mends_null else None
        if self._whole_words:
            return 1.0 if _holds_whole(cell, target) else 0.0
        return 1.0 if target in cell else 0.0

    def _rouge(self, cell: Json, target: Json, column: str, tolerances: Tolerances) -> float:  # noqa: ARG002
        if isinstance(cell, str) and isinstance(target, str):
            return as_single(self._texts.f_measure(target, cell))
        if self._mends_null:
            return 1.0 if cell is None and target is None else 0.0
        kind = type(target if not isinstance(target, str) else cell).__name__
        text = f"python function failed AttributeError: '{kind}' object has no attribute 'lower'"
        raise OfficialCrashError("PanicException", text, kills_worker=True)

    def _trace(self, cell: Json, target: Json, column: str, tolerances: Tolerances) -> float:  # noqa: ARG002
        golden = target if isinstance(target, list) else [target]
        if target is None and not self._mends_null:
            raise OfficialCrashError("TypeError", "the JSON object must be str, bytes or bytearray")
        if cell is None:
            return 0.0
        observed = self._observed(cell)
        return 1.0 if any(self._fits(seen, one, tolerances) for one in golden for seen in observed) else 0.0

    def _observed(self, cell: Json) -> list[Json]:
        try:
            return read_traces(cell)
        except ValueError as error:
            if self._mends_null:
                return []
            text = f"python function failed {error}"
            raise OfficialCrashError("PanicException", text, kills_worker=True) from None

    def _fits(self, seen: Json, golden: Json, tolerances: Tolerances) -> bool:
        try:
            if seen["tool_name"] != golden["tool_name"]:
                return False
            given, wanted = seen["arguments"], golden["arguments"]
            limits = tolerances or {}
            return all(
                _is_close(given.get(name, _MISSING), value, limits.get(name))
                for name, value in wanted.items()
            )
        except (KeyError, TypeError, AttributeError) as error:
            if self._mends_null:
                return False
            text = f"python function failed {type(error).__name__}: {error}"
            raise OfficialCrashError("PanicException", text, kills_worker=True) from None


def read_traces(cell: Json) -> list[Json]:
    """Decode the traces of a message. Raises ValueError for what is no JSON."""
    try:
        return [json.loads(text) if isinstance(text, str) else text for text in cell]
    except (RecursionError, TypeError) as error:
        raise ValueError(str(error)) from None


def _is_close(value: Json, reference: Json, tolerance: float | None) -> bool:
    """Compare as Python does; numbers within the tolerance where there is one."""
    numeric = isinstance(value, (int, float)) and isinstance(reference, (int, float))
    if tolerance is not None and numeric:
        try:
            return bool(abs(value - reference) <= tolerance)
        except OverflowError:
            return False
    return bool(value == reference)


def _holds_whole(text: str, needle: str) -> bool:
    """Find the needle where it is no part of a longer word or number: 21 is not in 121, nor in 21.5."""
    if not needle:
        return True
    before = r"(?<![\w])(?<!\d[.,])" if _is_word(needle[0]) else ""
    after = r"(?!\w)(?![.,]\d)" if _is_word(needle[-1]) else ""
    return re.search(before + re.escape(needle) + after, text) is not None


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
