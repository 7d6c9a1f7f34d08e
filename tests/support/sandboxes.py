"""Builders for ToolSandbox: a small scenario, a world, and an episode with scripted roles."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from replay.benchmarks.toolsandbox.playing.play import play
from replay.benchmarks.toolsandbox.records import BENCHMARK, Scenario, read_scenario
from replay.benchmarks.toolsandbox.tools.catalogue import TOOLS
from replay.benchmarks.toolsandbox.tools.specs import make_spec
from replay.benchmarks.toolsandbox.tools.web import APIS
from replay.benchmarks.toolsandbox.world.snippets import write_snippet
from replay.benchmarks.toolsandbox.world.world import Exchange, Said, SandboxWorld
from replay.core.errors import MissError
from replay.core.protocols import EpisodeContext, Settings
from replay.core.trajectory import Trajectory
from replay.core.types import CallRequest, Json, Provenance, Role, Task, ToolResult
from replay.engine.episode import run_episode
from replay.engine.plan import PlanItem
from replay.llm.scripted import Script, ScriptedCall, ScriptedCandidate, ScriptedTurn

NOW = "2024-06-14T12:00:00Z"
NOW_S = 1718366400.0

Call = tuple[str, Json]


def make_scenario(**changes: Json) -> Scenario:
    """A phone with one self, one friend and one reminder; the user asks for something."""
    setting = {"device_id": "phone", "cellular": True, "wifi": True, "location_service": True}
    here = {"low_battery_mode": False, "latitude": 37.0, "longitude": -122.0}
    tables = {
        "SETTING": ({**setting, **here, **changes.pop("setting", {})},),
        "CONTACT": (make_contact("me", "Ada Self", is_self=True), make_contact("bob", "Bob Friend")),
        "MESSAGING": (),
        "REMINDER": ({"reminder_id": "r1", "content": "Water plants", "reminder_timestamp": NOW_S + 60.0},),
    }
    fields = {
        "name": "errand",
        "base": "errand",
        "categories": ("SINGLE_TOOL_CALL",),
        "now": NOW,
        "tables": tables,
        "goal": "Get it done.",
        "messages": (
            {"sender": "SYSTEM", "recipient": "AGENT", "content": "Help."},
            {"sender": "USER", "recipient": "AGENT", "content": "Please help"},
        ),
        "tools": tuple(TOOLS),
    }
    return Scenario(**{**fields, **changes})


def make_contact(person: str, name: str, *, is_self: bool = False) -> dict[str, Json]:
    """One row of the contact book."""
    relation = "self" if is_self else "friend"
    row = {"person_id": person, "name": name, "phone_number": "+12453344098", "relationship": relation}
    return {**row, "is_self": is_self}


def rows_of(*calls: Call) -> tuple[dict[str, Json], ...]:
    """Messages in which the agent makes calls at once."""
    return tuple(
        {
            "sender": "AGENT",
            "recipient": "EXECUTION_ENVIRONMENT",
            "content": write_snippet(f"call_{number}", name, repr(arguments)),
            "openai_tool_call_id": f"call_{number}",
            "openai_function_name": name,
        }
        for number, (name, arguments) in enumerate(calls)
    )


def run_calls(*calls: Call, world: SandboxWorld | None = None, **setting: Json) -> Exchange:
    """Make calls at once in a fresh world, or in the given one."""
    world = world or SandboxWorld(make_scenario(setting=setting))
    return world.exchange(Said(rows=rows_of(*calls)))


def reply_to(name: str, arguments: Json, **setting: Json) -> str:
    """What the environment says to one call in a fresh world."""
    exchange = run_calls((name, arguments), **setting)
    return str(exchange.replies[0]["content"])


class FixtureTools:
    """Answers the console from a world and external APIs from fixtures; keeps what was asked."""

    def __init__(self, world: SandboxWorld, fixtures: Sequence[Mapping[str, Json]] = ()) -> None:
        """Take fixtures as {"url_contains", "response"}."""
        self._world = world
        self._fixtures = fixtures
        self.asked: list[dict[str, Json]] = []

    def answer(self, request: CallRequest, *, step: int) -> ToolResult:
        """Answer, or miss."""
        result = self._world.handle(request)
        if result is not None:
            return result
        url = next(url for api, url in APIS.values() if api == request.tool)
        spec: Json = request.spec
        self.asked.append({"url": url, "params": spec.extra["params"]})
        for fixture in self._fixtures:
            if fixture["url_contains"] in url:
                text = json.dumps(fixture["response"])
                return ToolResult(content=text, provenance=Provenance.SCRIPTED)
        raise MissError(f"no recorded answer of {request.tool}")


def make_task(scenario: Scenario) -> Task:
    """A task of a scenario, without tool digests."""
    return Task(id=scenario.name, split="NO_DISTRACTION_TOOLS", data=msgspec.to_builtins(scenario))


def play_scripted(
    task: Task,
    agent: Sequence[Json],
    user: Sequence[Json] = ({"end": True},),
    *,
    fixtures: Sequence[Mapping[str, Json]] = (),
    rules: str = "compat",
) -> tuple[Trajectory, FixtureTools]:
    """Play a scenario with scripted roles: turns are {"calls": [...]}, {"say": TEXT} or {"end": true}."""
    scenario = read_scenario(task)
    world = SandboxWorld(scenario)
    tools = FixtureTools(world, fixtures)
    scripts = (
        Script(task=task.id, role=Role.CANDIDATE, turns=tuple(_turn(turn) for turn in agent)),
        Script(task=task.id, role=Role.USER, turns=tuple(_turn(turn) for turn in user)),
    )
    model = ScriptedCandidate(scripts).for_episode(task.id, trial=0)
    item = PlanItem(task=task.id, split=task.split, trial=0, seed=1)
    context = EpisodeContext(trial=0, seed=1, settings=Settings(rules=rules))
    specs = tuple(make_spec(TOOLS[name]) for name in scenario.tools)
    trajectory = run_episode(
        play(task, specs, context),
        item,
        benchmark=BENCHMARK,
        chat={Role.CANDIDATE: model, Role.USER: model},
        tools=tools,
        world=world,
    )
    return trajectory, tools


def _turn(turn: Json) -> ScriptedTurn:
    if "calls" in turn:
        calls = tuple(ScriptedCall(name=c["name"], arguments=c["arguments"]) for c in turn["calls"])
        return ScriptedTurn(content=turn.get("beside"), tool_calls=calls)
    if turn.get("end"):
        return ScriptedTurn(tool_calls=(ScriptedCall(name="end_conversation", arguments={}),))
    return ScriptedTurn(content=turn["say"])
