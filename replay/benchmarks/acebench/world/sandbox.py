"""One episode's sandbox: which tools there are, how a call is carried out, what state it leaves.

Owns the tool boundary of the agent categories. Pure: start state (language, classes, configuration) and the
calls so far give the state. A call never raises: what upstream's candidate sees as Python's error is a result
with `is_error`. Nothing is evaluated; tools are found by name and called with keyword arguments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from replay.benchmarks.acebench.literals.official import resolve_official
from replay.benchmarks.acebench.literals.syntax import LiteralError, parse_expression
from replay.benchmarks.acebench.world.food import FoodPlatform
from replay.benchmarks.acebench.world.phone import BaseApi, MessageApi, ReminderApi
from replay.benchmarks.acebench.world.travel import Travel
from replay.benchmarks.acebench.world.words_en import ENGLISH
from replay.benchmarks.acebench.world.words_zh import CHINESE
from replay.core.errors import InputError
from replay.core.types import CallRequest, Json, Provenance, ToolResult

__all__ = ["CLASSES", "FAILED", "LITERAL", "UNKNOWN_TOOL", "Sandbox", "tool_names"]

FAILED: Final = 1
"""Code of a call that Python refused or that failed on the way."""
UNKNOWN_TOOL: Final = 2
"""Code of a call whose name no involved class has."""

LITERAL: Final = ""
"""Name of the only argument of a call whose values JSON has not: its arguments as one Python literal."""

CLASSES: Final = ("BaseApi", "MessageApi", "ReminderApi", "FoodPlatform", "Travel")

_DEVICE_TOOLS: Final = ("turn_on_wifi", "login_device")
_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "BaseApi": _DEVICE_TOOLS,
    "MessageApi": (
        *_DEVICE_TOOLS,
        "send_message",
        "delete_message",
        "view_messages_between_users",
        "search_messages",
        "get_all_message_times_with_ids",
        "get_latest_message_id",
        "get_earliest_message_id",
    ),
    "ReminderApi": (
        *_DEVICE_TOOLS,
        "view_reminder_by_title",
        "add_reminder",
        "delete_reminder",
        "view_all_reminders",
    ),
    "FoodPlatform": (
        *_DEVICE_TOOLS,
        "login_food_platform",
        "view_logged_in_users",
        "check_balance",
        "add_food_delivery_order",
        "get_products",
        "view_orders",
        "search_orders",
    ),
    "Travel": (
        "get_flight_details",
        "get_user_details",
        "get_reservation_details",
        "find_transfer_flights",
        "reserve_flight",
        "modify_flight",
        "cancel_reservation",
    ),
}
_CHINESE_TOOLS: Final = {"ReminderApi": ("mark_as_notified", "search_reminders")}
_OPEN_HELPERS: Final = {
    "Travel": (
        "authenticate_user",
        "get_baggage_allowance",
        "calculate_baggage_fee",
        "update_balance",
        "process_refund",
        "calculate_price_difference",
    )
}
"""Public methods that are no tools: upstream runs them, a clean sandbox does not."""

_PYTHON_ERRORS: Final = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
)
"""What a wrong kind of value can raise inside a tool."""


def tool_names(language: str, classes: tuple[str, ...], *, clean: bool) -> frozenset[str]:
    """Names that a call may have."""
    found: set[str] = set()
    for name in classes:
        found.update(_TOOLS[name])
        if language == "zh":
            found.update(_CHINESE_TOOLS.get(name, ()))
        if not clean:
            found.update(_OPEN_HELPERS.get(name, ()))
    return frozenset(found)


class Sandbox:
    """The world of one episode."""

    def __init__(self, language: str, classes: tuple[str, ...], config: Json, *, clean: bool = False) -> None:
        """Start as the task says.

        Errors:  InputError for a class that the sandbox does not have.
        Source:  spec 3.11 and 4. The device takes its settings from the configuration's BaseApi entry alone:
                 a class's own entry is read first and then overwritten, defaults included.
        """
        unknown = [name for name in classes if name not in CLASSES]
        if unknown:
            raise InputError(
                f"unknown class {unknown[0]!r} in involved_classes", expected=f"some of {', '.join(CLASSES)}"
            )
        words = ENGLISH if language == "en" else CHINESE
        device_config = config.get("BaseApi") if isinstance(config, dict) else None
        settings = device_config if isinstance(device_config, dict) else {}
        device = BaseApi(words, wifi=settings.get("wifi", False), logged_in=settings.get("logged_in", True))
        self._device = device
        self._classes: dict[str, BaseApi | MessageApi | ReminderApi | FoodPlatform | Travel] = {}
        for name in classes:
            if name == "BaseApi":
                self._classes[name] = device
            elif name == "Travel":
                self._classes[name] = Travel(words, language, clean=clean)
            elif name == "MessageApi":
                self._classes[name] = MessageApi(device, words, language, clean=clean)
            elif name == "ReminderApi":
                self._classes[name] = ReminderApi(device, words, language, clean=clean)
            else:
                self._classes[name] = FoodPlatform(device, words, language, clean=clean)
        self._tools = self._find_tools(tool_names(language, classes, clean=clean))
        self._clean = clean

    def handle(self, request: CallRequest) -> ToolResult:
        """Carry out one call.

        Shape:   `content` is the result as upstream makes it a text, `body` the item of the candidate's
                 observation, `code` FAILED or UNKNOWN_TOOL for what went wrong, with Python's words as text.
        """
        tool = self._tools.get(request.tool)
        if tool is None:
            return _fail(f"name '{request.tool}' is not defined", UNKNOWN_TOOL)
        try:
            return _succeed(tool(**_arguments_of(request.arguments)))
        except _PYTHON_ERRORS as error:
            return _fail(str(error), FAILED)

    def saved(self) -> list[Json]:
        """Attributes that are compared at the end, one object a class in the order of the task."""
        return [{name: found.saved()} for name, found in self._classes.items()]

    def state(self) -> Json:
        """Whole state: `saved` and everything else that later calls depend on.

        A state that JSON cannot hold (the candidate stored bytes, say) is returned as it is, so that whoever
        hashes it says so: upstream's own program stops there, too.
        """
        rest: dict[str, Json] = {"device": self._device.saved()}
        for name, found in self._classes.items():
            if isinstance(found, (MessageApi, ReminderApi)):
                rest[name] = {"counter": found.counter}
            elif isinstance(found, Travel):
                rest[name] = {"flights": found.flights}
        state = {"saved": self.saved(), "rest": rest}
        try:
            return json.loads(json.dumps(state))
        except (TypeError, ValueError):
            return state

    def _find_tools(self, names: frozenset[str]) -> dict[str, Callable[..., Json]]:
        found: dict[str, Callable[..., Json]] = {}
        owners = (self._device, *self._classes.values())
        for name in names:
            owner = next(owner for owner in owners if hasattr(owner, name))
            found[name] = getattr(owner, name)
        return found


def _arguments_of(arguments: Json) -> dict[str, Json]:
    if list(arguments) != [LITERAL]:
        return dict(arguments)
    try:
        return dict(resolve_official(parse_expression(arguments[LITERAL])))
    except LiteralError as error:
        raise ValueError(str(error)) from None


def _succeed(value: Json) -> ToolResult:
    """Make a value a text and read the text again, as upstream does between a tool and the candidate."""
    text = value if isinstance(value, str) else _text_of(value)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    return ToolResult(content=text, body=body, provenance=Provenance.WORLD, lookup="world")


def _text_of(value: Json) -> str:
    if not isinstance(value, dict):
        return str(value)
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return str(value)


def _fail(text: str, code: int) -> ToolResult:
    return ToolResult(
        content=text, body=None, provenance=Provenance.WORLD, lookup="world", is_error=True, code=code
    )
