"""Values of a dump that depend on the time: offsets and calendar days, resolved at the frozen clock."""

from __future__ import annotations

from typing import Final

from replay.core.determinism import FrozenClock
from replay.core.errors import InputError
from replay.core.types import Json

__all__ = ["resolve"]

_OFFSET: Final = "$now_plus_seconds"
_CALENDAR: Final = "$calendar"
_AT_NOW: Final = "at_T0"


def resolve(value: Json, clock: FrozenClock) -> Json:
    """Replace every time-dependent value inside a JSON value.

    Errors:  InputError for a form that is not known.
    """
    if isinstance(value, list):
        return [resolve(item, clock) for item in value]
    if not isinstance(value, dict):
        return value
    if _OFFSET in value:
        offset = value[_OFFSET]
        if type(offset) not in (int, float):
            raise InputError(f"{_OFFSET} = {offset!r}", expected="a number of seconds")
        return clock.timestamp() + offset
    if _CALENDAR in value:
        days = value[_CALENDAR]
        if not isinstance(days, dict) or _AT_NOW not in days:
            raise InputError(f"{_CALENDAR} without {_AT_NOW}", expected="values by moment")
        return days[_AT_NOW]
    return {name: resolve(item, clock) for name, item in value.items()}
