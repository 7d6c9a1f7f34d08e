"""Tools of dates and times, in UTC and by a frozen clock. Source: upstream tools/utilities.py at 165848b.

Differs: the zone is always UTC, where upstream takes the machine's; the clock stands still.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

from replay.benchmarks.toolsandbox.tools.ranges import check_timestamp
from replay.benchmarks.toolsandbox.tools.tool import Arguments, Moment, Parameter, Tool
from replay.core.types import Json

__all__ = ["TOOLS", "local_timestamp"]

_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001  wall time, as upstream computes with it
_TIME: Final = "seconds since 1970 UTC"
_DELTAS: Final = ("weeks", "days", "hours", "minutes", "seconds")
_PARTS: Final = ("year", "month", "day", "hour", "minute", "second")


def local_timestamp(moment: dt.datetime) -> float:
    """Seconds since 1970 of a wall time, rounded as Python rounds those of naive times."""
    delta = moment.replace(microsecond=0) - _EPOCH
    return delta.days * 86_400 + delta.seconds + moment.microsecond / 1e6


def _wall_time(timestamp: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(timestamp, tz=dt.UTC).replace(tzinfo=None)


def _now(moment: Moment, _: Arguments) -> Json:
    return moment.clock.timestamp()


def _to_info(_: Moment, arguments: Arguments) -> Json:
    check_timestamp("timestamp", arguments["timestamp"])
    wall = _wall_time(arguments["timestamp"])
    return {**{part: getattr(wall, part) for part in _PARTS}, "isoweekday": wall.isoweekday()}


def _from_info(_: Moment, arguments: Arguments) -> Json:
    return local_timestamp(dt.datetime(**{part: arguments[part] for part in _PARTS}))  # noqa: DTZ001


def _shift(_: Moment, arguments: Arguments) -> Json:
    check_timestamp("timestamp", arguments["timestamp"])
    delta = dt.timedelta(**{unit: arguments[unit] for unit in _DELTAS})
    return local_timestamp(_wall_time(arguments["timestamp"]) + delta)


def _diff(_: Moment, arguments: Arguments) -> Json:
    for name in ("timestamp_0", "timestamp_1"):
        check_timestamp(name, arguments[name])
    delta = _wall_time(arguments["timestamp_1"]) - _wall_time(arguments["timestamp_0"])
    return {"days": delta.days, "seconds": delta.seconds}


def _to_clock_parts(_: Moment, arguments: Arguments) -> Json:
    wall = _wall_time(arguments["seconds"])
    return {part: getattr(wall, part) for part in ("hour", "minute", "second")}


def _delta(name: str) -> Parameter:
    return Parameter(
        name=name, kind="int", default=0, about=f"{name.capitalize()} to add; below 0 to go back"
    )


def _part(name: str, about: str) -> Parameter:
    return Parameter(name=name, kind="int", required=True, about=about)


TOOLS: Final = (
    Tool(
        name="datetime_info_to_timestamp",
        module="utilities",
        about="Turns a date and a time of day into seconds since 1970.",
        run=_from_info,
        parameters=(
            _part("year", "Year"),
            _part("month", "Month, 1 to 12"),
            _part("day", "Day of the month"),
            _part("hour", "Hour, 0 to 23"),
            _part("minute", "Minute"),
            _part("second", "Second"),
        ),
    ),
    Tool(
        name="get_current_timestamp",
        module="utilities",
        about="Tells the current time in seconds since 1970.",
        run=_now,
        described=False,
    ),
    Tool(
        name="seconds_to_hours_minutes_seconds",
        module="utilities",
        about="Splits a number of seconds since midnight into hours, minutes and seconds.",
        run=_to_clock_parts,
        parameters=(Parameter(name="seconds", kind="float", required=True, about="Seconds since midnight"),),
    ),
    Tool(
        name="shift_timestamp",
        module="utilities",
        about="Moves a time forward or back.",
        run=_shift,
        parameters=(
            Parameter(name="timestamp", kind="float", required=True, about=f"Time to move, {_TIME}"),
            *(_delta(name) for name in _DELTAS),
        ),
    ),
    Tool(
        name="timestamp_diff",
        module="utilities",
        about="Tells how long it is from one time to another, in days and left-over seconds.",
        run=_diff,
        parameters=(
            Parameter(
                name="timestamp_0", kind="float", required=True, about=f"The time to count from, {_TIME}"
            ),
            Parameter(
                name="timestamp_1", kind="float", required=True, about=f"The time to count to, {_TIME}"
            ),
        ),
    ),
    Tool(
        name="timestamp_to_datetime_info",
        module="utilities",
        about="Turns seconds since 1970 into year, month, day, hour, minute, second and isoweekday "
        "(Monday is 1).",
        run=_to_info,
        parameters=(Parameter(name="timestamp", kind="float", required=True, about=f"Time, {_TIME}"),),
    ),
)
