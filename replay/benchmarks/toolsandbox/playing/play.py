"""One scenario as an episode: who speaks when, until the user ends it or the bound of messages is reached.

The recipient of the last message speaks next. A role that cannot go on ends the episode by name. Source:
upstream common/scenario.py, roles/ at 165848b.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

import msgspec

from replay.benchmarks.toolsandbox.playing.agent import AgentError, agent_request, read_agent
from replay.benchmarks.toolsandbox.playing.bus import Bus, Entry, make_row
from replay.benchmarks.toolsandbox.records import (
    BENCHMARK,
    Failure,
    Scenario,
    make_outcome,
    read_scenario,
)
from replay.benchmarks.toolsandbox.settings import check_settings
from replay.benchmarks.toolsandbox.tools.catalogue import END_CONVERSATION, TOOLS
from replay.benchmarks.toolsandbox.tools.specs import api_spec, augment, true_name
from replay.benchmarks.toolsandbox.tools.tool import ApiRequest
from replay.benchmarks.toolsandbox.world.console import answer_name
from replay.benchmarks.toolsandbox.world.schema import AGENT, ENVIRONMENT, USER
from replay.benchmarks.toolsandbox.world.world import CONSOLE, Exchange, Said
from replay.benchmarks.users import Persona, user_turn
from replay.core.errors import InputError
from replay.core.protocols import (
    Answer,
    Ask,
    EpisodeContext,
    EpisodeEnd,
    EpisodePlay,
    ask,
    call,
    note,
    read_state,
)
from replay.core.types import CallRequest, Json, Sampling, Task, ToolCall, ToolSpec

__all__ = ["play"]

_PERMISSION: Final = "The assistant may turn services of your device on and off without asking you first."

Turn = Generator[Ask, Answer, str]
"""One turn; gives the name of how the episode ends here, empty to go on."""


def play(task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:
    """Run one scenario.

    Shape:   outcome as `records` describes it; the context is the world's whole state.
    Stops:   finished (the user ended it), step-limit (the bound of messages), agent-fault (the agent's answer
             ended upstream's program; the outcome names the exception), user-failed (unscored).
    """
    episode = _Episode(read_scenario(task), tools, context)
    return (yield from episode.run())


class _Episode:
    """One conversation at work."""

    def __init__(self, scenario: Scenario, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> None:
        settings = check_settings(context.settings)
        self._options: dict[str, Json] = settings.options
        self._strict = settings.rules == "strict"
        self._scenario = scenario
        own = [spec for spec in tools if not TOOLS[true_name(spec)].for_user]
        self._specs = tuple(augment(spec, scenario.augmentations) for spec in own)
        self._names = {shown.name: true_name(spec) for shown, spec in zip(self._specs, own, strict=True)}
        self._bus = Bus(scenario.messages)
        self._limit = len(self._bus) + (self._options["max_messages"] or scenario.max_messages)
        self._unsent: list[Entry] = []
        self._active = True
        self._failure: Failure | None = None
        if not scenario.messages or self._bus.last["sender"] not in (USER, AGENT):
            raise InputError(
                "the seeded messages end without one of the user",
                where=f"scenario {scenario.name}",
                expected="an opening line of the user to the agent",
            )

    def run(self) -> EpisodePlay:
        stop = ""
        while not stop and self._active and len(self._bus) < self._limit:
            stop = yield from self._turn(self._bus.last["recipient"])
        if self._unsent:
            yield from self._send(runs=False)
        state = yield from read_state()
        ended = "step-limit" if self._active else "finished"
        return EpisodeEnd(stop=stop or ended, outcome=make_outcome(state.state, self._failure))

    def _turn(self, role: str) -> Turn:
        if role == AGENT:
            return (yield from self._agent_turn())
        if role == USER:
            return (yield from self._user_turn())
        return (yield from self._environment_turn())

    def _agent_turn(self) -> Turn:
        sampling = self._sampling("")
        completion = yield from ask(agent_request(self._bus, self._specs, sampling))
        try:
            entries = read_agent(completion, self._names, strict=self._strict)
        except AgentError as error:
            self._failure = error.failure
            yield from note("agent-fault", msgspec.to_builtins(error.failure))
            return "agent-fault"
        if completion.tool_calls and completion.content:
            yield from note("text-dropped", {"text": completion.content})
        self._say(entries)
        return ""

    def _user_turn(self) -> Turn:
        demonstrations, spoken = self._bus.user_messages()
        persona = Persona(goal=self._scenario.goal, knowledge=_PERMISSION, demonstrations=demonstrations)
        turn = yield from user_turn(persona, spoken, sampling=self._sampling("user_"))
        if turn.fault:
            yield from note("user-fault", {"fault": turn.fault})
            return "user-failed"
        if turn.has_ended:
            self._say([Entry(row=make_row(USER, ENVIRONMENT, f"{END_CONVERSATION}()"))])
        else:
            self._say([Entry(row=make_row(USER, AGENT, turn.text))])
        return ""

    def _environment_turn(self) -> Turn:
        exchange = yield from self._send(runs=True)
        if exchange.refused:
            self._failure = Failure(type="TooManyOrders", text=exchange.refused)
            yield from note("agent-fault", msgspec.to_builtins(self._failure))
            return "agent-fault"
        self._active = exchange.active
        self._bus.add(Entry(row=row) for row in exchange.replies)
        return ""

    def _say(self, entries: list[Entry]) -> None:
        self._bus.add(entries)
        self._unsent.extend(entries)

    def _send(self, *, runs: bool) -> Generator[Ask, Answer, Exchange]:
        """Give the world what was said, asking the external APIs that the calls want."""
        calls = [entry.call for entry in self._unsent if entry.call is not None]
        rows = tuple(entry.row for entry in self._unsent)
        answers: dict[str, str] = {}
        while True:
            said = Said(rows=rows, runs=runs, answers=answers)
            request = CallRequest(
                benchmark=BENCHMARK,
                tool=CONSOLE,
                arguments=msgspec.to_builtins(said),
                call=_join(calls) if runs else None,
            )
            result = yield from call(request)
            exchange = msgspec.convert(result.body, Exchange)
            if exchange.wanted is None:
                self._unsent.clear()
                return exchange
            wanted = exchange.wanted
            answers[answer_name(wanted.api, wanted.arguments)] = yield from _ask_api(wanted)

    def _sampling(self, prefix: str) -> Sampling:
        return Sampling(
            temperature=self._options[f"{prefix}temperature"],
            max_tokens=self._options[f"{prefix}max_tokens"],
        )


def _ask_api(wanted: ApiRequest) -> Generator[Ask, Answer, str]:
    """Look an answer of an external API up; without one the episode ends here as a miss, unscored."""
    spec = api_spec(wanted.tool, wanted.api, wanted.url, wanted.params)
    request = CallRequest(benchmark=BENCHMARK, tool=wanted.api, arguments=wanted.arguments, spec=spec)
    result = yield from call(request)
    return result.content


def _join(calls: list[ToolCall]) -> ToolCall | None:
    """Record calls made at once as one, each as the model wrote it."""
    if len(calls) <= 1:
        return calls[0] if calls else ToolCall(id="", name=END_CONVERSATION, arguments="{}")
    texts = ", ".join(one.arguments for one in calls)
    return ToolCall(id=calls[0].id, name=", ".join(one.name for one in calls), arguments=f"[{texts}]")
