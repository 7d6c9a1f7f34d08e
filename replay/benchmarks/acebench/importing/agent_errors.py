"""What is wrong with agent records: class names, milestones, and milestones against the truth's end state.

Owns the rules that need no sandbox: each compares a milestone's call with the state that the truth says it
leads to. Milestones are read with their quotes repaired; that they had to be is a flag of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replay.benchmarks.acebench.literals.milestones import is_valid_message, read_milestone
from replay.benchmarks.acebench.literals.plain import Call
from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.benchmarks.acebench.records import AceTask
from replay.benchmarks.acebench.scoring.strict_agent import correct_class
from replay.core.types import Json

__all__ = ["find_agent_errors"]

_COUNTS: Final = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "一": 1, "两": 2, "三": 3, "四": 4}
_BAGS: Final = re.compile(
    r"(?<!add )\b(one|two|three|four|five|[0-9]+) (?:pieces? of )?(?:bags?|luggage)\b"
    r"|(?<!增加)([一两三四]|[0-9]+)件行李"
)
"""How many bags a task speaks of; bags that are to be added to others say nothing of their number."""


def find_agent_errors(record: AceTask) -> Iterator[str]:
    """Flags of one agent record."""
    truth = record.ground_truth if isinstance(record.ground_truth, list) else [record.ground_truth]
    for entry in truth:
        for name in entry if isinstance(entry, dict) else ():
            if name not in record.involved_classes:
                yield f"class-name:{name}"
    for name in record.initial_config or ():
        if name not in record.involved_classes:
            yield f"config-class:{name}"
    state = _state(truth, record.involved_classes)
    yield from _baggage_errors(record, state)
    if not any(record.alternatives):
        yield "milestones-missing:"
    for number, stones in enumerate(record.alternatives):
        yield from _milestone_errors(stones, number if len(record.alternatives) > 1 else None)
        yield from _unlike_truth(_calls(stones), state, record)


def _state(truth: Sequence[Json], involved: Sequence[str]) -> dict[str, Json]:
    """All attributes of the truth's end state, class names corrected."""
    return {
        f"{correct_class(name, involved)}.{attribute}": value
        for entry in truth
        if isinstance(entry, dict)
        for name, attributes in entry.items()
        if isinstance(attributes, dict)
        for attribute, value in attributes.items()
    }


def _milestone_errors(stones: Sequence[str], alternative: int | None) -> Iterator[str]:
    for number, stone in enumerate(stones):
        if not is_valid_message(stone):
            place = number if alternative is None else f"{alternative}.{number}"
            yield f"milestone-invalid:{place}"


def _calls(stones: Sequence[str]) -> list[Call]:
    found: list[Call] = []
    for stone in stones:
        try:
            found += read_milestone(stone)
        except LiteralError:
            continue
    return found


def _unlike_truth(calls: Sequence[Call], state: Mapping[str, Json], record: AceTask) -> Iterator[str]:
    """Milestones that the truth's end state contradicts."""
    names = {name for name, _ in calls}
    config = (record.initial_config or {}).get("BaseApi", {})
    logged_in = config.get("logged_in", True) if isinstance(config, dict) else True
    if names and not logged_in and state.get("BaseApi.logged_in") and "login_device" not in names:
        yield "milestones-unlike-truth:no device login"
    for name, arguments in calls:
        inbox = state.get("MessageApi.inbox")
        if name == "delete_message" and isinstance(inbox, dict):
            message = str(arguments.get("message_id"))
            if message in inbox:
                yield f"milestones-unlike-truth:message {message} is deleted"
    yield from _food_errors(calls, state)


def _food_errors(calls: Sequence[Call], state: Mapping[str, Json]) -> Iterator[str]:
    logins = {arguments.get("username") for name, arguments in calls if name == "login_food_platform"}
    wanted = {
        item.get("product")
        for order in state.get("FoodPlatform.orders") or ()
        for item in order.get("items", ())
    }
    for name, arguments in calls:
        if name != "add_food_delivery_order":
            continue
        if arguments.get("username") not in logins:
            yield "milestones-unlike-truth:no food login"
        for item in arguments.get("items") or ():
            if isinstance(item, dict) and item.get("product") not in wanted:
                yield f"milestones-unlike-truth:product {item.get('product')}"


def _baggage_errors(record: AceTask, state: Mapping[str, Json]) -> Iterator[str]:
    """Number of bags in the task that no reservation of the truth's end state has."""
    reservations = state.get("Travel.reservations")
    if not isinstance(reservations, list):
        return
    held = {entry.get("baggage") for entry in reservations if isinstance(entry, dict)}
    for first, second in _BAGS.findall(record.question.lower()):
        word = first or second
        count = int(word) if word.isdecimal() else _COUNTS[word]
        if count not in held:
            yield f"truth-against-task:{count} bags"
