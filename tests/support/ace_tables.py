"""Records of ACEBench's normal and special categories in tests, built from one small tool."""

from __future__ import annotations

from collections.abc import Mapping

from replay.benchmarks.acebench.records import AceTask, data_of, split_of, task_id
from replay.benchmarks.acebench.scoring.cases import CaseBook
from replay.benchmarks.acebench.scoring.verdicts import judge
from replay.core.types import Json, Task, Verdict

__all__ = ["judge_text", "make_call_task", "make_tool"]


def make_tool(name: str = "book", *, required: tuple[str, ...] = (), **properties: Json) -> Json:
    """A tool whose properties are given as types, or as whole details."""
    shown = {
        key: detail if isinstance(detail, Mapping) else {"type": detail} for key, detail in properties.items()
    }
    parameters = {"type": "object", "properties": shown, "required": list(required)}
    return {"name": name, "description": "", "parameters": parameters}


def make_call_task(
    truth: Json,
    *tools: Json,
    category: str = "normal_atom_list",
    language: str = "en",
    number: str = "0",
    flags: tuple[str, ...] = (),
) -> Task:
    """A task with a truth and tools."""
    record = AceTask(
        id=f"{category}_{number}",
        language=language,
        category=category,
        question="user: please",
        function=tools,
        ground_truth=truth,
    )
    return Task(
        id=task_id(language, record.id),
        split=split_of(language, category),
        data=data_of(record),
        flags=flags,
    )


def judge_text(task: Task, output: Json) -> Verdict:
    """Verdict on one text."""
    return judge(task, {"output": output}, trial=0, cases=CaseBook())[0]
