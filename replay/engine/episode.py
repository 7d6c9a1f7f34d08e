"""Drives one episode: hands a benchmark's play the answers it asks for and writes every step down.

The engine decides nothing about the benchmark and nothing about who answers. What it owns is the record
(steps in order, chained digests) and how an episode ends when an answer is not to be had: it stops with a
name and one line of explanation, is left unscored, and the run goes on. Damaged data is no such end: it
stops the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from replay.core.canonical import canonical_bytes, digest
from replay.core.determinism import derive_seed, deterministic_id
from replay.core.errors import CanonicalError, InternalError, MissError, NetworkBlockedError, ReplayError
from replay.core.protocols import (
    Answer,
    Ask,
    CallAnswered,
    ChatModel,
    EpisodePlay,
    EpisodeTools,
    ReadState,
    World,
    WorldState,
)
from replay.core.trajectory import CallStep, CompletionStep, NoteStep, Step, Trajectory, make_trajectory
from replay.core.types import CallRequest, ChatRequest, Completion, Json, Role, ToolCall, ToolResult
from replay.engine.plan import PlanItem

__all__ = ["MISS_NOTE", "UNSCORED_STOPS", "run_episode"]

UNSCORED_STOPS: Final = frozenset(
    {"tool-miss", "candidate-miss", "user-miss", "user-failed", "network-blocked", "tool-error"}
)
"""Stops after which there is nothing to score; each is also the reason that verdicts give."""

MISS_NOTE: Final = "miss"
"""Name of the last step of an episode that ended with a miss; its data is the report as JSON."""

_MAX_DETAIL: Final = 2_000

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{4,}")


def run_episode(
    play: EpisodePlay,
    item: PlanItem,
    *,
    benchmark: str,
    chat: Mapping[Role, ChatModel],
    tools: EpisodeTools,
    world: World | None = None,
) -> Trajectory:
    """Run a play to its end and return the finished trajectory.

    world:   whose state the play may read; its calls are answered through `tools`.
    Seeds:   each completion gets the seed derived from the item's seed, its role and its turn in that role.
    Errors:  whatever damaged stores and broken models raise; misses, refused network and failing tools end
             the episode instead (see UNSCORED_STOPS).
    """
    recorder = _Recorder(item, chat, tools, world)
    answer: Answer = None
    try:
        while True:
            answer = recorder.answer(play.send(answer))
    except StopIteration as done:
        end = done.value
        return recorder.close(benchmark, stop=end.stop, outcome=end.outcome)
    except _StoppedError as stopped:
        return recorder.close(benchmark, stop=stopped.stop, detail=stopped.detail)
    finally:
        play.close()


class _StoppedError(Exception):
    """An answer is not to be had; carries how the episode ends."""

    def __init__(self, stop: str, detail: str) -> None:
        super().__init__(stop, detail)
        self.stop = stop
        self.detail = _one_line(detail)


class _Recorder:
    """Answers asks and keeps the steps of one episode."""

    def __init__(
        self, item: PlanItem, chat: Mapping[Role, ChatModel], tools: EpisodeTools, world: World | None
    ) -> None:
        self._item = item
        self._world = world
        self._chat = chat
        self._tools = tools
        self._steps: list[Step] = []
        self._turns: dict[Role, int] = {}

    def answer(self, ask: Ask) -> Answer:
        if isinstance(ask, ChatRequest):
            return self._complete(ask)
        if isinstance(ask, CallRequest):
            return self._call(ask)
        if isinstance(ask, ReadState):
            return self._read_state(ask)
        if isinstance(ask, CallAnswered):
            self._steps.append(CallStep(call=ask.call, tool="", result=ask.result))
        else:
            self._steps.append(ask)
        return None

    def close(self, benchmark: str, *, stop: str, detail: str = "", outcome: Json = None) -> Trajectory:
        try:
            trajectory = self._make(benchmark, stop, detail, outcome)
            canonical_bytes(msgspec.to_builtins(trajectory))
        except CanonicalError as error:
            # An answer too deeply nested, or a text that is no Unicode: the record keeps what can be hashed.
            self._steps = self._honest_steps()
            what = f"the record of this episode cannot be hashed: {error}"
            return self._make(benchmark, "tool-error", _one_line(what), None)
        return trajectory

    def _make(self, benchmark: str, stop: str, detail: str, outcome: Json) -> Trajectory:
        return make_trajectory(
            benchmark=benchmark,
            task=self._item.task,
            split=self._item.split,
            trial=self._item.trial,
            seed=self._item.seed,
            steps=tuple(self._steps),
            stop=stop,
            stop_detail=detail,
            outcome=outcome,
        )

    def _honest_steps(self) -> list[Step]:
        kept: list[Step] = []
        for step in self._steps:
            try:
                # As deep as it lies in the line of the trajectory: a record, a list, a step.
                canonical_bytes({"steps": [msgspec.to_builtins(step)]})
            except CanonicalError:
                break
            kept.append(step)
        return kept

    def _complete(self, request: ChatRequest) -> Completion:
        model = self._chat.get(request.role)
        if model is None and request.role is Role.USER:
            # Only some tasks of a benchmark may need one: the others are still played.
            raise _StoppedError("user-miss", "the task needs a user, and none was chosen (--user-model)")
        if model is None:
            raise InternalError(
                f"nothing was set up to answer as {request.role}",
                where=f"task {self._item.task}",
                expected=f"one of {', '.join(sorted(self._chat))}",
            )
        turn = self._turns.get(request.role, 0)
        seed = derive_seed(self._item.seed, request.role.value, turn)
        stop = "user-miss" if request.role is Role.USER else "candidate-miss"
        try:
            completion = model.complete(request, seed=seed, trial=self._item.trial)
        except MissError as error:
            raise self._missed(stop, error) from None
        except NetworkBlockedError as error:
            raise _StoppedError("network-blocked", str(error)) from None
        self._turns[request.role] = turn + 1
        request_digest = digest("chat-request", msgspec.to_builtins(request))
        step = CompletionStep(role=request.role, request_digest=request_digest, completion=completion)
        self._steps.append(step)
        return completion

    def _call(self, request: CallRequest) -> ToolResult:
        try:
            result = self._tools.answer(request, step=len(self._steps))
        except MissError as error:
            raise self._missed("tool-miss", error) from None
        except CanonicalError as error:
            # No key can be made of such arguments, so nothing recorded can ever answer them.
            detail = f"arguments of {request.tool} cannot be looked up: {error}"
            raise _StoppedError("tool-miss", detail) from None
        except NetworkBlockedError as error:
            raise _StoppedError("network-blocked", str(error)) from None
        except ReplayError:
            raise
        except Exception as error:  # noqa: BLE001  the tool boundary: a tool's own failure ends its episode only
            raise _StoppedError("tool-error", f"tool {request.tool} failed: {_describe(error)}") from None
        call = request.call or self._make_call(request)
        self._steps.append(CallStep(call=call, tool=request.tool, result=result))
        return result

    def _read_state(self, wish: ReadState) -> WorldState:
        if self._world is None:
            raise InternalError(
                "an episode without a world asked for its state", where=f"task {self._item.task}"
            )
        state = self._world.state()
        try:
            state_digest = digest("world-state", state)
        except CanonicalError as error:
            raise _StoppedError("tool-error", f"the world's state cannot be hashed: {error}") from None
        self._steps.append(NoteStep(name=wish.name, data={"digest": state_digest}))
        return WorldState(state=state, digest=state_digest)

    def _missed(self, stop: str, error: MissError) -> _StoppedError:
        if error.want is not None:
            self._steps.append(NoteStep(name=MISS_NOTE, data=error.want))
        return _StoppedError(stop, str(error))

    def _make_call(self, request: CallRequest) -> ToolCall:
        text = canonical_bytes(request.arguments).decode()
        name = request.spec.name if request.spec is not None else request.tool
        identity = deterministic_id("call", self._item.task, self._item.trial, len(self._steps))
        return ToolCall(id=identity, name=name, arguments=text)


def _describe(error: Exception) -> str:
    # Memory addresses differ from process to process and must not reach hashed files.
    return _ADDRESS.sub("0x...", f"{type(error).__name__}: {error}")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_DETAIL else f"{line[:_MAX_DETAIL]}..."
