"""Builders for CodeXomics tests: calls, rows, assessments, tasks, plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replay.benchmarks.codexomics.importing.importer import FIXTURE
from replay.benchmarks.codexomics.playing.play import make_world, play
from replay.benchmarks.codexomics.records import ObservedCall, Tier, prompt_hash, read_oracle
from replay.benchmarks.codexomics.scoring.assessment import Assessment
from replay.benchmarks.codexomics.scoring.evaluator import Registry, assess
from replay.benchmarks.codexomics.scoring.rules import OFFICIAL, Rules
from replay.core.asks import EpisodeEnd, ReadState, WorldState
from replay.core.protocols import EpisodeContext, Settings
from replay.core.types import CallRequest, ChatRequest, Completion, Json, Task, ToolCall, ToolSpec

__all__ = ["SPECS", "call", "judge", "make_task", "make_test", "play_turns", "single", "steps", "turn"]

OPEN = {"type": "object"}
SCHEMAS: dict[str, Json] = {
    "zoom_in": {
        "type": "object",
        "properties": {"factor": {"type": "number"}},
        "additionalProperties": False,
    },
    "get_sequence": {
        "type": "object",
        "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}},
        "required": ["start", "end"],
        "additionalProperties": False,
    },
    "compute_gc": {
        "type": "object",
        "properties": {"sequence": {"type": "string"}},
        "required": ["sequence"],
    },
    "open_new_tab": OPEN,
    "delete_annotation": OPEN,
    "get_current_state": OPEN,
}
SPECS = tuple(ToolSpec(name=name, identity=f"{name}@r", parameters=SCHEMAS[name]) for name in SCHEMAS)


def call(tool: str, executed: bool = False, success: bool | None = None, **parameters: Json) -> ObservedCall:
    """One observed call."""
    return ObservedCall(tool=tool, parameters=parameters, executed=executed, success=success)


def single(tool: str, **parameters: Json) -> dict[str, Json]:
    """A test that expects one call."""
    return {"complexity": "simple", "expectedResult": {"tool_name": tool, "parameters": parameters}}


def steps(*entries: tuple[Json, Mapping[str, Json]], free: Sequence[str] = ()) -> dict[str, Json]:
    """A test that expects several calls."""
    expected = {
        "tool_sequence": [entry[0] for entry in entries],
        "parameters": [dict(entry[1]) for entry in entries],
        "orderInsensitiveTools": list(free),
    }
    return {"complexity": "complex", "expectedResult": expected}


def judge(
    test: Mapping[str, Json],
    *calls: ObservedCall,
    tier: Tier = Tier.COMPLETION,
    schemas: Mapping[str, Json] | None = None,
    rules: Rules = OFFICIAL,
    facts: Mapping[str, Json] | None = None,
) -> Assessment:
    """Judge calls; without schemas every call is valid."""
    registry = Registry(schemas=dict(schemas or {}), knows_all=False, facts=dict(facts or {}))
    return assess(test, calls, tier, registry, rules=rules)


def make_test(test: Mapping[str, Json], instruction: str = "Do it.") -> dict[str, Json]:
    """A whole test of a suite."""
    return {"id": "t1", "instruction": instruction, "evaluation": "automatic", "maxScore": 5, **test}


def make_task(test: Mapping[str, Json], *, genome: str = "", shown: Sequence[str] = tuple(SCHEMAS)) -> Task:
    """A task as the importer makes it."""
    whole = make_test(test)
    expected = [step.tools for step in read_oracle(whole).steps]
    covered = sum(1 for tools in expected if set(tools) & set(shown))
    data: dict[str, Any] = {
        "suite": "automatic_simple",
        "test": whole,
        "prompt_sha256": prompt_hash(str(whole["instruction"])),
        "registry": "r",
        "suites": "s",
        "fixture": {**FIXTURE, "genome": genome},
        "retrieval": {
            "retriever": "lexical-1",
            "selected": list(shown),
            "expected": len(expected),
            "covered": covered,
        },
        "schemas": SCHEMAS,
    }
    return Task(id="automatic_simple/t1", split="automatic_simple", data=data)


def turn(*calls: tuple[str, str], text: str | None = None, finish: str = "") -> Completion:
    """What a candidate says in one round."""
    made = tuple(ToolCall(id=f"c{i}", name=name, arguments=given) for i, (name, given) in enumerate(calls))
    return Completion(content=text, tool_calls=made, finish=finish or ("tool_calls" if made else "stop"))


def play_turns(
    task: Task, *turns: Completion, rules: str = "compat", **options: Json
) -> tuple[EpisodeEnd, list[ChatRequest], list[Json]]:
    """Play an episode: the end, the requests that were made, and everything else that was asked."""
    context = EpisodeContext(trial=0, seed=1, settings=Settings(rules=rules, options=dict(options)))
    world = make_world(task, context)
    running = play(task, SPECS, context)
    said = list(turns)
    requests: list[ChatRequest] = []
    asked: list[Json] = []
    answer: Any = None
    try:
        while True:
            wish = running.send(answer)
            answer = None
            if isinstance(wish, ChatRequest):
                requests.append(wish)
                answer = said.pop(0) if said else turn(text="Done.")
            elif isinstance(wish, CallRequest):
                assert world is not None
                answer = world.handle(wish)
            elif isinstance(wish, ReadState):
                assert world is not None
                answer = WorldState(state=world.state(), digest="d")
            else:
                asked.append(wish)
    except StopIteration as done:
        end: EpisodeEnd = done.value
        return end, requests, asked
