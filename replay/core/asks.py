"""What an episode asks for and what it is answered: the vocabulary of plays written sans IO.

A play is a generator. It yields a wish (a completion, a tool result, the world's state, a line for the
record) and is sent the answer; an evaluation yields questions to a judge in the same way.
"""

from __future__ import annotations

from collections.abc import Generator

from replay.core.errors import InternalError
from replay.core.trajectory import NoteStep
from replay.core.types import (
    CallRequest,
    ChatRequest,
    Completion,
    Json,
    JudgeRequest,
    JudgeVerdict,
    Record,
    ToolCall,
    ToolResult,
    Verdict,
)

__all__ = [
    "Answer",
    "Ask",
    "CallAnswered",
    "EpisodeEnd",
    "EpisodePlay",
    "EvaluationPlay",
    "ReadState",
    "WorldState",
    "answered",
    "ask",
    "call",
    "judge",
    "note",
    "read_state",
]


class CallAnswered(Record, frozen=True, kw_only=True):
    """A call that a calling rule answered without any lookup: recorded as it stands."""

    call: ToolCall
    result: ToolResult


class ReadState(Record, frozen=True, kw_only=True):
    """A wish to see the world's whole state; recorded as a note of its digest, answered by a WorldState."""

    name: str = "state"
    """Name of the recorded note."""


class WorldState(Record, frozen=True, kw_only=True):
    """The whole state of an episode's world at one moment."""

    state: Json
    digest: str
    """Digest of the state under the tag `world-state`."""


Ask = ChatRequest | CallRequest | CallAnswered | NoteStep | ReadState
"""What an episode may ask for. CallAnswered and NoteStep are only recorded; their answer is None."""

Answer = Completion | ToolResult | WorldState | None


class EpisodeEnd(Record, frozen=True, kw_only=True):
    """How an episode came to its own end."""

    stop: str
    """finished, gave-up, step-limit, query-limit, truncated, refused, user-failed (the simulated user said
    nothing usable), or tool-error (upstream's own program would have stopped here; nothing is produced)."""
    outcome: Json
    """What the benchmark's evaluators read."""


EpisodePlay = Generator[Ask, Answer, EpisodeEnd]
EvaluationPlay = Generator[JudgeRequest, JudgeVerdict | None, tuple[Verdict, ...]]


def ask(request: ChatRequest) -> Generator[Ask, Answer, Completion]:
    """Yield a chat request and return its completion."""
    answer = yield request
    if not isinstance(answer, Completion):
        raise InternalError(f"a chat request was answered by {type(answer).__name__}")
    return answer


def call(request: CallRequest) -> Generator[Ask, Answer, ToolResult]:
    """Yield a tool call and return its result as the sources gave it (`body` holds the recorded answer)."""
    answer = yield request
    if not isinstance(answer, ToolResult):
        raise InternalError(f"a tool call was answered by {type(answer).__name__}")
    return answer


def answered(tool_call: ToolCall, result: ToolResult) -> Generator[Ask, Answer, ToolResult]:
    """Record a call that a calling rule has already answered."""
    yield CallAnswered(call=tool_call, result=result)
    return result


def note(name: str, data: Json = None) -> Generator[Ask, Answer, None]:
    """Record a protocol event."""
    yield NoteStep(name=name, data=data)


def read_state(name: str = "state") -> Generator[Ask, Answer, WorldState]:
    """Read the world's whole state and record a note of that name with its digest."""
    answer = yield ReadState(name=name)
    if not isinstance(answer, WorldState):
        raise InternalError(f"a wish for the world's state was answered by {type(answer).__name__}")
    return answer


def judge(request: JudgeRequest) -> Generator[JudgeRequest, JudgeVerdict | None, JudgeVerdict | None]:
    """Yield one question to the judge; None means that no verdict is to be had (a miss)."""
    return (yield request)
