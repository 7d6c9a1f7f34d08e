"""All base scenarios with a scripted agent: one run root, wherever and with however many processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from replay.core.types import Json
from tests.support.data import CHECKOUT, find_shared_data

SHARED = find_shared_data()
SOURCE = SHARED / "toolsandbox" if SHARED else Path("nowhere")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SOURCE.is_dir(), reason="no ToolSandbox data beside the checkout"),
]

BYE = {"tool_calls": [{"name": "end_conversation", "arguments": {}}]}
SETTERS = {
    "wifi": "set_wifi_status",
    "cellular": "set_cellular_service_status",
    "location_service": "set_location_service_status",
    "low_battery_mode": "set_low_battery_mode_status",
}
REMIND = {"content": "milk", "reminder_timestamp": 1718470800.0}

PLACES = (
    {"TZ": "UTC", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
    {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "77", "LC_ALL": "C"},
)


def run_elsewhere(*words: str | Path, **environment: str) -> None:
    """Run a command in a process of its own."""
    subprocess.run(
        [sys.executable, "-m", "replay", *map(str, words)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
        cwd=CHECKOUT,
    )


def write_scripts(folder: Path) -> tuple[Path, Path]:
    """An agent that switches what it can, saves a reminder and asks the clock; a user that leaves."""
    bases = json.loads((SOURCE / "scenarios_base.json").read_text())["scenarios"]
    scripts = [{"task": base["name"], "turns": turns_of(base)} for base in bases]
    agent, user = folder / "agent.json", folder / "user.json"
    agent.write_text(json.dumps({"scripts": scripts, "otherwise": {"content": "Anything else?"}}))
    leaving = {"task": "*", "role": "user", "turns": [], "otherwise": BYE}
    user.write_text(json.dumps({"scripts": [leaving]}))
    return agent, user


def turns_of(base: Json) -> list[Json]:
    """Calls of the scenario's own tools that need no external API, and a sentence."""
    tools = base["necessary_tools"]
    calls: list[Json] = [
        {"name": name, "arguments": {"on": not base["settings"][column]}}
        for column, name in SETTERS.items()
        if name in tools
    ]
    if "add_reminder" in tools:
        calls.append({"name": "add_reminder", "arguments": REMIND})
    if "get_current_timestamp" in tools:
        calls.append({"name": "get_current_timestamp", "arguments": {}})
    return [*({"tool_calls": [call]} for call in calls), {"content": "I did what I could."}]


def test_one_run_root_everywhere(tmp_path: Path) -> None:
    """129 scenarios give one run root under other zones, hash seeds, locales and job counts, strictly."""
    agent, user = write_scripts(tmp_path)
    archive = tmp_path / "toolsandbox.replay"
    run_elsewhere("import", "toolsandbox", SOURCE, "-o", archive, "--option", "variants=leave-out")
    for number, place in enumerate(PLACES):
        run_elsewhere(
            "run",
            archive,
            "--candidate",
            f"scripted:{agent}",
            "--user-model",
            f"scripted:{user}",
            "--mode",
            "strict",
            "--jobs",
            str(number + 1),
            "--out",
            tmp_path / f"run-{number}",
            "--json",
            **place,
        )
    manifests = [json.loads((tmp_path / f"run-{n}" / "manifest.json").read_text()) for n in range(2)]
    assert 129 == manifests[0]["inputs"]["planned"]
    assert manifests[0]["roots"] == manifests[1]["roots"]
