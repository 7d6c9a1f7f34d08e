"""Tools of the device's settings. Source: upstream tools/setting.py at 165848b."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from replay.benchmarks.toolsandbox.tools.failures import PERMISSION, ToolError, WrongValueError
from replay.benchmarks.toolsandbox.tools.tool import Arguments, Moment, Parameter, Tool, check_type
from replay.benchmarks.toolsandbox.world.tables import Tables
from replay.core.types import Json

__all__ = ["TABLE", "TOOLS", "check_wifi", "current_position", "is_on"]

TABLE: Final = "SETTING"
_TOUCHED: Final = frozenset({TABLE})

_LOW_BATTERY: Final = "low_battery_mode"

_ON: Final = Parameter(name="on", kind="bool", required=True, about="True turns it on, false turns it off")


def is_on(tables: Tables, column: str) -> bool:
    """Tell whether a service is on."""
    return bool(tables.read(TABLE)[0][column])


def check_wifi(tables: Tables) -> None:
    """Refuse what needs the web while the wifi is off."""
    if not is_on(tables, "wifi"):
        raise ToolError("ConnectionError", "Wifi is not enabled")


def current_position(tables: Tables) -> dict[str, Json]:
    """Tell where the device is. Refused while the location service is off."""
    if not is_on(tables, "location_service"):
        raise ToolError(PERMISSION, "Location service is not enabled.")
    row = tables.read(TABLE)[0]
    return {"latitude": row["latitude"], "longitude": row["longitude"]}


def _switch(tables: Tables, column: str, *, on: bool) -> None:
    if is_on(tables, column) == on:
        raise WrongValueError(f"{column} already {'enabled' if on else 'disabled'}")
    tables.replace(TABLE, [{**row, column: not row[column]} for row in tables.read(TABLE)])


def _set_low_battery(moment: Moment, arguments: Arguments) -> Json:
    check_type(_ON, arguments["on"])
    _switch(moment.tables, _LOW_BATTERY, on=arguments["on"])
    if arguments["on"]:
        for service in ("cellular", "wifi", "location_service"):
            if is_on(moment.tables, service):
                _switch(moment.tables, service, on=False)
    return None


def _setter(column: str, shown: str, *, checks_first: bool) -> Callable[[Moment, Arguments], Json]:
    def run(moment: Moment, arguments: Arguments) -> Json:
        on = arguments["on"]
        if checks_first:
            check_type(_ON, on)
        if on and is_on(moment.tables, _LOW_BATTERY):
            raise ToolError(PERMISSION, f"{shown} cannot be turned on in low battery mode")
        check_type(_ON, on)
        _switch(moment.tables, column, on=on)
        return None

    return run


def _getter(column: str) -> Callable[[Moment, Arguments], Json]:
    return lambda moment, _: is_on(moment.tables, column)


def _get_current_location(moment: Moment, _: Arguments) -> Json:
    return current_position(moment.tables)


def _make_setter(name: str, about: str, run: Callable[[Moment, Arguments], Json]) -> Tool:
    return Tool(
        name=name,
        module="setting",
        about=about,
        run=run,
        parameters=(_ON,),
        reads=_TOUCHED,
        writes=_TOUCHED,
        checked=False,
    )


def _make_getter(name: str, about: str, run: Callable[[Moment, Arguments], Json]) -> Tool:
    return Tool(name=name, module="setting", about=about, run=run, reads=_TOUCHED, described=False)


TOOLS: Final = (
    _make_getter(
        "get_cellular_service_status", "Tells whether the cellular service is on.", _getter("cellular")
    ),
    _make_getter(
        "get_current_location",
        "Tells latitude and longitude of the device; needs the location service.",
        _get_current_location,
    ),
    _make_getter(
        "get_location_service_status",
        "Tells whether the location service is on.",
        _getter("location_service"),
    ),
    _make_getter(
        "get_low_battery_mode_status", "Tells whether low battery mode is on.", _getter(_LOW_BATTERY)
    ),
    _make_getter("get_wifi_status", "Tells whether the wifi is on.", _getter("wifi")),
    _make_setter(
        "set_cellular_service_status",
        "Turns the cellular service on or off.",
        _setter("cellular", "Cellular service", checks_first=True),
    ),
    _make_setter(
        "set_location_service_status",
        "Turns the location service on or off.",
        _setter("location_service", "Location service", checks_first=False),
    ),
    _make_setter("set_low_battery_mode_status", "Turns low battery mode on or off.", _set_low_battery),
    _make_setter("set_wifi_status", "Turns the wifi on or off.", _setter("wifi", "Wifi", checks_first=True)),
)
