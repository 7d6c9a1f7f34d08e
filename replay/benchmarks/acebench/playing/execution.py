"""Calls of one agent message, carried out one after another: what the agent sees, and what counts as done.

Owns the official observations of both protocols, mistakes included (spec 3.11): an unknown tool repeats the
result before it, an error ends a multi-turn message with a constant text that arrives letter by letter. The
clean rules give each call a readable result of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from replay.benchmarks.acebench.playing.messages import LineCall
from replay.benchmarks.acebench.records import BENCHMARK
from replay.benchmarks.acebench.world.sandbox import LITERAL
from replay.core.canonical import canonical_bytes
from replay.core.determinism import deterministic_id
from replay.core.errors import CanonicalError
from replay.core.protocols import Answer, Ask, answered, call
from replay.core.types import CallRequest, Json, Provenance, Record, ToolCall, ToolResult

__all__ = ["Executed", "Executor"]

_ERROR: Final = "Error during execution: "
_LETTERS: Final = list(_ERROR + "{str(e)}")
"""Upstream forgot to fill the error in, and walks over the text as if it were a list."""
_UNBOUND: Final = "cannot access local variable 'func_call_result' where it is not associated with a value"
_MAX_JSON_DEPTH: Final = 150


class Executed(Record, frozen=True, kw_only=True):
    """What came of one message."""

    observation: list[Json]
    is_whole: bool
    """True when every call gave a result."""


class Executor:
    """Carries out the messages of one episode."""

    def __init__(self, task: str, trial: int, known: frozenset[str]) -> None:
        """Start before the first call; `known` are the names that the sandbox has."""
        self._task = task
        self._trial = trial
        self._known = known
        self._calls = 0

    def run_turn(self, calls: Sequence[LineCall]) -> Generator[Ask, Answer, Executed]:
        """Carry out a message of the multi-turn protocol."""
        seen: list[Json] = []
        for line in calls:
            result = yield from self._run(line, has_result=bool(seen))
            if result is None:
                seen.append(seen[-1])
            elif result.is_error:
                return Executed(observation=list(_LETTERS), is_whole=False)
            else:
                seen.append(result.body)
        return Executed(observation=seen, is_whole=True)

    def run_step(self, calls: Sequence[LineCall]) -> Generator[Ask, Answer, Executed]:
        """Carry out a message of the multi-step protocol."""
        seen: list[Json] = []
        last: list[Json] = []
        for line in calls:
            result = yield from self._run(line, has_result=bool(last))
            if result is not None and result.is_error:
                seen.append(_ERROR + result.content)
                continue
            last = last if result is None else [result.body]
            seen += last
        return Executed(observation=seen, is_whole=True)

    def run_clean(self, calls: Sequence[LineCall]) -> Generator[Ask, Answer, Executed]:
        """Carry out a message under clean rules: one result or one readable error a call."""
        seen: list[Json] = []
        for line in calls:
            if line.tool in self._known:
                result = yield from call(self._request(line))
            else:
                result = yield from self._refuse(line, f"no tool is called '{line.tool}'")
            seen.append(_ERROR + result.content if result.is_error else result.body)
        return Executed(observation=seen, is_whole=True)

    def _run(self, line: LineCall, *, has_result: bool) -> Generator[Ask, Answer, ToolResult | None]:
        """One call in the official way; None when the result before it is given again."""
        if line.tool not in self._known:
            if has_result:
                return None
            return (yield from self._refuse(line, _UNBOUND))
        if line.fault:
            return (yield from self._refuse(line, line.fault))
        return (yield from call(self._request(line)))

    def _refuse(self, line: LineCall, why: str) -> Generator[Ask, Answer, ToolResult]:
        result = ToolResult(content=why, provenance=Provenance.WORLD, is_error=True)
        return (yield from answered(self._tool_call(line), result))

    def _request(self, line: LineCall) -> CallRequest:
        tool_call = self._tool_call(line)
        arguments = line.arguments if _is_json(line.arguments) else {LITERAL: repr(line.arguments)}
        return CallRequest(benchmark=BENCHMARK, tool=line.tool, arguments=arguments, call=tool_call)

    def _tool_call(self, line: LineCall) -> ToolCall:
        self._calls += 1
        identity = deterministic_id("call", self._task, self._trial, self._calls)
        shown = ", ".join(f"{name}={value!r}" for name, value in line.arguments.items())
        return ToolCall(id=identity, name=line.name, arguments=shown)


def _is_json(arguments: dict[Json, Json]) -> bool:
    """Tell whether a lookup key can be made of the arguments as they are."""
    try:
        canonical_bytes({"arguments": arguments})
    except CanonicalError:
        return False
    return True
