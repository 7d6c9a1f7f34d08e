"""Outcomes in upstream's files: two of each scenario, and result_summary.json of each run.

Source: upstream common/scenario.py, common/message_conversion.py at 165848b. The matches of milestones in
`<role>_details` belong to a score, not to an outcome, and are left out.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from replay.benchmarks.toolsandbox.importing.outputs import CONTEXT_FILE, FORM, SUMMARY_FILE
from replay.benchmarks.toolsandbox.playing.result_summary import scenario_result, summarize_results
from replay.benchmarks.toolsandbox.records import read_ending, read_scenario
from replay.benchmarks.toolsandbox.world.schema import (
    AGENT,
    ENVIRONMENT,
    INDEX,
    SANDBOX,
    SYSTEM,
    TABLES,
    USER,
)
from replay.benchmarks.toolsandbox.world.tables import Row, Tables
from replay.benchmarks.written_files import write_file
from replay.core.errors import InputError
from replay.core.types import Json, Task

__all__ = ["CONVERSATION_FILE", "FORMS", "conversation", "write_outputs"]

CONVERSATION_FILE: Final = "conversation.json"
FORMS: Final = (FORM, "lines")
"""execution-context: upstream's trajectory folders; lines: `outcomes.jsonl`."""


def write_outputs(
    outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str, *, candidate: str = ""
) -> tuple[Path, ...]:
    """Write outcomes as (task, trial, outcome) in one form; returns the files written, sorted.

    Trial n above 0 goes to `trial-n` in upstream's form, which has one result a scenario.
    Errors:  InputError for an unknown form; StoreError when the disk refuses.
    """
    if form not in FORMS:
        raise InputError(f"unknown output form {form!r}", expected=f"one of {', '.join(FORMS)}")
    files: dict[Path, str] = {}
    results: dict[Path, list[dict[str, Json]]] = {}
    lines = []
    for task, trial, outcome in sorted(outcomes, key=lambda item: (item[1], item[0].id)):
        if outcome is None:
            continue
        if form == "lines":
            line = {"id": task.id, "trial": trial, "model_output": outcome}
            line |= {"candidate": candidate} if candidate else {}
            lines.append(json.dumps(line, ensure_ascii=False))
            continue
        run = folder / f"trial-{trial}" if trial else folder
        place = run / "trajectories" / task.id
        ending = read_ending(outcome, where=task.id)
        results.setdefault(run, []).append(scenario_result(read_scenario(task), ending))
        files[place / CONTEXT_FILE] = json.dumps(outcome["context"], ensure_ascii=False, indent=4)
        files[place / CONVERSATION_FILE] = json.dumps(
            conversation(ending.tables), ensure_ascii=False, indent=2
        )
    for run, found in results.items():
        files[run / SUMMARY_FILE] = json.dumps(summarize_results(found), ensure_ascii=False, indent=4)
    if lines:
        files[folder / "outcomes.jsonl"] = "\n".join(lines) + "\n"
    for path, text in files.items():
        write_file(path, text)
    return tuple(sorted(files))


def conversation(tables: Tables) -> list[dict[str, Json]]:
    """Tell the agent's side of a conversation as chat messages, with what changed in the tables at each."""
    turns: list[dict[str, Json]] = []
    snapshots = {name: tables.snapshot_indices(name) for name in TABLES if name != SANDBOX}
    for row in tables.messages():
        if AGENT not in (row["sender"], row["recipient"]) or row["visible_to"] == [USER]:
            continue
        is_call = (row["sender"], row["recipient"]) == (AGENT, ENVIRONMENT)
        if is_call and turns and "tool_calls" in turns[-1]:
            turns[-1]["tool_calls"].append(_call(row))
        else:
            turns.append(_turn(row))
        changed = {name: tables.read(name, row[INDEX]) for name, at in snapshots.items() if row[INDEX] in at}
        if changed:
            turns[-1].setdefault(f"{turns[-1]['role']}_details", {})["database_update"] = changed
    return turns


def _turn(row: Row) -> dict[str, Json]:
    if row["sender"] == ENVIRONMENT:
        call = {"tool_call_id": row["openai_tool_call_id"], "role": "tool"}
        return {**call, "name": row["openai_function_name"], "content": row["content"]}
    if row["recipient"] == ENVIRONMENT:
        return {"role": "assistant", "content": "", "tool_calls": [_call(row)]}
    role = {SYSTEM: "system", USER: "user"}.get(row["sender"], "assistant")
    return {"role": role, "content": row["content"]}


def _call(row: Row) -> dict[str, Json]:
    function = {"name": row["openai_function_name"], "arguments": _arguments(row["content"])}
    return {"id": row["openai_tool_call_id"], "type": "function", "function": function}


def _arguments(content: str) -> str:
    """Read the arguments back out of a call's text; as they stand when they are no literal."""
    literal = content.split("\n", maxsplit=1)[0].partition("_parameters = ")[2]
    try:
        return json.dumps(ast.literal_eval(literal))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return literal
