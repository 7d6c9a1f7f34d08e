"""Tools of units, distances and holidays. Source: upstream tools/utilities.py at 165848b."""

from __future__ import annotations

import datetime as dt
import re
from tokenize import TokenError
from typing import Any, Final

from replay.benchmarks.toolsandbox.libraries import load_library
from replay.benchmarks.toolsandbox.tools.clock import local_timestamp
from replay.benchmarks.toolsandbox.tools.failures import CODE_FAULTS, WrongValueError, describe
from replay.benchmarks.toolsandbox.tools.ranges import check_latitude, check_longitude
from replay.benchmarks.toolsandbox.tools.setting import TABLE as SETTINGS
from replay.benchmarks.toolsandbox.tools.setting import check_wifi
from replay.benchmarks.toolsandbox.tools.tool import Arguments, Moment, Parameter, Tool
from replay.core.types import Json

__all__ = ["TOOLS"]

_LEAST_MATCH: Final = 90
"""Score (0..100) that a holiday's name must be above."""

_ELLIPSOID: Final = (6378.137, 1 / 298.257223563)
"""WGS-84, equatorial radius in kilometres and flattening, as the library that upstream calls has them."""

_MAX_UNIT: Final = 200
"""Longest unit text that is read."""
_TOWER: Final = re.compile(r"\)\s*(\*\*|\^)|(\*\*|\^)(\s*[^*/\s]+\s*)(\*\*|\^)")
"""A power of a power: of a bracket, or with no factor in between."""
_POWER: Final = re.compile(r"\*\*|\^")
_LARGE_NUMBER: Final = re.compile(r"\d{3,}|\de\d")


def _convert(_: Moment, arguments: Arguments) -> Json:
    amount, source, target = (arguments[name] for name in ("amount", "from_unit", "to_unit"))
    _check_unit(source)
    _check_unit(target)
    pint: Any = load_library("pint")
    try:
        try:
            return pint.Quantity(amount, source).to(target).magnitude
        except pint.UndefinedUnitError:
            return pint.Quantity(amount, source.lower()).to(target.lower()).magnitude
    except (pint.errors.PintError, TokenError, *CODE_FAULTS) as error:
        raise describe(error) from None


def _check_unit(text: str) -> None:
    """Refuse what would make the unit library compute powers of powers until memory ends."""
    is_large = _LARGE_NUMBER.search(text) and _POWER.search(text)
    if len(text) > _MAX_UNIT or is_large or _TOWER.search(text):
        raise WrongValueError(f"a unit expression of {len(text)} characters with large powers is not read")


def _distance(_: Moment, arguments: Arguments) -> Json:
    for name in ("latitude_0", "latitude_1"):
        check_latitude(name, arguments[name])
    for name in ("longitude_0", "longitude_1"):
        check_longitude(name, arguments[name])
    earth = load_library("geographiclib.geodesic").Geodesic(*_ELLIPSOID)
    points = (arguments[name] for name in ("latitude_0", "longitude_0", "latitude_1", "longitude_1"))
    return float(earth.Inverse(*points)["s12"])


def _holiday(moment: Moment, arguments: Arguments) -> Json:
    check_wifi(moment.tables)
    year = moment.clock.now().year if arguments["year"] is None else arguments["year"]
    fuzz, utils = load_library("rapidfuzz.fuzz"), load_library("rapidfuzz.utils")
    wanted = arguments["holiday_name"]
    try:
        days = load_library("holidays").country_holidays("US", years=year).items()
    except CODE_FAULTS as error:
        raise describe(error) from None
    matches = sorted(
        (
            (fuzz.partial_ratio(wanted, name, processor=utils.default_process), date, name)
            for date, name in days
        ),
        reverse=True,
    )
    if not matches or matches[0][0] <= _LEAST_MATCH:
        return None
    return local_timestamp(dt.datetime.combine(matches[0][1], dt.time.min))


def _number(name: str, about: str) -> Parameter:
    return Parameter(name=name, kind="float", required=True, about=about)


TOOLS: Final = (
    Tool(
        name="calculate_lat_lon_distance",
        module="utilities",
        about="Tells the distance between two points on Earth in kilometres.",
        run=_distance,
        parameters=(
            _number("latitude_0", "Latitude of the first point"),
            _number("longitude_0", "Longitude of the first point"),
            _number("latitude_1", "Latitude of the second point"),
            _number("longitude_1", "Longitude of the second point"),
        ),
    ),
    Tool(
        name="search_holiday",
        module="utilities",
        about="Finds a holiday of the United States by name and tells its time, seconds since 1970; "
        "null if unknown.",
        run=_holiday,
        reads=frozenset({SETTINGS}),
        parameters=(
            Parameter(name="holiday_name", kind="str", required=True, about="Name of the holiday"),
            Parameter(name="year", kind="int", nullable=True, about="Year; this year if not given"),
        ),
    ),
    Tool(
        name="unit_conversion",
        module="utilities",
        about="Turns an amount in one unit into another; units by their English names.",
        run=_convert,
        parameters=(
            _number("amount", "Amount in the first unit"),
            Parameter(name="from_unit", kind="str", required=True, about="Unit of the amount"),
            Parameter(name="to_unit", kind="str", required=True, about="Unit that is wanted"),
        ),
    ),
)
