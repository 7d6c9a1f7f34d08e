"""Each tool's rules: what it needs, what it refuses in which order, what it changes and tells."""

from __future__ import annotations

import ast
import json

import pytest

from replay.benchmarks.toolsandbox.tools.catalogue import TOOLS, rank_distractors
from replay.benchmarks.toolsandbox.tools.specs import augment, make_spec
from replay.benchmarks.toolsandbox.world.console import answer_name
from replay.benchmarks.toolsandbox.world.world import Said, SandboxWorld
from replay.core.errors import InputError
from replay.core.types import Json
from tests.support.sandboxes import NOW_S, make_scenario, reply_to, rows_of, run_calls

NUMBER = "+12453344098"
LOW_BATTERY = {"low_battery_mode": True, "cellular": False, "wifi": False, "location_service": False}


def result_of(name: str, arguments: Json, **setting: Json) -> Json:
    """The value a tool returns in a fresh world."""
    return ast.literal_eval(reply_to(name, arguments, **setting))


@pytest.mark.parametrize(
    ("name", "arguments", "setting", "message"),
    [
        ("set_wifi_status", {"on": True}, {}, "ValueError: wifi already enabled"),
        (
            "set_cellular_service_status",
            {"on": False},
            {"cellular": False},
            "ValueError: cellular already disabled",
        ),
        ("set_low_battery_mode_status", {"on": False}, {}, "ValueError: low_battery_mode already disabled"),
        (
            "set_wifi_status",
            {"on": 1},
            {},
            "Parameter 'on' is of type '<class 'int'>', but expected '<class 'bool'>'.",
        ),
        (
            "set_location_service_status",
            {"on": "yes"},
            LOW_BATTERY,
            "PermissionError: Location service cannot be",
        ),
        ("set_cellular_service_status", {"on": "yes"}, LOW_BATTERY, "TypeError: Parameter 'on'"),
        (
            "get_current_location",
            {},
            {"location_service": False},
            "PermissionError: Location service is not enabled.",
        ),
        (
            "search_weather_around_lat_lon",
            {},
            LOW_BATTERY,
            "PermissionError: Location service is not enabled.",
        ),
        (
            "search_weather_around_lat_lon",
            {"latitude": 1.0, "longitude": 2.0},
            LOW_BATTERY,
            "ConnectionError: Wifi",
        ),
        ("search_weather_around_lat_lon", {"latitude": 1.0}, {}, "must be either both provided, or both not"),
        ("search_weather_around_lat_lon", {"days": -1}, {}, "Days must be positive integer, found days=-1."),
        (
            "search_lat_lon",
            {"latitude": 91, "longitude": 0},
            {"wifi": False},
            "larger than its valid range maximum of 90.0",
        ),
        (
            "convert_currency",
            {"amount": 1, "from_currency_code": "QQQ", "to_currency_code": "USD"},
            {"wifi": False},
            "QQQ",
        ),
        (
            "convert_currency",
            {"amount": "1", "from_currency_code": "USD", "to_currency_code": "EUR"},
            {},
            "typing.Union[float, int]",
        ),
        (
            "search_holiday",
            {"holiday_name": "Christmas"},
            {"wifi": False},
            "ConnectionError: Wifi is not enabled",
        ),
        ("search_contacts", {}, {}, "ValueError: No search criteria are given."),
        (
            "search_contacts",
            {"phone_number": "12"},
            {},
            "NumberParseException: (0) Missing or invalid default region.",
        ),
        ("search_contacts", {"name": 5}, {}, "TypeError: sentence must be a String"),
        (
            "search_contacts",
            {"person_id": 5},
            {},
            "ComputeError: cannot compare string with numeric type (i32)",
        ),
        (
            "search_messages",
            {"creation_timestamp_lowerbound": 5},
            {},
            "smaller than its valid range minimum of 315529200.0.",
        ),
        ("modify_contact", {"person_id": "bob"}, {}, "ValueError: No update information given."),
        (
            "modify_contact",
            {"person_id": "zed", "name": "Z"},
            {},
            "NoDataError: No db entry matching person_id='zed' found",
        ),
        (
            "modify_contact",
            {"person_id": "bob", "is_self": True},
            {},
            "DuplicateError: Self entry already exists.",
        ),
        (
            "add_contact",
            {"name": "Me", "phone_number": NUMBER, "is_self": True},
            {},
            "DuplicateError: Self entry",
        ),
        ("remove_contact", {"person_id": "zed"}, {}, "NoDataError: No db entry matching predicate="),
        ("modify_reminder", {"reminder_id": "r1"}, {}, "[content, reminder_timestamp, latitude, longitude]"),
        (
            "modify_reminder",
            {"reminder_id": "r1", "latitude": "x"},
            {},
            "typing.Union[float, NoneType, tool_sandbox",
        ),
        (
            "add_reminder",
            {"content": "x", "reminder_timestamp": NOW_S * 1000},
            {},
            "maximum of 2524604400.0.",
        ),
        (
            "datetime_info_to_timestamp",
            dict.fromkeys(("year", "month", "day", "hour", "minute", "second"), 40),
            {},
            "ValueError: month",
        ),
        (
            "unit_conversion",
            {"amount": 1, "from_unit": "bogus", "to_unit": "m"},
            {},
            "UndefinedUnitError: 'bogus' is not",
        ),
        (
            "unit_conversion",
            {"amount": 1, "from_unit": "m", "to_unit": "s"},
            {},
            "DimensionalityError: Cannot convert",
        ),
        (
            "unit_conversion",
            {"amount": 1, "from_unit": "10**10**10", "to_unit": "m"},
            {},
            "large powers is not read",
        ),
        (
            "unit_conversion",
            {"amount": 1, "from_unit": "(9**9)**9", "to_unit": "m"},
            {},
            "large powers is not read",
        ),
        ("shift_timestamp", {"timestamp": NOW_S, "weeks": 10**12}, {}, "OverflowError"),
    ],
)
def test_refusals(name: str, arguments: Json, setting: dict[str, Json], message: str) -> None:
    """What a tool refuses, in upstream's order of checks and with upstream's text."""
    assert message in reply_to(name, arguments, **setting)


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("get_current_timestamp", {}, NOW_S),
        ("get_current_location", {}, {"latitude": 37.0, "longitude": -122.0}),
        ("timestamp_diff", {"timestamp_0": NOW_S, "timestamp_1": NOW_S - 1}, {"days": -1, "seconds": 86399}),
        ("seconds_to_hours_minutes_seconds", {"seconds": 90061}, {"hour": 1, "minute": 1, "second": 1}),
        ("shift_timestamp", {"timestamp": NOW_S, "weeks": 1, "seconds": -1}, NOW_S + 604799),
        ("search_holiday", {"holiday_name": "Christmas Day"}, 1735084800.0),
        ("search_holiday", {"holiday_name": "thanksgiving", "year": 2025}, 1764201600.0),
        ("search_holiday", {"holiday_name": "Galactic Pie Feast"}, None),
        ("unit_conversion", {"amount": 1, "from_unit": "Miles", "to_unit": "Kilometers"}, 1.609344),
        ("search_contacts", {"name": "bob friend"}, ["Bob Friend"]),
        ("search_contacts", {"relationship": None}, []),
        ("search_contacts", {"name": "Zebra"}, []),
        ("search_reminder", {"content": "plants"}, ["Water plants"]),
        ("search_reminder", {"reminder_timestamp_upperbound": NOW_S}, []),
        ("search_messages", {"content": "anything"}, []),
    ],
)
def test_results(name: str, arguments: Json, value: Json) -> None:
    """What a tool tells; rows by their name or text."""
    result = result_of(name, arguments)
    if isinstance(result, list):
        result = [row.get("name", row.get("content")) for row in result]
    assert value == result


def test_datetime_parts() -> None:
    """A time is told in UTC whatever the machine's zone."""
    parts = result_of("timestamp_to_datetime_info", {"timestamp": NOW_S})
    assert {
        "year": 2024,
        "month": 6,
        "day": 14,
        "hour": 12,
        "minute": 0,
        "second": 0,
        "isoweekday": 5,
    } == parts


def test_distance_is_geodesic() -> None:
    """A quarter of the equator is longer than a quarter of a meridian: the Earth is no ball."""
    names = ("latitude_0", "longitude_0", "latitude_1", "longitude_1")
    equator = result_of("calculate_lat_lon_distance", dict(zip(names, (0, 0, 0, 90), strict=True)))
    meridian = result_of("calculate_lat_lon_distance", dict(zip(names, (0, 0, 90, 0), strict=True)))
    assert [10018.754171394621, 10001.965729] == pytest.approx([equator, meridian])


def test_low_battery_turns_services_off() -> None:
    """Turning low battery mode on turns the three services off."""
    world = SandboxWorld(make_scenario(setting={"wifi": False}))
    run_calls(("set_low_battery_mode_status", {"on": True}), world=world)
    row = world.tables.read("SETTING")[0]
    assert [True, False, False, False] == [row[name] for name in LOW_BATTERY]


def test_changed_row_moves_to_the_end() -> None:
    """A changed contact is removed and added again, as upstream's is."""
    world = SandboxWorld(make_scenario())
    run_calls(("modify_contact", {"person_id": "me", "name": "New"}), world=world)
    assert ["Bob Friend", "New"] == [row["name"] for row in world.tables.read("CONTACT")]


def test_changed_reminder_is_created_now() -> None:
    """Changing a reminder sets its time of creation; null clears a place."""
    world = SandboxWorld(make_scenario())
    run_calls(("modify_reminder", {"reminder_id": "r1", "latitude": None}), world=world)
    assert NOW_S == world.tables.read("REMINDER")[0]["creation_timestamp"]


def test_sent_message_knows_its_people() -> None:
    """A sent message has the user's own contact as sender, and a known number's contact as recipient."""
    world = SandboxWorld(make_scenario())
    run_calls(("send_message_with_phone_number", {"phone_number": NUMBER, "content": "hi"}), world=world)
    row = world.tables.read("MESSAGING")[0]
    assert ("me", NUMBER, NOW_S) == (
        row["sender_person_id"],
        row["recipient_phone_number"],
        row["creation_timestamp"],
    )


WEATHER = {
    "location": {"name": "Oslo"},
    "current": {"temp_c": 3.5, "temp_f": 38.0, "humidity": 80},
    "forecast": {
        "forecastday": [{"day": {"maxtemp_c": 5, "avghumidity": 70}, "astro": {"sunrise": "08:00"}}]
    },
}


@pytest.mark.parametrize(
    ("name", "arguments", "answer", "value"),
    [
        ("search_lat_lon", {"latitude": 1, "longitude": 2}, {"results": [{"address": "Here 1"}]}, "Here 1"),
        ("search_lat_lon", {"latitude": 1, "longitude": 2}, {"results": []}, None),
        (
            "search_location_around_lat_lon",
            {"location": "cafe"},
            {"data": [{"name": "A", "photos": [], "verified": 1}]},
            [{"name": "A"}],
        ),
        ("search_location_around_lat_lon", {"location": "cafe"}, {"message": "no"}, []),
        (
            "search_stock",
            {"query": "x"},
            {"data": {"stock": [{"symbol": "AC:NYSE", "price": 2}]}},
            {"symbol": "AC", "price": 2},
        ),
        ("search_stock", {"query": "x"}, {"data": {}}, None),
        (
            "convert_currency",
            {"amount": 2, "from_currency_code": "usd", "to_currency_code": "eur"},
            {"result": {"convertedAmount": "1.5"}},
            1.5,
        ),
        (
            "search_weather_around_lat_lon",
            {},
            WEATHER,
            {
                "sunrise": "08:00",
                "name": "Oslo",
                "temperature_unit": "Celsius",
                "distance_unit": "Kilometer",
                "humidity": 80,
                "current_temperature": 3.5,
                "max_temperature": 5,
                "average_humidity": 70,
            },
        ),
        ("search_weather_around_lat_lon", {"days": 3}, WEATHER, None),
    ],
)
def test_answers_are_shaped(name: str, arguments: Json, answer: Json, value: Json) -> None:
    """Upstream's JSON becomes what the agent sees, missing parts included."""
    world = SandboxWorld(make_scenario())
    wanted = run_calls((name, arguments), world=world).wanted
    assert wanted is not None
    answers = {answer_name(wanted.api, wanted.arguments): json.dumps(answer)}
    reply = world.exchange(Said(rows=rows_of((name, arguments)), answers=answers)).replies[0]
    assert repr(value) == reply["content"]


def test_questions_are_normalised() -> None:
    """Where the device is and where it is told to look is one question; codes are in capitals."""
    here = run_calls(("search_weather_around_lat_lon", {})).wanted
    told = run_calls(("search_weather_around_lat_lon", {"latitude": 37, "longitude": -122, "days": 0})).wanted
    assert here is not None
    assert told is not None
    assert (here.api, here.arguments) == (told.api, told.arguments)


def test_scrambling_takes_away_what_it_names() -> None:
    """Each augmentation removes one kind of help, with upstream's two leftovers."""
    setter, getter = make_spec(TOOLS["set_wifi_status"]), make_spec(TOOLS["get_wifi_status"])
    assert "setting_8" == augment(setter, ["TOOL_NAME_SCRAMBLED"]).name
    assert "" == augment(setter, ["TOOL_DESCRIPTION_SCRAMBLED"]).description
    assert getter.description == augment(getter, ["TOOL_DESCRIPTION_SCRAMBLED"]).description
    assert ["description"] == list(augment(setter, ["ARG_TYPE_SCRAMBLED"]).parameters["properties"]["on"])
    assert ["type"] == list(augment(setter, ["ARG_DESCRIPTION_SCRAMBLED"]).parameters["properties"]["on"])
    kept = make_spec(TOOLS["modify_reminder"])
    assert kept == augment(kept, ["ARG_DESCRIPTION_SCRAMBLED"])


def test_unknown_needed_tool_is_refused() -> None:
    """Distractors of a tool that does not exist are not guessed."""
    with pytest.raises(InputError, match="unknown tool 'fly'"):
        rank_distractors(["fly"], list(TOOLS))
