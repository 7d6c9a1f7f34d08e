"""A scenario played with fixed answers, without an engine: for single cases and for checking scripts.

Drives the same play against the same world; what comes from outside (the agent's and the user's turns, API
answers) is given as data. Nothing is recorded and nothing is looked up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replay.benchmarks.toolsandbox.playing.play import play
from replay.benchmarks.toolsandbox.records import read_scenario
from replay.benchmarks.toolsandbox.tools.catalogue import TOOLS
from replay.benchmarks.toolsandbox.tools.specs import make_spec
from replay.benchmarks.toolsandbox.world.world import SandboxWorld
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.protocols import Answer, Ask, EpisodeContext, EpisodeEnd, ReadState, Settings, WorldState
from replay.core.types import (
    CallRequest,
    ChatRequest,
    Completion,
    Json,
    Provenance,
    Record,
    Role,
    Task,
    ToolCall,
    ToolResult,
)

__all__ = ["Rehearsal", "rehearse"]

_END: Final = ToolCall(id="end", name="end_conversation", arguments="{}")


class Rehearsal(Record, frozen=True, kw_only=True):
    """What came of it."""

    end: EpisodeEnd
    api_requests: tuple[dict[str, Json], ...]
    """Requests to external APIs in order, as {"url", "params"}."""


def rehearse(
    task: Task,
    *,
    agent: Sequence[Json],
    user: Sequence[Json],
    fixtures: Sequence[Mapping[str, Json]] = (),
    rules: str = "compat",
) -> Rehearsal:
    """Play a scenario with turns {"calls": [{"name", "arguments"}]}, {"say": TEXT} or {"end": true}.

    fixtures: {"url_contains", "response"}; the first whose text is in the address answers.
    Errors:   InputError when a turn has none of these forms, when a role has no turn left, or when no fixture
              answers a request.
    """
    scenario = read_scenario(task)
    stage = _Stage(SandboxWorld(scenario), _turns(agent), _turns(user), fixtures)
    context = EpisodeContext(trial=0, seed=1, settings=Settings(rules=rules))
    episode = play(task, tuple(make_spec(TOOLS[name]) for name in scenario.tools), context)
    answer: Answer = None
    try:
        while True:
            answer = stage.answer(episode.send(answer))
    except StopIteration as done:
        return Rehearsal(end=done.value, api_requests=tuple(stage.asked))
    finally:
        episode.close()


class _Stage:
    """Answers every wish of the play."""

    def __init__(
        self,
        world: SandboxWorld,
        agent: Iterator[Completion],
        user: Iterator[Completion],
        fixtures: Sequence[Mapping[str, Json]],
    ) -> None:
        self._world = world
        self._turns = {Role.CANDIDATE: agent, Role.USER: user}
        self._fixtures = fixtures
        self.asked: list[dict[str, Json]] = []

    def answer(self, wish: Ask) -> Answer:
        if isinstance(wish, ChatRequest):
            turn = next(self._turns[wish.role], None)
            if turn is None:
                raise InputError(f"the script of the {wish.role} has no turn left", expected="one more turn")
            return turn
        if isinstance(wish, CallRequest):
            return self._world.handle(wish) or self._ask_api(wish)
        if isinstance(wish, ReadState):
            state = self._world.state()
            return WorldState(state=state, digest=digest("world-state", state))
        return None

    def _ask_api(self, request: CallRequest) -> ToolResult:
        sent = request.spec.extra if request.spec is not None else {}
        self.asked.append({"url": sent["url"], "params": sent["params"]})
        for fixture in self._fixtures:
            if fixture["url_contains"] in sent["url"]:
                return ToolResult(content=json.dumps(fixture["response"]), provenance=Provenance.SCRIPTED)
        raise InputError(f"no fixture answers {sent['url']}", expected="an entry of api_fixtures")


def _turns(script: Sequence[Json]) -> Iterator[Completion]:
    for number, turn in enumerate(script):
        if not isinstance(turn, dict) or not turn.keys() & {"calls", "say", "end"}:
            raise InputError(f"turn {number} of a script", expected="calls, say or end")
        if turn.get("end"):
            yield Completion(tool_calls=(_END,), provenance=Provenance.SCRIPTED)
        elif "calls" in turn:
            calls = tuple(
                ToolCall(
                    id=str(call.get("id", f"call_{number}_{place}")),
                    name=call["name"],
                    arguments=_text(call.get("arguments", {})),
                )
                for place, call in enumerate(turn["calls"])
            )
            yield Completion(tool_calls=calls, provenance=Provenance.SCRIPTED)
        else:
            yield Completion(content=turn["say"], provenance=Provenance.SCRIPTED)


def _text(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
