"""Records that are wrong as a benchmark carry flags, each found by a rule that looks at the record alone."""

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.importing.data_errors import find_data_errors
from replay.benchmarks.acebench.records import read_task
from replay.core.types import Json
from tests.support.ace_agents import make_record
from tests.support.ace_tables import make_call_task, make_tool

_STATE: Json = [{"BaseApi": {"wifi": True, "logged_in": True}}, {"MessageApi": {"inbox": {"4": {}}}}]


def _flags(truth: Json, *tools: Json, category: str = "normal_atom_list") -> tuple[str, ...]:
    return find_data_errors(read_task(make_call_task(truth, *tools, category=category)))


def test_a_sound_record_has_no_flags() -> None:
    """A truth that its own checker accepts."""
    tool = make_tool("f", required=("x",), x="string", l={"type": "array", "items": {"type": "string"}})
    assert _flags({"f": {"x": "a", "l": ["b"]}}, tool) == ()


@pytest.mark.parametrize(
    ("truth", "tool", "flag"),
    [
        ({"f": {"l": []}}, make_tool("f", l={"type": "array"}), "truth-empty-value:l"),
        ({"f": {"l": None}}, make_tool("f", l="string"), None),
        ({"f": {"o": {}}}, make_tool("f", o="object"), "truth-empty-value:o"),
        (
            {"f": {"y": "a"}},
            make_tool("f", required=("x",), x="string", y="string"),
            "truth-lacks-required:x",
        ),
        ({"f": {"z": "a"}}, make_tool("f", x="string"), "truth-undeclared-argument:z"),
        ({"f_2": {"x": "a"}}, make_tool("f_2", x="string"), "name-ends-in-number:f_2"),
        ({"g": {"x": "a"}}, make_tool("f", x="string"), "truth-unknown-tool:g"),
        ({"f": {"l": ["None"]}}, make_tool("f", l={"type": "array"}), "truth-rejected:value_error"),
        ("none", make_tool("f"), "truth-rejected:no calls"),
    ],
)
def test_truths_that_the_official_checker_rejects(truth: Json, tool: Json, flag: str | None) -> None:
    """By the reason, or by the error's name where there is no reason of its own."""
    assert ((flag,) if flag else ()) == _flags(truth, tool)


def test_values_that_the_task_does_not_say() -> None:
    """The offending value must be in the conversation."""
    found = _flags({"n": ["-5"], "q": ["please"]}, category="special_error_param")
    assert found == ("truth-against-task:n=-5",)


@pytest.mark.parametrize(
    ("fields", "flags"),
    [
        ({"mile_stone": ["[login_device()]"]}, ()),
        ({"mile_stone": []}, ("milestones-missing:",)),
        ({"mile_stone": ["[send(text='Don't')]"]}, ("milestone-invalid:0",)),
        ({"mile_stone": [["[a()]"], ["[b()]", "oops"]]}, ("milestone-invalid:1.1",)),
        (
            {"mile_stone": ["[delete_message(message_id=4)]"]},
            ("milestones-unlike-truth:message 4 is deleted",),
        ),
        ({"mile_stone": ["[delete_message(message_id=3)]"]}, ()),
        (
            {"mile_stone": ["[a()]"], "config": {"BaseApi": {"logged_in": False}}},
            ("milestones-unlike-truth:no device login",),
        ),
        ({"mile_stone": ["[a()]"], "config": {"Baspi": {"wifi": True}}}, ("config-class:Baspi",)),
        (
            {"mile_stone": ["[a()]"], "ground_truth": [{"MessageAPI": {"inbox": {}}}]},
            ("class-name:MessageAPI",),
        ),
    ],
)
def test_agent_records(fields: dict[str, Json], flags: tuple[str, ...]) -> None:
    """Class names, milestones, and milestones that the truth's end state contradicts."""
    assert flags == find_data_errors(make_record(**{"ground_truth": _STATE, **fields}))


def test_food_milestones_must_log_in_and_order_what_the_truth_has() -> None:
    """Two kinds of milestones that cannot lead to the truth."""
    truth = [{"FoodPlatform": {"orders": [{"items": [{"product": "Tea"}]}]}}]
    stones = ["[add_food_delivery_order(username='Eve', items=[{'product': 'Milk'}])]"]
    record = make_record(classes=["FoodPlatform"], config={}, ground_truth=truth, mile_stone=stones)
    assert find_data_errors(record) == (
        "milestones-unlike-truth:no food login",
        "milestones-unlike-truth:product Milk",
    )


@pytest.mark.parametrize(
    ("question", "flags"),
    [
        ("You have four pieces of luggage.", ("truth-against-task:4 bags",)),
        ("你有四件行李。", ("truth-against-task:4 bags",)),
        ("You have 3 bags.", ()),
        ("You need to add two pieces of luggage.", ()),
    ],
)
def test_bags_of_the_task_are_in_the_truth(question: str, flags: tuple[str, ...]) -> None:
    """A literal agent would fail otherwise."""
    truth = [{"Travel": {"reservations": [{"baggage": 3}]}}]
    record = make_record(
        classes=["Travel"], config={}, question=question, ground_truth=truth, mile_stone=["[a()]"]
    )
    assert flags == find_data_errors(record)


@pytest.mark.parametrize("odd", [1, 10**29, True, "x", [[]], [{}], {"a": 1}])
@pytest.mark.parametrize("place", ["required", "properties"])
def test_tools_of_odd_schemas_are_looked_at(place: str, odd: Json) -> None:
    """A schema whose parts have other types than a schema's gives flags at most."""
    tool = make_tool("f", x="string")
    tool["parameters"][place] = odd
    assert isinstance(_flags({"f": {"x": "a"}}, tool), tuple)
