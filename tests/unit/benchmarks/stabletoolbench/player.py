"""Drives a play by hand: completions from a list, tool answers from a list, everything asked for is kept."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Any

from replay.benchmarks.stabletoolbench.functions import FunctionEntry, build_functions
from replay.benchmarks.stabletoolbench.playing.play import play
from replay.core.protocols import Answer, Ask, CallAnswered, EpisodeContext, EpisodeEnd, Settings
from replay.core.trajectory import NoteStep
from replay.core.types import (
    CallRequest,
    ChatRequest,
    Completion,
    Json,
    Provenance,
    Task,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from tests.unit.benchmarks.stabletoolbench.entries import make_raw_spec

__all__ = [
    "CALL",
    "Played",
    "answer_with",
    "drive",
    "finish",
    "give_up",
    "look",
    "make_context",
    "make_entries",
    "make_task",
    "play_episode",
    "say",
]

CALL = "current_for_weather_desk"
OK_ANSWER: Json = {"error": "", "response": "sunny"}


class Played:
    """What an exercise asked for and how it ended."""

    def __init__(self) -> None:
        """Start with nothing asked."""
        self.chats: list[ChatRequest] = []
        self.calls: list[CallRequest] = []
        self.ruled: list[CallAnswered] = []
        self.notes: list[NoteStep] = []
        self.result: Any = None

    @property
    def end(self) -> EpisodeEnd:
        """The end of an episode."""
        assert isinstance(self.result, EpisodeEnd)
        return self.result

    @property
    def raw(self) -> Json:
        """The raw answer of an episode."""
        return self.end.outcome["raw"]

    def noted(self, name: str) -> list[Json]:
        """Data of all notes of one name."""
        return [note.data for note in self.notes if note.name == name]


def drive(
    play_: Generator[Ask, Answer, Any],
    completions: Sequence[Completion] = (),
    answers: Sequence[Json] = (),
) -> Played:
    """Run a generator to its end; the last tool answer is repeated when the list runs out."""
    played = Played()
    said, told = list(completions), list(answers) or [OK_ANSWER]
    reply: Answer = None
    try:
        while True:
            asked = play_.send(reply)
            reply = None
            if isinstance(asked, ChatRequest):
                played.chats.append(asked)
                reply = said.pop(0)
            elif isinstance(asked, CallRequest):
                played.calls.append(asked)
                reply = answer_with(told.pop(0) if len(told) > 1 else told[0])
            elif isinstance(asked, CallAnswered):
                played.ruled.append(asked)
            else:
                assert isinstance(asked, NoteStep), "this benchmark has no world to read"
                played.notes.append(asked)
    except StopIteration as done:
        played.result = done.value
    assert said == [], "completions nobody asked for"
    return played


def answer_with(body: Json) -> ToolResult:
    """A source's result with this JSON body."""
    return ToolResult(content=json.dumps(body), provenance=Provenance.IMPORTED, body=body)


def say(*calls: tuple[str, str], text: str | None = None, **fields: Any) -> Completion:
    """A completion with text, calls given as (name, arguments), or both."""
    made = tuple(
        ToolCall(id=f"call-{index}", name=name, arguments=arguments)
        for index, (name, arguments) in enumerate(calls)
    )
    return Completion(content=text, tool_calls=made, **fields)


def look(city: str = "Oslo") -> Completion:
    """A completion that calls the weather API."""
    return say((CALL, json.dumps({"city": city})))


def finish(answer: str = "It is sunny.") -> Completion:
    """A completion that gives the answer."""
    return say(("Finish", json.dumps({"return_type": "give_answer", "final_answer": answer})))


def give_up(reason: str = "") -> Completion:
    """A completion that gives up; the reason tells give-ups apart."""
    fields = {"return_type": "give_up_and_restart", **({"reason": reason} if reason else {})}
    return say(("Finish", json.dumps(fields)))


def make_entries(*apis: str, rules: str = "compat") -> tuple[FunctionEntry, ...]:
    """Functions of one tool with these APIs."""
    return build_functions([make_raw_spec(api) for api in apis or ("Current",)], rules=rules)


def make_task(query: str = "How is the weather in Oslo?") -> Task:
    """A task with one question."""
    return Task(id="7", split="G1_instruction", data={"query": query})


def make_context(
    protocol: str = "", rules: str = "compat", *, seed: int = 1, **options: Json
) -> EpisodeContext:
    """What an episode knows of its run."""
    settings = Settings(protocol=protocol, rules=rules, options=options)
    return EpisodeContext(trial=0, seed=seed, settings=settings)


def play_episode(
    context: EpisodeContext,
    completions: Sequence[Completion],
    answers: Sequence[Json] = (),
    *,
    tools: tuple[ToolSpec, ...] = (),
) -> Played:
    """Play the one-question task with the weather API."""
    specs = tools or (make_raw_spec("Current"),)
    return drive(play(make_task(), specs, context), completions, answers)
