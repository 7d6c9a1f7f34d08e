"""Laws of the sandbox: state follows from the calls, refusals change nothing, no text raises."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.benchmarks.acebench.playing.execution import Executor
from replay.benchmarks.acebench.playing.messages import is_for_execution, read_calls
from replay.benchmarks.acebench.world.sandbox import CLASSES, Sandbox, tool_names
from replay.core.canonical import digest
from replay.core.types import CallRequest, Json
from tests.property.strategies import json_values, texts
from tests.support.ace_agents import drive

PEOPLE = st.sampled_from(["Eve", "Frank", "Jack", "Zoe"])
NUMBERS = st.integers(-1, 8)
SHOPS = st.sampled_from(["Domino's", "Heytea", "喜茶", "KFC"])
ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "product": st.sampled_from(["Margherita Pizza", "Cheese Milk Tea", "芝士奶茶", "Coffee"]),
            "quantity": NUMBERS,
        }
    ),
    max_size=3,
)
USERS = st.sampled_from(["user1", "user2", "user3", "user4"])
PASSWORDS = st.sampled_from(["password123", "password456", "password654", "wrong"])
RESERVATIONS = st.sampled_from([f"res_{number}" for number in range(1, 7)])
FLIGHTS = st.sampled_from(["CA1234", "MU5678", "CZ4352", "MU2616"])
CABINS = st.sampled_from(["Economy Class", "Business Class", "经济舱", "First"])
METHODS = st.sampled_from(["cash", "bank", "card"])

_ARGUMENTS: dict[str, dict[str, st.SearchStrategy[Json]]] = {
    "turn_on_wifi": {},
    "login_device": {},
    "send_message": {"sender_name": PEOPLE, "receiver_name": PEOPLE, "message": texts},
    "delete_message": {"message_id": NUMBERS},
    "search_messages": {"user_name": PEOPLE, "keyword": texts},
    "get_latest_message_id": {},
    "add_reminder": {"title": texts, "description": texts, "time": texts},
    "delete_reminder": {"reminder_id": NUMBERS},
    "login_food_platform": {"username": PEOPLE, "password": PASSWORDS},
    "add_food_delivery_order": {"username": PEOPLE, "merchant_name": SHOPS, "items": ITEMS},
    "get_flight_details": {},
    "reserve_flight": {
        "user_id": USERS,
        "password": PASSWORDS,
        "flight_no": FLIGHTS,
        "cabin": CABINS,
        "payment_method": METHODS,
        "baggage_count": NUMBERS,
    },
    "modify_flight": {
        "user_id": USERS,
        "reservation_id": RESERVATIONS,
        "new_flight_no": FLIGHTS,
        "new_cabin": CABINS,
        "add_baggage": NUMBERS,
    },
    "cancel_reservation": {"user_id": USERS, "reservation_id": RESERVATIONS, "reason": texts},
}


@st.composite
def calls(draw: st.DrawFn) -> CallRequest:
    """A call that a candidate might make."""
    tool = draw(st.sampled_from(sorted(_ARGUMENTS)))
    return CallRequest(
        benchmark="acebench", tool=tool, arguments=draw(st.fixed_dictionaries(_ARGUMENTS[tool]))
    )


@st.composite
def wild_calls(draw: st.DrawFn) -> CallRequest:
    """A call of any tool with any values under names that may not exist."""
    tool = draw(st.sampled_from(sorted(tool_names("zh", CLASSES, clean=False))))
    known = list(_ARGUMENTS.get(tool, {})) or ["user", "user_id", "keyword", "title"]
    arguments = draw(st.dictionaries(st.sampled_from(known), json_values, max_size=4))
    return CallRequest(benchmark="acebench", tool=tool, arguments=arguments)


languages = st.sampled_from(["en", "zh"])
starts = st.fixed_dictionaries(
    {"BaseApi": st.fixed_dictionaries({"wifi": st.booleans(), "logged_in": st.booleans()})}
)


@given(languages, starts, st.lists(calls(), max_size=12))
def test_state_follows_from_the_start_and_the_calls(
    language: str, start: Json, made: list[CallRequest]
) -> None:
    """Two sandboxes that get the same calls say the same and are the same."""
    first, second = (Sandbox(language, CLASSES, start) for _ in range(2))
    assert [first.handle(call) for call in made] == [second.handle(call) for call in made]
    assert digest("world-state", first.state()) == digest("world-state", second.state())


@given(languages, starts, st.lists(calls(), max_size=8), calls())
def test_a_refusal_changes_nothing(
    language: str, start: Json, before: list[CallRequest], last: CallRequest
) -> None:
    """A phone or food tool that says no, or fails, leaves the state as it was."""
    box = Sandbox(language, ("BaseApi", "MessageApi", "ReminderApi", "FoodPlatform"), start)
    for call in before:
        box.handle(call)
    state = box.state()
    result = box.handle(last)
    if result.is_error or (isinstance(result.body, dict) and result.body.get("status") is False):
        assert state == box.state()


@given(languages, st.lists(calls(), max_size=12))
def test_money_is_never_below_nothing(language: str, made: list[CallRequest]) -> None:
    """On the food platform and at the travel desk, whatever is ordered."""
    box = Sandbox(language, CLASSES, {"BaseApi": {"wifi": True, "logged_in": True}})
    for call in made:
        box.handle(call)
    state = {name: found for entry in box.state()["saved"] for name, found in entry.items()}
    assert all(user["balance"] >= 0 for user in state["FoodPlatform"]["users"].values())
    accounts = state["Travel"]["users"].values()
    assert all(min(user["cash_balance"], user["bank_balance"]) >= 0 for user in accounts)


@given(languages, st.booleans(), st.lists(wild_calls(), max_size=3))
def test_no_value_makes_a_tool_raise(language: str, clean: bool, made: list[CallRequest]) -> None:
    """Whatever is passed under whatever name: a result."""
    box = Sandbox(language, CLASSES, {}, clean=clean)
    for call in made:
        assert isinstance(box.handle(call).content, str)
    assert box.state()["saved"]


PIECES = st.sampled_from(
    [
        "[",
        "]",
        "(",
        ")",
        "'",
        '"',
        ",",
        "=",
        "f(",
        "a=",
        "'x'",
        "1",
        "{",
        "}",
        ":",
        "\n",
        " ",
        "你",
        "x.y",
        "-",
        "**",
    ]
)


@given(st.one_of(texts, st.lists(PIECES, max_size=12).map("".join)))
def test_any_message_is_words_or_calls(message: str) -> None:
    """What is for execution can be read, and carrying it out gives an observation."""
    if not is_for_execution(message):
        return
    executor = Executor("t", 0, tool_names("en", CLASSES, clean=False))
    done = drive(executor.run_turn(read_calls(message)), Sandbox("en", CLASSES, {}))
    assert isinstance(done.observation, list)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), json_values))
def test_values_come_back_as_they_were_written(arguments: dict[str, Json]) -> None:
    """Except mappings directly under a call, which upstream takes for calls."""
    plain = {name: value for name, value in arguments.items() if not isinstance(value, dict)}
    message = f"[f({', '.join(f'{name}={value!r}' for name, value in plain.items())})]"
    try:
        (call,) = read_calls(message)
    except LiteralError:
        # Brackets deeper than CPython's parser takes, numbers beyond the bounds of arithmetic.
        return
    assert repr(plain) == repr(call.arguments)
