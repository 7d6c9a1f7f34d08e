"""Tools of the reminders. Source: upstream tools/reminder.py at 165848b."""

from __future__ import annotations

from typing import Final

from replay.benchmarks.toolsandbox.tools.filters import (
    CLOSE_TEXT,
    Criterion,
    at_least,
    at_most,
    exact,
    fuzzy,
    search,
)
from replay.benchmarks.toolsandbox.tools.ranges import check_latitude, check_longitude, check_timestamp
from replay.benchmarks.toolsandbox.tools.rows import read_changes, remove_row, update_row
from replay.benchmarks.toolsandbox.tools.tool import Arguments, Moment, Parameter, Tool
from replay.core.types import Json

__all__ = ["TOOLS"]

_TABLE: Final = "REMINDER"
_TOUCHED: Final = frozenset({_TABLE})
_FIELDS: Final = ("content", "reminder_timestamp", "latitude", "longitude")


def _check(arguments: Arguments) -> None:
    check_timestamp("reminder_timestamp", arguments["reminder_timestamp"])
    _check_place(arguments)


def _check_place(arguments: Arguments) -> None:
    check_latitude("latitude", arguments["latitude"])
    check_longitude("longitude", arguments["longitude"])


def _add(moment: Moment, arguments: Arguments) -> Json:
    _check(arguments)
    reminder = moment.new_id()
    created = {"creation_timestamp": moment.clock.timestamp()}
    moment.tables.add(_TABLE, [{"reminder_id": reminder, **created, **arguments}])
    return reminder


def _modify(moment: Moment, arguments: Arguments) -> Json:
    _check(arguments)
    changes = read_changes(arguments, _FIELDS, of="reminder")
    changes["creation_timestamp"] = moment.clock.timestamp()
    update_row(moment.tables, _TABLE, ("reminder_id", arguments["reminder_id"]), changes)
    return None


def _remove(moment: Moment, arguments: Arguments) -> Json:
    remove_row(moment.tables, _TABLE, ("reminder_id", arguments["reminder_id"]))
    return None


def _search(moment: Moment, arguments: Arguments) -> Json:
    bounds: list[Criterion] = []
    for column in ("creation_timestamp", "reminder_timestamp"):
        for end, rule in (("lowerbound", at_least), ("upperbound", at_most)):
            value = arguments[f"{column}_{end}"]
            check_timestamp(f"{column}_{end}", value)
            bounds.append((column, value, rule))
    _check_place(arguments)
    criteria = [
        ("reminder_id", arguments["reminder_id"], exact),
        ("content", arguments["content"], fuzzy(CLOSE_TEXT)),
        *bounds,
        ("latitude", arguments["latitude"], exact),
        ("longitude", arguments["longitude"], exact),
    ]
    return search(moment.tables.read(_TABLE), criteria)


_ID: Final = "Identifier of the reminder, as a search returns it"
_TIME: Final = "seconds since 1970 UTC"


def _bound(name: str, about: str) -> Parameter:
    return Parameter(name=name, kind="float", omissible=True, about=f"{about}, {_TIME}")


TOOLS: Final = (
    Tool(
        name="add_reminder",
        module="reminder",
        about="Saves a new reminder and returns its identifier.",
        run=_add,
        writes=_TOUCHED,
        parameters=(
            Parameter(name="content", kind="str", required=True, about="What to be reminded of"),
            Parameter(
                name="reminder_timestamp", kind="float", required=True, about=f"When to be reminded, {_TIME}"
            ),
            Parameter(
                name="latitude", kind="float", nullable=True, about="Latitude of the place it belongs to"
            ),
            Parameter(
                name="longitude", kind="float", nullable=True, about="Longitude of the place it belongs to"
            ),
        ),
    ),
    Tool(
        name="modify_reminder",
        module="reminder",
        about="Changes a saved reminder; what is not given stays as it is. Its time of creation becomes now.",
        run=_modify,
        reads=_TOUCHED,
        writes=_TOUCHED,
        parameters=(
            Parameter(name="reminder_id", kind="str", required=True, about=_ID),
            Parameter(name="content", kind="str", omissible=True, about="New text"),
            Parameter(name="reminder_timestamp", kind="float", omissible=True, about=f"New time, {_TIME}"),
            Parameter(name="latitude", kind="float", omissible=True, nullable=True, about="New latitude"),
            Parameter(name="longitude", kind="float", omissible=True, nullable=True, about="New longitude"),
        ),
    ),
    Tool(
        name="remove_reminder",
        module="reminder",
        about="Deletes a saved reminder.",
        run=_remove,
        reads=_TOUCHED,
        writes=_TOUCHED,
        parameters=(Parameter(name="reminder_id", kind="str", required=True, about=_ID),),
    ),
    Tool(
        name="search_reminder",
        module="reminder",
        about="Finds the reminders that meet every given criterion; an empty list when there is none.",
        run=_search,
        reads=_TOUCHED,
        parameters=(
            Parameter(name="reminder_id", kind="str", omissible=True, about=_ID),
            Parameter(name="content", kind="str", omissible=True, about="Text; compared loosely"),
            _bound("creation_timestamp_lowerbound", "Earliest time of creation"),
            _bound("creation_timestamp_upperbound", "Latest time of creation"),
            _bound("reminder_timestamp_lowerbound", "Earliest time to be reminded"),
            _bound("reminder_timestamp_upperbound", "Latest time to be reminded"),
            Parameter(name="latitude", kind="float", omissible=True, about="Latitude; compared exactly"),
            Parameter(name="longitude", kind="float", omissible=True, about="Longitude; compared exactly"),
        ),
    ),
)
