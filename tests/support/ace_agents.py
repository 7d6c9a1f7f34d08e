"""Agents of ACEBench in tests: records, episodes without a store, gold candidates and users."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TypeVar

from replay.benchmarks.acebench.literals.milestones import repair_quotes
from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.benchmarks.acebench.playing.messages import read_calls
from replay.benchmarks.acebench.records import AGENT, AceTask, data_of, read_task, split_of, task_id
from replay.benchmarks.acebench.scoring.carrying_out import carry_out
from replay.benchmarks.acebench.scoring.strict_agent import check_strict_state
from replay.benchmarks.acebench.world.sandbox import Sandbox
from replay.core.protocols import Ask, EpisodeContext, Settings
from replay.core.types import CallRequest, Json, Task, ToolResult
from tests.support.ace_outcomes import gold_outcome

__all__ = [
    "drive",
    "gold_messages",
    "gold_scripts",
    "make_context",
    "make_record",
    "make_sandbox",
    "make_task",
    "read_agent_records",
]

_Answer = TypeVar("_Answer")


def make_record(
    category: str = "agent_multi_turn",
    *,
    language: str = "en",
    classes: Sequence[str] = ("BaseApi", "MessageApi"),
    config: Json = None,
    **fields: Json,
) -> AceTask:
    """A record of one category."""
    given: dict[str, Json] = {
        "id": f"{category}_0",
        "question": "Send a message.",
        "ground_truth": [],
        "initial_config": {"BaseApi": {"wifi": True, "logged_in": True}} if config is None else config,
        **fields,
    }
    return AceTask(language=language, category=category, involved_classes=tuple(classes), **given)


def make_task(record: AceTask) -> Task:
    """The task of a record."""
    return Task(
        id=task_id(record.language, record.id),
        split=split_of(record.language, record.category),
        data=data_of(record),
    )


def make_context(rules: str = "compat", **options: Json) -> EpisodeContext:
    """What an episode knows of its run."""
    return EpisodeContext(trial=0, seed=7, settings=Settings(rules=rules, options=options))


def make_sandbox(record: AceTask, *, clean: bool = False) -> Sandbox:
    """The sandbox of a record."""
    return Sandbox(record.language, record.involved_classes, record.initial_config, clean=clean)


def read_agent_records(folder: Path) -> dict[tuple[str, str], AceTask]:
    """Records of both agent categories in both languages, by language and id."""
    found: dict[tuple[str, str], AceTask] = {}
    for language in ("en", "zh"):
        for category in AGENT:
            base = folder / f"data_{language}"
            truths = {row["id"]: row for row in _rows(base / "possible_answer" / f"data_{category}.json")}
            for row in _rows(base / f"data_{category}.json"):
                truth = truths[row["id"]]
                found[language, row["id"]] = make_record(
                    category,
                    language=language,
                    classes=row["involved_classes"],
                    config=row["initial_config"],
                    id=row["id"],
                    question=row["question"],
                    function=tuple(row["function"]),
                    ground_truth=truth["ground_truth"],
                    mile_stone=truth["mile_stone"],
                )
    return found


def _rows(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def drive(play: Generator[Ask, Json, _Answer], world: Sandbox) -> _Answer:
    """Answer a play's calls from a sandbox until it ends."""
    answer: ToolResult | None = None
    try:
        while True:
            wish = play.send(answer)
            answer = world.handle(wish) if isinstance(wish, CallRequest) else None
    except StopIteration as done:
        ended: _Answer = done.value
        return ended


# ---- gold candidates -------------------------------------------------------------------------------------


def gold_scripts(task: Task) -> list[Json]:
    """Scripts (candidate, and user where there is one) that do what the truth of a task asks for."""
    record = read_task(task)
    if record.category not in AGENT:
        return [{"task": task.id, "turns": [{"content": gold_outcome(task)["output"]}]}]
    messages = [{"content": message} for message in gold_messages(record)]
    if record.category == "agent_multi_step":
        return [{"task": task.id, "turns": [*messages, {"content": "finish conversation"}]}]
    return [
        {"task": task.id, "turns": [*messages, {"content": "That is all done."}]},
        {
            "task": task.id,
            "role": "user",
            "turns": [{"content": record.question}],
            "otherwise": {"content": "finish conversation"},
        },
    ]


def gold_messages(record: AceTask) -> list[str]:
    """The milestones that lead to the truth; the last alternative when none does."""
    found: list[str] = []
    for stones in record.alternatives:
        found = [_readable(stone) for stone in stones]
        result = carry_out(make_task(record), found).result
        if not check_strict_state(result, record.ground_truth, record.involved_classes):
            break
    return found


def _readable(stone: str) -> str:
    text = stone.strip()
    try:
        read_calls(text)
    except LiteralError:
        return repair_quotes(text)
    return text
