"""A miss is explained field by field, with work that is bounded."""

from __future__ import annotations

import pytest

from replay.core.errors import MissError
from replay.core.types import Json, SnapshotKind
from replay.store.nearest import find_nearest
from replay.tools.misses import MissReporter, Use
from tests.support.answering import MemoryStore, make_answer, make_call


def make_error(store: MemoryStore, arguments: Json = None, **facts: Json) -> MissError:
    """Report a call of `weather/now` as missed in this store."""
    reporter = MissReporter(
        store,
        archive="demo",
        tools=("weather/now_v2", "maps/route"),
        command="replay run demo --select {task} --mode record",
    )
    return reporter.make_error(make_call(arguments), task="G1-104", step=3, **facts)


def test_the_message_names_what_agrees_and_differs() -> None:
    """One line: what, where, the nearest recorded call field by field, what to do."""
    store = MemoryStore(make_answer(make_call({"city": "Oslo", "units": "imperial"})))
    expected = (
        "no snapshot for call weather/now(city='Oslo', units='metric') in archive 'demo' "
        "(task G1-104, step 3); expected one of the recorded calls, nearest of 1: city equal, "
        "units 'metric' vs recorded 'imperial'; "
        "next: to record it: replay run demo --select G1-104 --mode record"
    )
    assert expected == str(make_error(store, {"city": "Oslo", "units": "metric"}))


def test_missing_and_extra_fields_are_named() -> None:
    """A field that only one side has is shown as such."""
    store = MemoryStore(make_answer(make_call({"city": "Oslo", "days": 3})))
    error = make_error(store, {"city": "Oslo", "hours": 3})
    assert "days not given vs recorded 3, hours 3 vs not recorded" in str(error)


def test_types_are_told_apart() -> None:
    """The text 5 and the number 5 are shown as what they are."""
    store = MemoryStore(make_answer(make_call({"n": 5})))
    assert "n '5' vs recorded 5" in str(make_error(store, {"n": "5"}))


def test_the_nearest_call_is_found_by_leaves() -> None:
    """One long drifted text is nearer than three wrong fields."""
    long = "a" * 16 + "tail of the question " * 10
    drifted = make_answer(make_call({"q": long, "a": 1, "b": 2, "c": 3}))
    wrong = make_answer(make_call({"q": long[16:], "a": "x", "b": "x", "c": "x"}))
    want = make_error(MemoryStore(wrong, drifted), {"q": long[16:], "a": 1, "b": 2, "c": 3}).want
    assert isinstance(want, dict)
    assert drifted.key == want["nearest"]["near"][0]["key"]


def test_without_recorded_calls_similar_tools_are_named() -> None:
    """An unknown tool gets the names it may have meant."""
    assert "there is none; tools with similar names: weather/now_v2" in str(make_error(MemoryStore()))


def test_used_sequences_are_listed() -> None:
    """An exhausted sequence names every step that used it."""
    error = make_error(MemoryStore(), used=Use(recorded=3, steps=(1, 4, 6)))
    assert "recorded 3 times, all used at steps 1, 4 and 6" in str(error)


def test_the_want_is_complete() -> None:
    """The machine-readable form holds the whole request and its key."""
    want = make_error(MemoryStore(), {"city": "Oslo"}, lookups=("canonical",)).want
    assert isinstance(want, dict)
    shown = {name: want[name] for name in ("kind", "task", "step", "tool", "arguments", "lookups", "command")}
    assert shown == {
        "kind": "api",
        "task": "G1-104",
        "step": 3,
        "tool": "weather/now",
        "arguments": {"city": "Oslo"},
        "lookups": ("canonical",),
        "command": "replay run demo --select G1-104 --mode record",
    }


def test_long_values_are_cut() -> None:
    """A message stays a line however long the arguments are."""
    error = make_error(MemoryStore(), {f"field{index}": "x" * 10_000 for index in range(50)})
    assert len(str(error)) < 2_000


def test_work_is_bounded() -> None:
    """At most so many recorded calls are compared, and the report says that there are more."""
    store = MemoryStore(*(make_answer(make_call({"n": number})) for number in range(30)))
    asked = {"arguments": {"n": -1}}
    nearest = find_nearest(store, SnapshotKind.API, "weather/now", asked=asked, consider=10)
    assert (10, True) == (nearest.considered, nearest.more)


def test_order_of_recording_does_not_matter() -> None:
    """Two stores with the same calls give one report."""
    answers = [make_answer(make_call({"n": number, "m": 1})) for number in range(20)]
    forward = make_error(MemoryStore(*answers), {"n": 5, "m": 2})
    backward = make_error(MemoryStore(*reversed(answers)), {"n": 5, "m": 2})
    assert forward.want == backward.want


def test_hostile_nesting_is_walked_without_recursion() -> None:
    """A recorded request nested a thousand deep is compared, not crashed on."""
    deep: Json = 1
    for _ in range(5_000):
        deep = [deep]
    nearest = find_nearest(MemoryStore(), SnapshotKind.API, "x", asked={"arguments": deep})
    assert nearest.considered == 0


@pytest.mark.parametrize("arguments", [[], "text", 5, [1, 2]])
def test_arguments_of_any_shape_are_shown(arguments: Json) -> None:
    """A call whose arguments are no object is explained too."""
    assert "no snapshot for call weather/now(" in str(make_error(MemoryStore(), arguments))
