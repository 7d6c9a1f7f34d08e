"""Whole conversations against upstream's own: every message, exception, trace and API request."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from replay.benchmarks.toolsandbox.importing.importer import ToolSandboxImporter
from replay.benchmarks.toolsandbox.records import SPLITS, read_ending, read_scenario
from replay.benchmarks.toolsandbox.tools.catalogue import SCRAMBLED, TOOLS, rank_distractors
from replay.benchmarks.toolsandbox.tools.specs import make_spec
from replay.core.protocols import ImportResult
from replay.core.types import Json, Task
from tests.support.data import find_shared_data
from tests.support.sandboxes import play_scripted

SHARED = find_shared_data()
SOURCE = SHARED / "toolsandbox" if SHARED else Path("nowhere")
ORACLE = SHARED.parent / "oracles" / "toolsandbox.jsonl" if SHARED else Path("nowhere")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SOURCE.is_dir(), reason="no ToolSandbox data beside the checkout"),
]

_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


@functools.cache
def imported() -> ImportResult:
    """Import the dumped scenarios once."""
    return ToolSandboxImporter().load(SOURCE, {})


@functools.cache
def tasks() -> dict[str, Task]:
    """All tasks by id."""
    return {task.id: task for task in imported().tasks}


def rows() -> list[Json]:
    """The oracle's whole conversations."""
    if not ORACLE.is_file():
        return []
    lines = ORACLE.read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == "scenario_replay"]


def shown(text: Json) -> Json:
    """Hide identifiers that are made anew in each world, as the oracle does."""
    return json.loads(_UUID4.sub("<uuid4>", json.dumps(text)))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_conversation_is_upstreams(row: Json) -> None:
    """Messages, exceptions and traces after set-up are those of upstream's program, index by index."""
    given, expected = row["input"], row["expected"]
    task = tasks()[given["scenario"]]
    trajectory, tools = play_scripted(
        task, given["agent_script"], given["user_script"], fixtures=given["api_fixtures"]
    )
    ending = read_ending(trajectory.outcome, where=task.id)
    first = expected["messages_after_setup"][0]["index"]
    got = [
        {
            "index": message["sandbox_message_index"],
            "sender": message["sender"],
            "recipient": message["recipient"],
            "content": message["openai_function_name"]
            if (message["sender"], message["recipient"]) == ("AGENT", "EXECUTION_ENVIRONMENT")
            else message["content"],
            "exception": message["tool_call_exception"],
            "tool_trace": [json.loads(trace) for trace in message["tool_trace"] or ()],
        }
        for message in ending.tables.messages()
        if message["sandbox_message_index"] >= first
    ]
    assert expected["messages_after_setup"] == shown(got)
    assert expected["api_requests"] == tools.asked
    assert "finished" == trajectory.stop


def test_all_scenarios_are_imported() -> None:
    """There are 129 base scenarios and eight tool lists of each, with upstream's category counts."""
    counts = Counter(task.split for task in imported().tasks)
    assert dict.fromkeys(SPLITS, 129) == dict(counts)
    categories = Counter(name for task in imported().tasks for name in read_scenario(task).categories)
    assert (656, 584, 472, 224, 224, 192, 152) == tuple(
        categories[name]
        for name in (
            "MULTIPLE_TOOL_CALL",
            "SINGLE_USER_TURN",
            "CANONICALIZATION",
            "MULTIPLE_USER_TURN",
            "INSUFFICIENT_INFORMATION",
            "STATE_DEPENDENCY",
            "SINGLE_TOOL_CALL",
        )
    )


def test_distractors_are_upstreams() -> None:
    """The nearest 3 and 10 other tools of every base scenario are those of upstream's variants."""
    order = [tool["name"] for tool in json.loads((SOURCE / "tools.json").read_text())["tools"]]
    for task in imported().tasks:
        scenario = read_scenario(task)
        taken = {"THREE_DISTRACTION_TOOLS": 3, "TEN_DISTRACTION_TOOLS": 10}.get(task.split)
        if taken:
            needed = read_scenario(tasks()[scenario.base]).tools
            assert set(scenario.tools) == {*needed, *rank_distractors(needed, order)[:taken]}, task.id


def test_tools_are_upstreams() -> None:
    """Names, scrambled names, modules, parameters, types and defaults are those of upstream's 34 tools."""
    entries = json.loads((SOURCE / "tools.json").read_text())["tools"]
    assert {entry["name"] for entry in entries} == set(TOOLS)
    for entry in entries:
        tool, spec = TOOLS[entry["name"]], make_spec(TOOLS[entry["name"]])
        assert (entry["scrambled_name"], entry["domain"]) == (SCRAMBLED[tool.name], tool.module)
        assert list(entry["parameters"]) == list(spec.parameters["properties"])
        for parameter in tool.parameters:
            dumped = entry["parameters"][parameter.name]
            assert dumped["json_type"] == spec.parameters["properties"][parameter.name]["type"]
            default = "<not given>" if parameter.omissible else parameter.default
            assert dumped.get("required", False) == parameter.required
            assert parameter.required or dumped["default"] == default
