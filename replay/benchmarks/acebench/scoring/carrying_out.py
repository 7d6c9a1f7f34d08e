"""An agent's messages carried out in the sandbox without a dialogue: what a line of messages comes to.

Owns nothing but the loop: reading, execution and state are those of an official episode.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.benchmarks.acebench.playing.dialogues import NUDGE
from replay.benchmarks.acebench.playing.execution import Executed, Executor
from replay.benchmarks.acebench.playing.messages import is_for_execution, read_calls
from replay.benchmarks.acebench.records import read_task
from replay.benchmarks.acebench.world.sandbox import Sandbox, tool_names
from replay.core.protocols import Answer, Ask
from replay.core.types import CallRequest, Json, Record, Task

__all__ = ["Carried", "carry_out"]

_TO_USER: Final = "routed_to"


class Carried(Record, frozen=True, kw_only=True):
    """What the sandbox showed and kept."""

    observations: list[Json]
    """One entry a message: what was seen, or whom the message was for instead."""
    result: Json
    process: list[str]
    """Messages that went to execution."""


def carry_out(task: Task, messages: Sequence[str]) -> Carried:
    """Hand messages to the official execution, one after another, from the task's start."""
    record = read_task(task)
    world = Sandbox(record.language, record.involved_classes, record.initial_config)
    executor = Executor(task.id, 0, tool_names(record.language, record.involved_classes, clean=False))
    is_turn = record.category == "agent_multi_turn"
    observations: list[Json] = []
    process: list[str] = []
    has_executed = False
    for message in messages:
        if is_turn and not is_for_execution(message):
            observations.append({_TO_USER: "user"})
            continue
        process.append(message)
        try:
            calls = read_calls(message)
        except LiteralError:
            observations.append(NUDGE)
            continue
        done = _drive(executor.run_turn(calls) if is_turn else executor.run_step(calls), world)
        has_executed = has_executed or done.is_whole
        observations.append(done.observation)
    result = world.state()["saved"] if has_executed else []
    return Carried(observations=observations, result=result, process=process)


def _drive(play: Generator[Ask, Answer, Executed], world: Sandbox) -> Executed:
    """Answer what an execution asks from the sandbox."""
    answer: Answer = None
    try:
        while True:
            wish = play.send(answer)
            answer = world.handle(wish) if isinstance(wish, CallRequest) else None
    except StopIteration as done:
        ended: Executed = done.value
        return ended
