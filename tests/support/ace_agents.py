"""Agents of ACEBench in tests: records, episodes without a store, gold candidates and users."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from replay.benchmarks.acebench.literals.milestones import repair_quotes
from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.benchmarks.acebench.playing.execution import Executor
from replay.benchmarks.acebench.playing.messages import is_for_execution, read_calls
from replay.benchmarks.acebench.records import AGENT, AceTask, data_of, split_of, task_id
from replay.benchmarks.acebench.scoring.strict_agent import check_strict_state
from replay.benchmarks.acebench.world.sandbox import Sandbox, tool_names
from replay.core.protocols import Ask, EpisodeContext, Settings
from replay.core.types import CallRequest, Json, Task, ToolResult

__all__ = [
    "NUDGE",
    "Played",
    "drive",
    "gold_messages",
    "gold_script",
    "make_context",
    "make_record",
    "make_sandbox",
    "make_task",
    "play_messages",
    "read_agent_records",
]

NUDGE: Final = "Please do not ask me any questions, use the known conditions to solve the problem"

_Answer = TypeVar("_Answer")
_REPEAT: Final = re.compile(r"_\d+$")
_IRRELEVANT: Final = "the limitations of the function"


class Played:
    """What the sandbox showed and kept after some messages."""

    def __init__(self, observations: list[Json], result: Json, process: list[str]) -> None:
        self.observations = observations
        self.result = result
        self.process = process


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


def play_messages(record: AceTask, messages: Sequence[str]) -> Played:
    """Hand an agent's messages to the official execution, one after another."""
    world = make_sandbox(record)
    known = tool_names(record.language, record.involved_classes, clean=False)
    executor = Executor(record.id, 0, known)
    observations: list[Json] = []
    process: list[str] = []
    has_executed = False
    for message in messages:
        if record.category == "agent_multi_turn":
            if not is_for_execution(message):
                observations.append({"routed_to": "user"})
                continue
            process.append(message)
            done = drive(executor.run_turn(read_calls(message)), world)
        else:
            process.append(message)
            try:
                calls = read_calls(message)
            except LiteralError:
                observations.append(NUDGE)
                continue
            done = drive(executor.run_step(calls), world)
        has_executed = has_executed or done.is_whole
        observations.append(done.observation)
    return Played(observations, world.state()["saved"] if has_executed else [], process)


# ---- gold candidates -------------------------------------------------------------------------------------


def gold_script(record: AceTask, task: str) -> list[Json]:
    """Scripts (candidate, and user where there is one) that do what the truth of a task asks for."""
    if record.category not in AGENT:
        return [{"task": task, "turns": [{"content": _gold_text(record)}]}]
    messages = [{"content": message} for message in gold_messages(record)]
    if record.category == "agent_multi_step":
        return [{"task": task, "turns": [*messages, {"content": "finish conversation"}]}]
    return [
        {"task": task, "turns": [*messages, {"content": "That is all done."}]},
        {
            "task": task,
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
        result = play_messages(record, found).result
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


def _gold_text(record: AceTask) -> str:
    truth = record.ground_truth
    if record.category == "special_irrelevant":
        return f'["{truth}"]' if _IRRELEVANT in truth else f'["Due to {_IRRELEVANT}, I cannot."]'
    if record.category == "special_incomplete":
        parts = [
            f"Missing necessary parameters ({', '.join(names)}) for the api ({api})."
            for api, names in truth.items()
        ]
        return f'["{" ".join(parts)}"]'
    if record.category == "special_error_param":
        parts = [
            f"There is incorrect value ({', '.join(map(str, values))}) for the parameter ({name})."
            for name, values in truth.items()
        ]
        return f'["{" ".join(parts)}"]'
    calls = truth[0] if isinstance(truth, list) else truth
    return f"[{', '.join(_call_text(record, name, arguments) for name, arguments in calls.items())}]"


def _call_text(record: AceTask, name: str, arguments: Mapping[str, Json]) -> str:
    known = {tool["name"] for tool in record.function}
    shown = name if name in known else _REPEAT.sub("", name)
    return f"{shown}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
