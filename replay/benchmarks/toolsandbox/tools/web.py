"""Tools that ask external APIs: what they send, and how they shape the JSON that comes back.

What is recorded is the upstream JSON; the shaping here stays testable. Checks come in upstream's order:
coordinates, location service, wifi. Source: upstream tools/rapid_api_search_tools.py at 165848b. Differs: no
key is asked for. An answer that was never recorded is no answer at all: the episode ends with a named miss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from replay.benchmarks.toolsandbox.tools.failures import ToolError, WrongValueError
from replay.benchmarks.toolsandbox.tools.ranges import check_currency, check_latitude, check_longitude
from replay.benchmarks.toolsandbox.tools.setting import TABLE as SETTINGS
from replay.benchmarks.toolsandbox.tools.setting import check_wifi, current_position
from replay.benchmarks.toolsandbox.tools.tool import ApiRequest, Arguments, Moment, Parameter, Tool
from replay.core.types import Json

__all__ = ["APIS", "TOOLS"]

APIS: Final[Mapping[str, tuple[str, str]]] = {
    "search_lat_lon": (
        "trueway-geocoding/ReverseGeocode@1",
        "https://trueway-geocoding.p.rapidapi.com/ReverseGeocode",
    ),
    "search_location_around_lat_lon": (
        "maps-data/searchmaps@1",
        "https://maps-data.p.rapidapi.com/searchmaps.php",
    ),
    "search_weather_around_lat_lon": (
        "weatherapi-com/forecast@1",
        "https://weatherapi-com.p.rapidapi.com/forecast.json",
    ),
    "search_stock": (
        "real-time-finance-data/search@1",
        "https://real-time-finance-data.p.rapidapi.com/search",
    ),
    "convert_currency": (
        "currency-converter18/convert@1",
        "https://currency-converter18.p.rapidapi.com/api/v1/convert",
    ),
}
"""API (with the version of its form) and address that each tool asks."""

_PLACE_NOISE: Final = ("business_id", "place_id", "place_link", "verified", "photos")

_WEATHER_NAMES: Final[Mapping[str, str]] = {
    "temp_c": "current_temperature",
    "temp_f": "",
    "feelslike_c": "perceived_temperature",
    "feelslike_f": "",
    "vis_km": "visibility_distance",
    "vis_miles": "",
    "wind_kph": "wind_speed",
    "wind_mph": "",
    "maxtemp_c": "max_temperature",
    "maxtemp_f": "",
    "mintemp_c": "min_temperature",
    "mintemp_f": "",
    "avgtemp_c": "average_temperature",
    "avgtemp_f": "",
    "maxwind_kph": "max_wind_speed",
    "maxwind_mph": "",
    "avgvis_km": "average_visibility_distance",
    "avgvis_miles": "",
    "pressure_mb": "barometric_pressure",
    "pressure_in": "",
    "precip_mm": "",
    "precip_in": "",
    "totalprecip_mm": "",
    "totalprecip_in": "",
    "avghumidity": "average_humidity",
}
"""New name of each field of a forecast, empty for one that is dropped; results have this order."""


def _ask(moment: Moment, tool: str, arguments: Mapping[str, Json], params: Mapping[str, Json]) -> Json:
    check_wifi(moment.tables)
    api, url = APIS[tool]
    request = ApiRequest(tool=tool, api=api, arguments=dict(arguments), url=url, params=dict(params))
    return moment.fetch(request)


def _check_position(arguments: Arguments) -> None:
    check_latitude("latitude", arguments["latitude"])
    check_longitude("longitude", arguments["longitude"])


def _position(moment: Moment, arguments: Arguments) -> tuple[Json, Json]:
    """Fill in where the device is when no coordinates are given."""
    _check_position(arguments)
    latitude, longitude = arguments["latitude"], arguments["longitude"]
    if (latitude is None) != (longitude is None):
        raise WrongValueError("Latitude and Longitude must be either both provided, or both not provided")
    if latitude is None:
        here = current_position(moment.tables)
        return here["latitude"], here["longitude"]
    return latitude, longitude


def _search_lat_lon(moment: Moment, arguments: Arguments) -> Json:
    _check_position(arguments)
    latitude, longitude = arguments["latitude"], arguments["longitude"]
    answer = _ask(
        moment,
        "search_lat_lon",
        {"latitude": float(latitude), "longitude": float(longitude)},
        {"location": f"{latitude},{longitude}", "language": "en"},
    )
    try:
        return answer["results"][0]["address"]
    except (KeyError, IndexError):
        return None


def _search_location(moment: Moment, arguments: Arguments) -> Json:
    latitude, longitude = _position(moment, arguments)
    sent = {"query": arguments["location"], "lat": latitude, "lng": longitude}
    answer = _ask(
        moment,
        "search_location_around_lat_lon",
        {"location": arguments["location"], "latitude": float(latitude), "longitude": float(longitude)},
        {**sent, "limit": 4, "country": "us", "lang": "en"},
    )
    try:
        places = answer["data"]
        return [{name: place[name] for name in place if name not in _PLACE_NOISE} for place in places]
    except KeyError:
        return []


def _search_weather(moment: Moment, arguments: Arguments) -> Json:
    latitude, longitude = _position(moment, arguments)
    days = arguments["days"]
    if days < 0:
        raise WrongValueError(f"Days must be positive integer, found {days=}.")
    answer = _ask(
        moment,
        "search_weather_around_lat_lon",
        {"days": int(days), "latitude": float(latitude), "longitude": float(longitude)},
        {"q": f"{latitude}, {longitude}", "days": days + 1},
    )
    try:
        return _shape_weather(answer, days)
    except (KeyError, IndexError):
        return None


def _shape_weather(answer: Json, days: int) -> dict[str, Json]:
    """Flatten one day, add what is now for today, and rename."""
    forecast = answer["forecast"]["forecastday"][days]
    units = {"temperature_unit": "Celsius", "distance_unit": "Kilometer"}
    flat = {**forecast["day"], **forecast["astro"], **answer["location"], **units}
    if days == 0:
        flat.update(answer["current"])
    for name, fresh in _WEATHER_NAMES.items():
        if name in flat:
            value = flat.pop(name)
            if fresh:
                flat[fresh] = value
    return flat


def _search_stock(moment: Moment, arguments: Arguments) -> Json:
    query = {"query": arguments["query"]}
    answer = _ask(moment, "search_stock", query, query)
    try:
        stock = answer["data"]["stock"][0]
        return {**stock, "symbol": stock["symbol"].split(":")[0]}
    except (KeyError, IndexError):
        return None


def _convert_currency(moment: Moment, arguments: Arguments) -> Json:
    source, target = arguments["from_currency_code"], arguments["to_currency_code"]
    check_currency(source)
    check_currency(target)
    amount = arguments["amount"]
    codes = {"from_currency_code": source.upper(), "to_currency_code": target.upper()}
    sent = {"from": source.upper(), "to": target.upper(), "amount": amount}
    answer = _ask(moment, "convert_currency", {"amount": float(amount), **codes}, sent)
    try:
        return float(answer["result"]["convertedAmount"])
    except KeyError:
        raise ToolError("RuntimeError", "Conversion failed") from None


_NEEDS: Final = frozenset({SETTINGS})
_LATITUDE: Final = Parameter(
    name="latitude", kind="float", nullable=True, about="Latitude; where the device is if not given"
)
_LONGITUDE: Final = Parameter(
    name="longitude", kind="float", nullable=True, about="Longitude; where the device is if not given"
)


def _text(name: str, about: str) -> Parameter:
    return Parameter(name=name, kind="str", required=True, about=about)


TOOLS: Final = (
    Tool(
        name="convert_currency",
        module="rapid_api_search_tools",
        about="Turns an amount of money in one currency into another; currencies by their ISO 4217 codes.",
        run=_convert_currency,
        reads=_NEEDS,
        parameters=(
            Parameter(
                name="amount",
                kind="float",
                required=True,
                expected="typing.Union[float, int]",
                about="Amount of money",
            ),
            _text("from_currency_code", "Code of the currency of the amount"),
            _text("to_currency_code", "Code of the currency that is wanted"),
        ),
    ),
    Tool(
        name="search_lat_lon",
        module="rapid_api_search_tools",
        about="Finds the address at a latitude and longitude; null if there is none.",
        run=_search_lat_lon,
        reads=_NEEDS,
        parameters=(
            Parameter(name="latitude", kind="float", required=True, about="Latitude"),
            Parameter(name="longitude", kind="float", required=True, about="Longitude"),
        ),
    ),
    Tool(
        name="search_location_around_lat_lon",
        module="rapid_api_search_tools",
        about="Finds places (a business, a sight, a city, an address) near a point, or near the device, with "
        "what is known of each.",
        run=_search_location,
        reads=_NEEDS,
        parameters=(_text("location", "What to look for"), _LATITUDE, _LONGITUDE),
    ),
    Tool(
        name="search_stock",
        module="rapid_api_search_tools",
        about="Finds a stock by company, symbol or exchange, with price and change; null if there is none.",
        run=_search_stock,
        reads=_NEEDS,
        parameters=(_text("query", "Company, symbol or exchange"),),
    ),
    Tool(
        name="search_weather_around_lat_lon",
        module="rapid_api_search_tools",
        about="Tells the weather at a point or where the device is, today or days ahead; null if unknown.",
        run=_search_weather,
        reads=_NEEDS,
        parameters=(
            Parameter(name="days", kind="int", default=0, about="Days from today; 0 if not given"),
            _LATITUDE,
            _LONGITUDE,
        ),
    ),
)
