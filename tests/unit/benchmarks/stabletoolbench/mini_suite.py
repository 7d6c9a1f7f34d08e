"""The shipped mini suite read from its source tree, and its scripted candidates played without an engine.

Calls are answered from the imported answers by the steps a call declares, in the order it declares them; no
archive and no store take part, so these tests hold the content of the suite to its README.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from replay.benchmarks.stabletoolbench.importing.importer import StableToolBenchImporter
from replay.benchmarks.stabletoolbench.naming import tool_identity
from replay.benchmarks.stabletoolbench.playing.play import play
from replay.core.canonical import canonical_bytes
from replay.core.protocols import Answer, Ask, EpisodeContext, ImportResult, Settings
from replay.core.trajectory import NoteStep
from replay.core.types import (
    CallAlias,
    CallRequest,
    ChatRequest,
    Json,
    Provenance,
    Role,
    Task,
    ToolResult,
    ToolSpec,
)
from replay.llm.scripted import ScriptedCandidate, ScriptedEpisode

__all__ = [
    "CANDIDATES",
    "GROUPS",
    "ROOT",
    "Played",
    "Recorded",
    "cache_records",
    "imported",
    "judge_file",
    "play_all",
    "queries",
    "raw_spec",
    "read",
    "scripted",
    "task_specs",
]

ROOT: Final = Path(__file__).parents[4] / "snapshots" / "sources" / "stabletoolbench-mini"
GROUPS: Final = (
    "G1_instruction",
    "G1_category",
    "G1_tool",
    "G2_category",
    "G2_instruction",
    "G3_instruction",
)
CANDIDATES: Final = {"cot": "CoT@1", "dfs": "DFS_woFilter_w2", "weak": "CoT@1"}


class Recorded(NamedTuple):
    """One recorded answer of the cache."""

    tool: str
    key: str
    answer: Json


class Played(NamedTuple):
    """One episode as it went."""

    stop: str
    turns: int
    left: int
    """Turns of the script that were not said; negative when its `otherwise` was."""
    lookups: tuple[tuple[str, str], ...]
    """(step that answered, tool identity) of each call that was looked up; the step of a miss is empty."""
    notes: tuple[tuple[str, Json], ...]
    outcome: Json

    @property
    def codes(self) -> set[int]:
        """Status codes that the raw answer holds."""
        return set(_codes(self.outcome["raw"])) if self.outcome else set()

    @property
    def converted(self) -> Json:
        """The converted answer that judges see."""
        return self.outcome["converted"]["answer"]


def read(path: str) -> Json:
    """One JSON file of the suite."""
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


@functools.cache
def queries() -> dict[str, tuple[str, Json]]:
    """Group and record of every query, by id."""
    return {
        str(record["query_id"]): (group, record)
        for group in GROUPS
        for record in read(f"solvable_queries/test_instruction/{group}.json")
    }


@functools.cache
def cache_records() -> tuple[Recorded, ...]:
    """Every recorded answer."""
    folder = ROOT / "tool_response_cache"
    return tuple(
        Recorded(path.relative_to(folder).with_suffix("").as_posix(), key, answer)
        for path in sorted(folder.rglob("*.json"))
        for key, answer in json.loads(path.read_text(encoding="utf-8")).items()
    )


@functools.cache
def judge_file(name: str) -> Json:
    """The verdicts of one metric, by candidate and task."""
    return read(f"judge/{name}.json")["verdicts"]


@functools.cache
def scripted(name: str) -> ScriptedCandidate:
    """One of the scripted candidates."""
    return ScriptedCandidate.load(ROOT / f"scripts/{name}.json")


def raw_spec(entry: Json) -> ToolSpec:
    """Raw tool spec of an upstream API entry."""
    identity = tool_identity(entry["category_name"], entry["tool_name"], entry["api_name"])
    return ToolSpec(name=entry["api_name"], identity=identity, extra=entry)


def task_specs(task: str) -> tuple[ToolSpec, ...]:
    """Raw tool specs of one task."""
    return tuple(map(raw_spec, queries()[task][1]["api_list"]))


@functools.cache
def play_all(name: str, rules: str = "compat") -> dict[str, Played]:
    """Play every task with one scripted candidate."""
    return {task: _play(name, task, rules) for task in queries()}


def _play(name: str, task_id: str, rules: str) -> Played:
    group, record = queries()[task_id]
    task = Task(id=task_id, split=group, data={"query": record["query"]})
    settings = Settings(protocol=CANDIDATES[name], rules=rules)
    episode = play(task, task_specs(task_id), EpisodeContext(trial=0, seed=0, settings=settings))
    said = scripted(name).find_script(task_id, Role.CANDIDATE, trial=0).turns
    driver = _Driver(scripted(name).for_episode(task_id, trial=0))
    answer: Answer = None
    while True:
        try:
            asked = episode.send(answer)
        except StopIteration as ended:
            end = ended.value
            break
        answer = driver.answer(asked)
    left = len(said) - driver.turns
    return Played(end.stop, driver.turns, left, tuple(driver.lookups), tuple(driver.notes), end.outcome)


class _Driver:
    """Answers what one episode asks for, and keeps what it asked."""

    def __init__(self, model: ScriptedEpisode) -> None:
        self._model = model
        self.turns = 0
        self.lookups: list[tuple[str, str]] = []
        self.notes: list[tuple[str, Json]] = []

    def answer(self, asked: Ask) -> Answer:
        if isinstance(asked, ChatRequest):
            self.turns += 1
            return self._model.complete(asked, seed=0, trial=0)
        if isinstance(asked, CallRequest):
            step, result = _look_up(asked)
            self.lookups.append((step, asked.tool))
            return result
        if isinstance(asked, NoteStep):
            self.notes.append((asked.name, asked.data))
        return None


def _look_up(request: CallRequest) -> tuple[str, ToolResult]:
    """Answer a call by the steps it declares, in order; a miss has an empty step and an empty answer."""
    steps = [
        *map(_alias_step, request.aliases_first),
        _canonical_step(request),
        *map(_alias_step, request.aliases),
    ]
    step = next((step for step in steps if step in _index()), None)
    text = _index()[step] if step else '{"error": "", "response": ""}'
    label = step[0] if step else ""
    return label, ToolResult(
        content=text, provenance=Provenance.IMPORTED, body=json.loads(text), lookup=label
    )


@functools.cache
def imported() -> ImportResult:
    """The suite as its importer reads it."""
    return StableToolBenchImporter().load(ROOT, {})


@functools.cache
def _index() -> dict[tuple[str, str, str], str]:
    """Imported answers by lookup step."""
    found: dict[tuple[str, str, str], str] = {}
    for answer in imported().answers:
        found.update((_alias_step(alias), answer.body) for alias in answer.aliases)
        if answer.request is not None:
            found[_canonical_step(answer.request)] = answer.body
    return found


def _alias_step(alias: CallAlias) -> tuple[str, str, str]:
    return alias.label, alias.tool, alias.text


def _canonical_step(request: CallRequest) -> tuple[str, str, str]:
    return "canonical", request.tool, canonical_bytes(request.arguments).decode()


def _codes(value: Json) -> Iterator[int]:
    if isinstance(value, dict):
        if value.get("observation_code") is not None:
            yield value["observation_code"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _codes(item)
