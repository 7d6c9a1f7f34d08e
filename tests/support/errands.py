"""A benchmark with two roles: a user wants something booked, an assistant has the tool for it.

Every task has a code that only the user knows; the assistant must ask for it and call `book`. The tool is a
world in process. For tests of the user's side of a conversation, from play to run directory.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import Final

from replay.benchmarks.users import Persona, converse
from replay.core.protocols import (
    Answer,
    Ask,
    EpisodeContext,
    EpisodeEnd,
    EpisodePlay,
    EvaluationPlay,
    KnownDifference,
    Metric,
    Settings,
    Summary,
    World,
    ask,
    call,
)
from replay.core.types import (
    CallRequest,
    ChatRequest,
    Json,
    Message,
    Output,
    Provenance,
    Role,
    Score,
    Task,
    ToolCall,
    ToolResult,
    ToolSpec,
    Verdict,
)

__all__ = ["BOOK", "ErrandBenchmark", "make_errand"]

NAME: Final = "errands"

BOOK: Final = ToolSpec(
    name="book",
    description="Books with a code.",
    parameters={"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
)

_MAX_STEPS: Final = 4


class BookingDesk:
    """Knows one code."""

    def __init__(self, code: str) -> None:
        self._code = code

    def handle(self, request: CallRequest) -> ToolResult | None:
        """Book, or refuse another code."""
        if request.tool != BOOK.name:
            return None
        asked = request.arguments.get("code") if isinstance(request.arguments, dict) else None
        body = {"booked": self._code} if asked == self._code else {"error": f"no code {asked}"}
        text = "booked" if "booked" in body else str(body["error"])
        return ToolResult(content=text, body=body, provenance=Provenance.WORLD)

    def state(self) -> Json:
        """The code; nothing else is known here."""
        return {"code": self._code}


class ErrandBenchmark:
    """Talks, books, and counts what was booked."""

    name = NAME
    metrics: tuple[str, ...] = ("booked",)
    differences: tuple[KnownDifference, ...] = ()
    forms: tuple[str, ...] = ()

    def play(self, task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:
        """Let the two talk until the user ends it; the outcome is what the last booking said."""
        persona = Persona(goal=task.data["goal"], knowledge=task.data["knowledge"], unknown="the price")
        desk: dict[str, Json] = {}
        history: list[Message] = [Message(role="system", content="Help the user.")]

        def reply(said: tuple[Message, ...]) -> Generator[Ask, Answer, str | None]:
            history.append(said[-1])
            answer = yield from _reply(history, desk)
            return answer

        talk = yield from converse(persona, reply, max_turns=task.data.get("max_turns", 5))
        stop = {"ended": "finished", "turn-limit": "step-limit"}.get(talk.stop, talk.stop)
        spoken = [[message.role, message.content] for message in talk.messages]
        outcome = {"booked": desk.get("booked"), "said": spoken, "fault": talk.fault}
        return EpisodeEnd(stop=stop, outcome=outcome)

    def make_world(self, task: Task, context: EpisodeContext) -> World | None:
        """The desk of this task."""
        return BookingDesk(task.data["code"])

    def check_settings(self, settings: Settings) -> Settings:
        """Everything goes."""
        return settings

    def read_outputs(self, path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
        """Nothing to read."""
        return ()

    def write_outputs(
        self, outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str, *, candidate: str = ""
    ) -> tuple[Path, ...]:
        """Nothing to write."""
        return ()

    def outcome_of(self, output: Output, task: Task) -> Json:
        """An output is an outcome."""
        return output.data

    def evaluate(
        self, task: Task, outcome: Json, *, trial: int, settings: Settings, reference: Json
    ) -> EvaluationPlay:
        """1 when the task's own code was booked. Asks no judge."""
        yield from ()
        score = Score(value=float(outcome["booked"] == task.data["code"]))
        return (_verdict(task, trial, score),)

    def unscored(self, task: Task, *, trial: int, reason: str) -> tuple[Verdict, ...]:
        """Say why."""
        return (_verdict(task, trial, Score(value=None, unscored=reason)),)

    def summarize(self, plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
        """Share of the plan that was booked."""
        planned = len(list(plan))
        values = [verdict.strict.value for verdict in verdicts if verdict.strict.value is not None]
        metric = Metric(value=sum(values) / planned, n=len(values), planned=planned)
        return Summary(compat={"booked": metric}, strict={"booked": metric})


def make_errand(number: int = 0, **changes: Json) -> Task:
    """Build a task."""
    code = f"K{number}"
    data = {"goal": "Book my table.", "code": code, "knowledge": f"The code is {code}.", **changes}
    return Task(id=f"e{number}", split="all", data=data)


def _reply(history: list[Message], desk: dict[str, Json]) -> Generator[Ask, Answer, str | None]:
    """The assistant's turn: calls until it speaks, at most a few."""
    for _ in range(_MAX_STEPS):
        request = ChatRequest(role=Role.CANDIDATE, messages=tuple(history), tools=(BOOK,))
        completion = yield from ask(request)
        if not completion.tool_calls:
            history.append(Message(role="assistant", content=completion.content))
            return completion.content
        history.append(
            Message(role="assistant", content=completion.content, tool_calls=completion.tool_calls)
        )
        for tool_call in completion.tool_calls:
            result = yield from _book(tool_call)
            desk.update(result.body)
            history.append(Message(role="tool", content=result.content, tool_call_id=tool_call.id))
    return None


def _book(tool_call: ToolCall) -> Generator[Ask, Answer, ToolResult]:
    code = tool_call.arguments.removeprefix('{"code": "').removesuffix('"}')
    request = CallRequest(
        benchmark=NAME, tool=tool_call.name, arguments={"code": code}, call=tool_call, spec=BOOK
    )
    return (yield from call(request))


def _verdict(task: Task, trial: int, score: Score) -> Verdict:
    return Verdict(task=task.id, trial=trial, split=task.split, metric="booked", compat=score, strict=score)
