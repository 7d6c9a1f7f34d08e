"""The exporter writes upstream's live objects in the form that the importer reads."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from replay.benchmarks.toolsandbox.importing.export_upstream import main
from replay.benchmarks.toolsandbox.importing.importer import ToolSandboxImporter
from replay.benchmarks.toolsandbox.records import Scenario, read_scenario

REMINDER = {"reminder_id": "r", "content": "x", "creation_timestamp": 1718362800.0, "reminder_timestamp": 1.0}
SETTING = {
    "device_id": "p",
    "cellular": True,
    "wifi": False,
    "location_service": True,
    "low_battery_mode": False,
    "latitude": 1.0,
    "longitude": 2.0,
}


def column_exact_match_similarity() -> None:
    """Stands for upstream's function of this name."""


def column_close_similarity(atol_dict: Any = None) -> None:
    """Stands for upstream's function of this name."""


def update_similarity() -> None:
    """Stands for upstream's function of this name."""


class Frame(list[Any]):
    """A list of rows with the one method of a data frame that is used."""

    def to_dicts(self) -> list[Any]:
        """The rows."""
        return list(self)


def make_named() -> dict[str, Any]:
    """One base scenario and its variant with scrambled names, as upstream's objects."""
    said = [
        ("SYSTEM", "AGENT", "original prompt", None),
        ("USER", "AGENT", "demo", ["USER"]),
        ("SYSTEM", "USER", "original goal", None),
        ("USER", "AGENT", "Hello", None),
    ]
    messages = [
        {"sandbox_message_index": at, "sender": s, "recipient": r, "content": c, "visible_to": v}
        for at, (s, r, c, v) in enumerate(said)
    ]
    tables: dict[str, list[Any]] = {
        "SETTING": [SETTING],
        "CONTACT": [],
        "MESSAGING": [],
        "REMINDER": [REMINDER],
        "SANDBOX": messages,
    }
    measure = functools.partial(column_close_similarity, atol_dict={"latitude": float("inf")})
    constraint = SimpleNamespace(
        database_namespace="REMINDER",
        snapshot_constraint=update_similarity,
        reference_milestone_node_index=-1,
        target_dataframe=Frame([{"latitude": 1.0}]),
        column_similarity_measure={"latitude": measure, "content": column_exact_match_similarity},
    )
    milestone = SimpleNamespace(snapshot_constraints=[constraint], guardrail_database_list=["CONTACT"])
    empty = SimpleNamespace(milestones=[], edge_list=[])

    def scenario(tools: list[str], categories: list[str], augmentations: list[str]) -> Any:
        context = SimpleNamespace(
            get_database=lambda table, **_: Frame(tables[table]),
            tool_allow_list=tools,
            tool_augmentation_list=augmentations,
        )
        matcher = SimpleNamespace(milestones=[milestone], edge_list=[])
        return SimpleNamespace(
            starting_context=context,
            evaluation=SimpleNamespace(milestone_matcher=matcher, minefield_matcher=empty),
            max_messages=30,
            categories=categories,
        )

    wide = ["end_conversation", "get_wifi_status", "set_wifi_status"]
    scrambled = "TOOL_NAME_SCRAMBLED"
    return {
        "one": scenario(["set_wifi_status", "end_conversation"], ["NO_DISTRACTION_TOOLS"], []),
        "one_3_x": scenario(wide, ["THREE_DISTRACTION_TOOLS", scrambled], [scrambled]),
    }


def install_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put modules with upstream's names where the exporter looks for them."""
    shown = {"name": "get_wifi_status", "description": "original text", "parameters": {"properties": {}}}
    contents: dict[str, dict[str, Any]] = {
        "tool_sandbox": {},
        "tool_sandbox.common": {},
        "tool_sandbox.scenarios": {"named_scenarios": lambda **_: make_named()},
        "tool_sandbox.common.tool_discovery": {
            "ToolBackend": SimpleNamespace(DEFAULT="d"),
            "get_all_tools": lambda _: {"get_wifi_status": None},
        },
        "tool_sandbox.common.tool_conversion": {"convert_to_openai_tool": lambda _: {"function": shown}},
        "tool_sandbox.common.evaluation": {
            "_default_dbs_column_similarities": {
                "REMINDER": dict.fromkeys(("latitude", "content"), column_exact_match_similarity)
            }
        },
    }
    for name, content in contents.items():
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)


def test_what_is_exported_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Original texts, rows, milestones and variants come through."""
    install_upstream(monkeypatch)
    assert 0 == main([str(tmp_path)])
    result = ToolSandboxImporter().load(tmp_path, {})
    one, variant = (read_scenario(task) for task in result.tasks)
    assert ("2024-06-14T12:00:00Z", "original goal", False) == (one.now, one.goal, setting_of(one)["wifi"])
    assert "original prompt" == one.messages[0]["content"]
    constraint = one.milestones[0].constraints[0]
    assert ("update_similarity", -1, {"latitude"}) == (
        constraint.fn,
        constraint.reference,
        set(constraint.overrides),
    )
    assert {"latitude": "Infinity"} == constraint.overrides["latitude"].atol_dict
    assert (("TOOL_NAME_SCRAMBLED",), "one") == (variant.augmentations, variant.base)
    assert "original text" in {tool.description for tool in result.tools}


def setting_of(scenario: Scenario) -> dict[str, Any]:
    """The row of the settings."""
    return scenario.tables["SETTING"][0]


def test_without_upstream_it_says_where_to_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Where the package is missing, one line says so."""
    assert (3, 2) == (main([str(tmp_path)]), main([]))
    assert "run this where upstream's package tool_sandbox is installed" in capsys.readouterr().err


def test_written_files_are_plain_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Infinite tolerances are a text: every file is strict JSON."""
    install_upstream(monkeypatch)
    main([str(tmp_path)])
    names = {path.name for path in tmp_path.iterdir() if json.loads(path.read_text())}
    assert {"scenarios_base.json", "scenario_variants.json", "tools.json", "world_state.json"} == names
