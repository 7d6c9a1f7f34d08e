"""Values read out of a tool trace, in the spellings that an agent may give them.

Official names are the interface: scenarios name an extractor. Each gives a list of alternatives, each a
value by name. Source: upstream common/tool_trace_extractors.py at 165848b.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from typing import Final

from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError, OfficialCrashError
from replay.core.types import Json

__all__ = ["EXTRACTORS", "extract_values", "fill_text"]

Values = dict[str, Json]
Extractor = Callable[[Json], list[Values]]

_DECIMALS: Final = range(4)
"""A temperature may be told with none to three decimals."""

_FORMAT: Final = re.compile(r"[<>^+\- ]?\d{0,2}(\.\d{1,2})?[dfgs]?")
"""Format specifications that a target's text may use; longer ones could ask for any amount of memory."""


def extract_values(name: str, trace: Json) -> list[Values]:
    """Read the alternatives out of one trace; none from a trace that has not what is read.

    Errors:  DefinitionError for an unknown extractor; OfficialCrashError where the official one lets an
             exception through.
    """
    extractor = EXTRACTORS.get(name)
    if extractor is None:
        raise DefinitionError(f"unknown extractor {name!r}; known: {', '.join(sorted(EXTRACTORS))}")
    try:
        return extractor(trace)
    except (KeyError, IndexError, TypeError, ValueError):
        return []
    except OverflowError as error:
        raise OfficialCrashError("OverflowError", str(error)) from None


def fill_text(text: str, values: Mapping[str, Json]) -> str:
    """Put values in a text's named places, without reaching into them.

    Errors:  KeyError for a place without a value; OfficialCrashError for a text that is no format.
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise OfficialCrashError("ValueError", str(error)) from None
    made = []
    for literal, name, form, conversion in parts:
        made.append(literal)
        if name is None:
            continue
        value = values[name]
        if conversion in {"r", "a"}:
            value = repr(value)
        if not _FORMAT.fullmatch(form or ""):
            raise OfficialCrashError("ValueError", f"format {form!r} is not taken")
        try:
            made.append(format(value, form or ""))
        except (ValueError, TypeError) as error:
            raise OfficialCrashError(type(error).__name__, str(error)) from None
    return "".join(made)


def _spell(value: float) -> list[str]:
    return [f"{value:.{decimals}f}" for decimals in _DECIMALS]


def _result_as(name: str) -> Extractor:
    """Take the result as one number."""
    return lambda trace: [{name: float(trace["result"])}]


def _field_as(name: str, field: str) -> Extractor:
    """Take a field of the result as one number."""
    return lambda trace: [{name: float(trace["result"][field])}]


def _result_spelt(name: str) -> Extractor:
    """Take the result in every spelling."""
    return lambda trace: [{name: text} for text in _spell(float(trace["result"]))]


EXTRACTORS: Final[Mapping[str, Extractor]] = {
    "search_weather_around_lat_lon_temperature_extractor": lambda trace: [
        {"temperature": text} for text in _spell(float(trace["result"]["current_temperature"]))
    ],
    "result_to_timestamp0_extractor": _result_as("timestamp_0"),
    "result_to_timestamp1_extractor": _result_as("timestamp_1"),
    "days_extractor": lambda trace: [{"days": int(trace["result"]["days"])}],
    "lat_lon_dict_extractor": lambda trace: [
        {name: trace["result"][name] for name in ("latitude", "longitude")}
    ],
    "current_temperature_extractor": _field_as("amount", "current_temperature"),
    "result_to_temperature_extractor": _result_spelt("temperature"),
    "result_to_reminder_timestamp_lowerbound_extractor": _result_as("reminder_timestamp_lowerbound"),
    "min_temperature_amount_extractor": _field_as("amount", "min_temperature"),
    "min_temperature_extractor": _result_spelt("min_temperature"),
}
"""By official name."""
