"""Dumps of scenarios: what is read, and what is refused with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.benchmarks.toolsandbox.importing.importer import ToolSandboxImporter
from replay.benchmarks.toolsandbox.importing.values import resolve
from replay.benchmarks.toolsandbox.records import read_scenario
from replay.core.determinism import FrozenClock
from replay.core.errors import InputError
from replay.core.types import Json
from tests.support.sandboxes import NOW, NOW_S

SETTING = {
    "device_id": "p",
    "cellular": True,
    "wifi": True,
    "location_service": True,
    "low_battery_mode": False,
}


def make_base() -> dict[str, Json]:
    """One dumped scenario."""
    goal = {
        "sender": "SYSTEM",
        "recipient": "USER",
        "kind": "user_goal",
        "content": "<user instruction> Do it.",
    }
    target = [{"wifi": False}]
    constraint = {"database": "SETTING", "constraint": {"fn": "snapshot_similarity"}, "target": target}
    return {
        "name": "one",
        "categories": ["SINGLE_TOOL_CALL", "NO_DISTRACTION_TOOLS"],
        "settings": {"wifi": False},
        "tool_order_seed42": ["set_wifi_status", "end_conversation"],
        "messages": [
            {
                "sender": "SYSTEM",
                "recipient": "AGENT",
                "kind": "agent_system",
                "content": "<agent system prompt>",
            },
            {"kind": "demonstration_block", "count": 4},
            goal,
            {"sender": "USER", "recipient": "AGENT", "kind": None, "content": "Wifi off"},
        ],
        "milestones": [{"constraints": [constraint]}],
    }


def write_dump(folder: Path, change: Callable[[dict[str, Json]], object] | None = None) -> Path:
    """A dump of one scenario, changed before it is written."""
    base = make_base()
    if change is not None:
        change(base)
    reminder = {"reminder_id": "r", "creation_timestamp": {"$now_plus_seconds": -60}}
    world = {"frozen_now": NOW, "base_world_state": {"SETTING": [SETTING], "REMINDER": [reminder]}}
    (folder / "world_state.json").write_text(json.dumps(world))
    (folder / "scenarios_base.json").write_text(json.dumps({"scenarios": [base]}))
    return folder


def test_scenario_is_resolved(tmp_path: Path) -> None:
    """Times are computed at the frozen clock, settings are merged, placeholders are our own words."""
    scenario = read_scenario(ToolSandboxImporter().load(write_dump(tmp_path), {}).tasks[0])
    assert NOW_S - 60 == scenario.tables["REMINDER"][0]["creation_timestamp"]
    assert (False, True) == tuple(scenario.tables["SETTING"][0][name] for name in ("wifi", "cellular"))
    assert ("Do it.", 7) == (scenario.goal, len(scenario.messages))
    assert scenario.messages[0]["content"].startswith("You are an assistant")
    assert [["USER"]] * 4 == [row["visible_to"] for row in scenario.messages[1:5]]


def test_same_dump_same_version(tmp_path: Path) -> None:
    """The version is made of the content."""
    first, again = (ToolSandboxImporter().load(write_dump(tmp_path), {}) for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda base: base.update(tool_order_seed42=["fly"]), "unknown tool 'fly'.*scenario one"),
        (
            lambda base: base["milestones"][0]["constraints"][0].update(database="MAPS"),
            "unknown table 'MAPS'",
        ),
        (
            lambda base: base["milestones"][0]["constraints"][0].update(target=[{"age": 1}]),
            "unknown column 'age'",
        ),
        (
            lambda base: base["milestones"][0]["constraints"][0].update(constraint={"fn": "x"}),
            "unknown constraint 'x'",
        ),
        (lambda base: base["milestones"][0].update(guardrail_databases=["MAPS"]), "unknown table 'MAPS'"),
        (lambda base: base.update(milestone_edges=[[0, "1"]]), "unusable field"),
        (lambda base: base["messages"].pop(), "do not end with one of the user"),
        (lambda base: base["messages"][0].update(sender="BOB"), "sender 'BOB'"),
        (lambda base: base.update(settings={"volume": 3}), "unknown column 'volume' of SETTING"),
        (lambda base: base.update(tables={"MAPS": []}), "unknown table 'MAPS'"),
        (lambda base: base.pop("name"), "record 0"),
        (lambda base: base.update(max_messages="many"), "unusable field"),
    ],
)
def test_bad_scenario_is_named(
    tmp_path: Path, change: Callable[[dict[str, Json]], object], message: str
) -> None:
    """Each fault tells the scenario and what was expected."""
    with pytest.raises(InputError, match=message):
        ToolSandboxImporter().load(write_dump(tmp_path, change), {})


def test_faults_are_told_together(tmp_path: Path) -> None:
    """Two bad scenarios are two faults of one error."""
    write_dump(tmp_path)
    bad = [{**make_base(), "name": name, "tool_order_seed42": ["fly"]} for name in ("a", "b")]
    (tmp_path / "scenarios_base.json").write_text(json.dumps({"scenarios": bad}))
    with pytest.raises(InputError, match=r"2 faults in the data: .*scenario a.*scenario b"):
        ToolSandboxImporter().load(tmp_path, {})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("scenarios_base.json", "{", "no JSON"),
        ("scenarios_base.json", "[]", "no list 'scenarios'"),
        ("world_state.json", "{}", "no base_world_state"),
        ("scenario_variants.json", '{"variants": [{"name": "two_x"}]}', "no base scenario of 'two_x'"),
        (
            "scenario_variants.json",
            '{"variants": [{"name": "one_x", "augmentations": ["ALL"]}]}',
            "unknown augmentation",
        ),
        ("tools.json", '{"tools": [{"name": "fly"}]}', "unknown tool 'fly'"),
        ("api_answers.json", '[{"tool": "fly", "arguments": {}, "response": 1}]', "asks no API"),
        ("api_answers.json", "{}", "no list of answers"),
    ],
)
def test_bad_file_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    """Each file's faults are told with the file."""
    write_dump(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        ToolSandboxImporter().load(tmp_path, {})


def test_missing_folder_and_unknown_option_are_refused(tmp_path: Path) -> None:
    """A wrong place or word is said in one line."""
    with pytest.raises(InputError, match="no such folder"):
        ToolSandboxImporter().load(tmp_path / "none", {})
    with pytest.raises(InputError, match="unknown import option 'speed'"):
        ToolSandboxImporter().load(tmp_path, {"speed": 1})


def test_calendar_values_are_those_of_the_frozen_clock() -> None:
    """Values by moment are taken at the dump's own."""
    clock = FrozenClock(NOW)
    assert [{"a": 5}] == resolve([{"a": {"$calendar": {"at_T0": 5, "at_T0_plus_1d": 6}}}], clock)
    with pytest.raises(InputError, match="calendar without at_T0"):
        resolve({"$calendar": {}}, clock)
