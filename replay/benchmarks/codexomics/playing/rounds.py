"""The rounds protocol: ask with tools, validate and answer each call, nudge, stop (spec section 5).

Owns the loop and the record of an episode. What the mode decides is in `modes`; who answers a valid call is
not known here. Sans IO.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final

from replay.benchmarks.codexomics.naming import tool_key
from replay.benchmarks.codexomics.playing.choices import Choices
from replay.benchmarks.codexomics.playing.guidance import (
    GUIDANCE,
    after_result,
    nudge_text,
    refusal_text,
    rejection_text,
)
from replay.benchmarks.codexomics.records import BENCHMARK, ExpectedCall, read_oracle
from replay.benchmarks.codexomics.schemas import schema_errors
from replay.benchmarks.codexomics.scoring.evidence import parse_arguments
from replay.benchmarks.codexomics.scoring.tables import is_read_only
from replay.benchmarks.codexomics.tasks import TaskData
from replay.core.asks import Answer, Ask, answered, ask, call, note
from replay.core.canonical import canonical_bytes, digest
from replay.core.prompts import Prompt
from replay.core.types import (
    CallRequest,
    ChatRequest,
    Completion,
    Json,
    Message,
    Provenance,
    Role,
    Sampling,
    ToolCall,
    ToolResult,
    ToolSpec,
)

__all__ = ["Rounds", "covered_steps"]

_MAX_CALLS_A_ROUND: Final = 64
"""Calls of one turn that are looked at; a longer turn is a runaway candidate."""


def covered_steps(steps: Sequence[ExpectedCall], tools: Sequence[str]) -> list[bool]:
    """Match each step greedily to a distinct call, by tool name only."""
    left = list(tools)
    covered = []
    for step in steps:
        found = next((tool for tool in left if tool in step.tools), None)
        if found is not None:
            left.remove(found)
        covered.append(found is not None)
    return covered


class Rounds:
    """One episode of rounds."""

    def __init__(self, data: TaskData, specs: Sequence[ToolSpec], choices: Choices, prompt: Prompt) -> None:
        """Prepare the first request."""
        self._data = data
        self._choices = choices
        self._mode = choices.mode
        self._oracle = read_oracle(data.test, keep_repeated_parameters=True)
        self._steps = self._oracle.steps
        self._specs = tuple(specs)
        self._by_key = {tool_key(spec.name): spec for spec in specs}
        self._prompt_digest = digest("codexomics-prompt", [prompt.digest, GUIDANCE])
        self._messages: list[Message] = list(prompt.fill(_fields(data)))
        self._since_change: set[bytes] = set()
        self.calls: list[dict[str, Json]] = []
        self.tokens = [0, 0]
        self.truncated_turns = 0
        self.nudges = 0
        self.rounds = 0
        self.answer = ""
        self.api_error = ""
        self.stop = ""

    @property
    def max_rounds(self) -> int:
        """The budget of this test under its mode."""
        return self._mode.max_rounds(len(self._steps))

    def run(self) -> Generator[Ask, Answer, None]:
        """Run rounds until the mode's stop rule, the budget or the candidate ends them."""
        for number in range(1, self.max_rounds + 1):
            self.rounds = number
            covered = sum(self._covered())
            completion = yield from ask(self._request())
            self._count(completion)
            if completion.finish in ("refused", "error"):
                self.api_error = f"the candidate's turn ended as {completion.finish}"
                self.stop = "refused"
                return
            yield from self._carry_out(completion)
            if self._is_over(completion):
                return
            if number < self.max_rounds and self._wants_nudge(completion, covered):
                yield from self._nudge()
        self.stop = "step-limit"

    def _is_over(self, completion: Completion) -> bool:
        if self._mode.stops_when == "covered" and self._steps and all(self._covered()):
            self.stop = "finished"
        elif not completion.tool_calls and (self.nudges or not self._may_nudge()):
            self.stop = "finished" if self.calls else "gave-up"
        return bool(self.stop)

    def _may_nudge(self) -> bool:
        """Tell whether silence gets one more chance: where steps are left, or before the first call."""
        return not all(self._covered()) if self._mode.nudges_when == "uncovered" else not self.calls

    def _wants_nudge(self, completion: Completion, covered_before: int) -> bool:
        if self._mode.nudges_when == "silent":
            return not completion.tool_calls and not self.calls
        gained = sum(self._covered()) > covered_before
        return not all(self._covered()) and not gained

    def _nudge(self) -> Generator[Ask, Answer, None]:
        self.nudges += 1
        text = nudge_text(self._mode, self._steps, self._covered())
        self._messages.append(Message(role="user", content=text))
        yield from note("nudge", {"round": self.rounds, "kind": self._mode.nudge})

    def _covered(self) -> list[bool]:
        return covered_steps(self._steps, [tool_key(str(item["tool_name"])) for item in self.calls])

    def _request(self) -> ChatRequest:
        return ChatRequest(
            role=Role.CANDIDATE,
            messages=tuple(self._messages),
            tools=self._specs,
            sampling=Sampling(temperature=0.0, max_tokens=self._choices.max_tokens),
            prompt_digest=self._prompt_digest,
        )

    def _count(self, completion: Completion) -> None:
        self.tokens[0] += completion.prompt_tokens
        self.tokens[1] += completion.completion_tokens
        if completion.finish == "length":
            self.truncated_turns += 1
        if completion.content:
            self.answer = completion.content

    def _carry_out(self, completion: Completion) -> Generator[Ask, Answer, None]:
        made = completion.tool_calls[:_MAX_CALLS_A_ROUND]
        self._messages.append(Message(role="assistant", content=completion.content, tool_calls=made))
        for tool_call in made:
            content = yield from self._answer(tool_call)
            self._messages.append(
                Message(role="tool", content=content, tool_call_id=tool_call.id, name=tool_call.name)
            )

    def _answer(self, tool_call: ToolCall) -> Generator[Ask, Answer, str]:
        """Validate one call, refuse it or have it answered, and write it down."""
        key = tool_key(tool_call.name)
        arguments, broken = parse_arguments(tool_call.arguments)
        faults = self._faults(key, arguments, broken=broken)
        entry: dict[str, Json] = {
            "id": tool_call.id,
            "tool_name": tool_call.name,
            "parameters": arguments,
            "schema_valid": not faults,
            "executed": False,
        }
        if broken:
            entry |= {"broken_arguments": True, "arguments_text": tool_call.arguments}
        is_repeat = self._repeats(key, arguments)
        self.calls.append(entry)
        if faults:
            return (yield from self._by_rule(tool_call, entry, rejection_text(key, faults), "rejected"))
        if is_repeat:
            return (yield from self._by_rule(tool_call, entry, refusal_text(key), "refused-repeat"))
        if self._oracle.call_only and any(key in step.tools for step in self._steps):
            entry["callOnly"] = True
            return (yield from self._by_rule(tool_call, entry, '{"callOnly": true}', "call-only"))
        return (yield from self._execute(tool_call, key, arguments, entry))

    def _execute(
        self, tool_call: ToolCall, key: str, arguments: Json, entry: dict[str, Any]
    ) -> Generator[Ask, Answer, str]:
        # A tool that was not offered is still the browser's: the call runs, and the record says so.
        spec = self._by_key.get(key)
        identity = f"{key}@{self._data.registry[:12]}" if spec is None else spec.identity
        if spec is None:
            entry["offered"] = False
        result = yield from call(
            CallRequest(
                benchmark=BENCHMARK,
                tool=identity,
                arguments=arguments,
                call=tool_call,
                spec=spec,
            )
        )
        if not is_read_only(key, with_writers=False):
            self._since_change.clear()
        self._since_change.add(_call_key(key, arguments))
        entry["provenance"] = result.provenance.value
        entry["result"] = result.body if result.body is not None else result.content
        if result.provenance is not Provenance.SIMULATED:
            entry |= {"executed": True, "success": not result.is_error}
        done = [str(item["tool_name"]) for item in self.calls if "result" in item]
        return f"{result.content}\n{after_result(self._mode, done)}"

    def _by_rule(
        self, tool_call: ToolCall, entry: dict[str, Any], text: str, outcome: str
    ) -> Generator[Ask, Answer, str]:
        entry["outcome"] = outcome
        result = ToolResult(content=text, provenance=Provenance.WORLD, is_error=outcome != "call-only")
        yield from answered(tool_call, result)
        return text

    def _faults(self, key: str, arguments: Json, *, broken: bool) -> list[str]:
        if broken and self._choices.strict_arguments:
            return ["the arguments are no JSON object"]
        if key not in self._data.schemas:
            return [f"no tool {key!r} in the registry"]
        return list(schema_errors(self._data.schemas.get(key), arguments))

    def _repeats(self, key: str, arguments: Json) -> bool:
        """Tell whether an equal call was answered before, and the mode refuses it for that."""
        if self._mode.repeats == "unchanged":
            return is_read_only(key, with_writers=False) and _call_key(key, arguments) in self._since_change
        same = [item for item in self.calls if tool_key(str(item["tool_name"])) == key and "result" in item]
        equal = [item for item in same if item["parameters"] == arguments]
        wanted = sum(1 for step in self._steps if key in step.tools)
        return len(equal) >= max(1, wanted)


def _fields(data: TaskData) -> dict[str, str]:
    names = ("file", "chromosome", "start", "end")
    return {
        **{name: str(data.fixture.get(name, "")) for name in names},
        "instruction": str(data.test["instruction"]),
    }


def _call_key(key: str, arguments: Json) -> bytes:
    return key.encode() + b"\n" + canonical_bytes(arguments)
