"""A sandbox carries calls out by name, keeps state to itself and never raises."""

# ruff: noqa: S106 - passwords of invented people

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.world.sandbox import FAILED, LITERAL, UNKNOWN_TOOL, Sandbox, tool_names
from replay.benchmarks.acebench.world.words_en import ENGLISH
from replay.benchmarks.acebench.world.words_zh import CHINESE
from replay.core.canonical import digest
from replay.core.errors import CanonicalError, InputError
from replay.core.types import CallRequest, Provenance
from tests.unit.benchmarks.acebench.world.sandboxes import EVERYTHING, ask, make_box, text


def call(tool: str, **arguments: object) -> CallRequest:
    """One call of a tool."""
    return CallRequest(benchmark="acebench", tool=tool, arguments=arguments)


def test_a_result_comes_from_the_world() -> None:
    """Provenance and lookup say so."""
    result = make_box().handle(call("turn_on_wifi"))
    assert (Provenance.WORLD, "world", False) == (result.provenance, result.lookup, result.is_error)


def test_an_unknown_tool_is_a_result() -> None:
    """It has a code of its own and is no miss."""
    result = make_box().handle(call("no_such_tool", a=1))
    assert (True, UNKNOWN_TOOL, "name 'no_such_tool' is not defined") == (
        result.is_error,
        result.code,
        result.content,
    )


def test_a_tool_of_a_class_that_is_not_involved_is_unknown() -> None:
    """Even when it is declared to the candidate."""
    result = make_box(classes=("BaseApi", "MessageApi")).handle(call("view_all_reminders"))
    assert result.code == UNKNOWN_TOOL


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        (
            "login_food_platform",
            {"username": "Isaac"},
            "FoodPlatform.login_food_platform() missing 1 required positional argument: 'password'",
        ),
        (
            "send_message",
            {},
            (
                "MessageApi.send_message() missing 3 required positional arguments: 'sender_name', "
                "'receiver_name', and 'message'"
            ),
        ),
        ("turn_on_wifi", {"a": 1}, "BaseApi.turn_on_wifi() got an unexpected keyword argument 'a'"),
        ("get_products", {"merchant_name": ["x"]}, "unhashable type: 'list'"),
        ("search_messages", {"user_name": "Eve", "keyword": 1}, "'int' object has no attribute 'lower'"),
    ],
)
def test_what_python_refuses_is_told_in_its_words(
    tool: str, arguments: dict[str, object], words: str
) -> None:
    """As the official multi-step agent reads it."""
    result = make_box().handle(call(tool, **arguments))
    assert (FAILED, words) == (result.code, result.content)


def test_a_dict_becomes_json_a_list_becomes_text() -> None:
    """A list of products arrives as one Python text, a balance as a number."""
    box = make_box()
    assert [
        {"product": "Beef Rolls", "price": 68.0},
        {"product": "Seafood Platter", "price": 88.0},
    ].__repr__() == (ask(box, "get_products", merchant_name="Haidilao"))
    assert ask(box, "check_balance", user_name="Eve") == 500.0
    assert ask(box, "check_balance", user_name="Nobody") == 0.0
    assert ask(box, "get_reservation_details", reservation_id="res_9") == []


def test_names_of_numbers_become_texts() -> None:
    """JSON has no other names."""
    times = ask(make_box(), "get_all_message_times_with_ids")
    assert times["3"] == "2023-12-05"


def test_wifi_and_login_are_one_for_all_classes() -> None:
    """A base tool changes what every class of the phone sees."""
    box = make_box(on=False)
    ask(box, "turn_on_wifi")
    assert text(box, "login_food_platform", username="Eve", password="password123").endswith("logged in!")
    assert box.state()["saved"][0] == {"BaseApi": {"wifi": True, "logged_in": False}}


@pytest.mark.parametrize("config", [{}, {"Baspi": {"wifi": True, "logged_in": False}}, None, {"BaseApi": 3}])
def test_without_a_readable_configuration_defaults_hold(config: object) -> None:
    """Wi-Fi off and logged in: so the mistyped entry of a Chinese task is passed over."""
    box = Sandbox("zh", ("BaseApi",), config)
    assert [{"BaseApi": {"wifi": False, "logged_in": True}}] == box.saved()


def test_a_class_of_its_own_configuration_takes_the_device_settings() -> None:
    """The class's entry is overwritten by that of the device, defaults included."""
    box = Sandbox("en", ("BaseApi", "MessageApi"), {"MessageApi": {"wifi": True}})
    assert "Wi-Fi is turned off" in text(
        box, "send_message", sender_name="Eve", receiver_name="Frank", message="x"
    )


def test_saved_attributes_follow_the_order_of_the_task() -> None:
    """One object a class."""
    box = make_box(classes=("FoodPlatform", "BaseApi"))
    assert ["FoodPlatform", "BaseApi"] == [next(iter(entry)) for entry in box.saved()]


def test_a_read_state_does_not_change_later() -> None:
    """What an evaluator holds is a copy."""
    box = make_box()
    before = box.state()
    ask(box, "delete_message", message_id=3)
    assert "3" in before["saved"][1]["MessageApi"]["inbox"]
    assert "3" not in box.state()["saved"][1]["MessageApi"]["inbox"]


def test_two_sandboxes_share_nothing() -> None:
    """The second starts where the first started."""
    first = make_box()
    ask(first, "delete_message", message_id=3)
    ask(first, "cancel_reservation", user_id="user1", reservation_id="res_1", reason="x")
    ask(first, "login_food_platform", username="Eve", password="password123")
    assert make_box().state() == make_box().state() != first.state()


def test_hidden_state_is_part_of_the_state() -> None:
    """A seat that was taken, a number that was used: what later calls depend on."""
    box = make_box()
    before = digest("world-state", box.state())
    ask(box, "add_reminder", title="a", description="b", time="c")
    ask(box, "delete_reminder", reminder_id=4)
    assert digest("world-state", box.state()) != before


def test_values_that_json_has_not_arrive_as_a_literal() -> None:
    """The literal is read, never run; the state then cannot be hashed and says so."""
    box = make_box()
    literal = {LITERAL: "{'title': b'x', 'description': 'd', 'time': 't'}"}
    result = box.handle(CallRequest(benchmark="acebench", tool="add_reminder", arguments=literal))
    assert not result.is_error
    with pytest.raises(CanonicalError):
        digest("world-state", box.state())


def test_an_unknown_class_is_refused() -> None:
    """The allowed ones are listed."""
    with pytest.raises(InputError, match=r"unknown class 'Finance'.*BaseApi, MessageApi"):
        Sandbox("en", ("Finance",), {})


def test_clean_sandboxes_close_the_helpers() -> None:
    """Balances cannot be set by hand."""
    open_names = tool_names("en", EVERYTHING, clean=False) - tool_names("en", EVERYTHING, clean=True)
    assert {"update_balance", "process_refund", "authenticate_user"} < open_names


def test_chinese_reminders_have_two_more_tools() -> None:
    """The English sandbox declares one of them to the candidate and does not have it."""
    more = tool_names("zh", EVERYTHING, clean=False) - tool_names("en", EVERYTHING, clean=False)
    assert {"mark_as_notified", "search_reminders"} == more


def test_both_languages_say_the_same_things() -> None:
    """The Chinese sandbox says two more: those of its own tools."""
    assert {"reminder-notified", "no-reminder-found"} == set(CHINESE) - set(ENGLISH)
    assert set(ENGLISH) <= set(CHINESE)
