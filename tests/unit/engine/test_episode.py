"""An episode records every step and ends with a name."""

from __future__ import annotations

import socket

import pytest

from replay.core.canonical import digest
from replay.core.determinism import derive_seed
from replay.core.errors import DamagedError, InternalError, MissError
from replay.core.network import NetworkGuard
from replay.core.protocols import EpisodeEnd, EpisodePlay, answered, ask, call, note, read_state
from replay.core.trajectory import CallStep, NoteStep, Trajectory, make_trajectory
from replay.core.types import CallRequest, ChatRequest, Completion, Json, Provenance, Role, ToolResult
from replay.engine.episode import run_episode
from replay.engine.plan import PlanItem
from replay.tools.keys import KeyRecipe
from replay.tools.misses import MissReporter
from replay.tools.resolver import Resolver
from tests.support.answering import MemoryStore, make_call, make_chat, make_tool_call

ITEM = PlanItem(task="t1", split="all", trial=2, seed=99)


class Tools:
    """Answers every call with a result, or raises."""

    def __init__(self, body: Json = 42, fails: Exception | None = None) -> None:
        self.steps: list[int] = []
        self._body = body
        self._fails = fails

    def answer(self, request: CallRequest, *, step: int) -> ToolResult:
        """Answer or fail."""
        self.steps.append(step)
        if self._fails is not None:
            raise self._fails
        return ToolResult(content="42", body=self._body, provenance=Provenance.RECORDED)


class DialTool:
    """A tool that reaches for the network, as a forgotten adapter would."""

    def answer(self, request: CallRequest, *, step: int) -> ToolResult:
        """Dial out."""
        socket.create_connection(("192.0.2.1", 80), timeout=1)
        raise AssertionError


class Model:
    """Answers with its seed, or raises."""

    identity: Json = "model"

    def __init__(self, fails: Exception | None = None) -> None:
        self.seeds: list[int] = []
        self._fails = fails

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Answer or fail."""
        if self._fails is not None:
            raise self._fails
        self.seeds.append(seed)
        return Completion(content=f"seed {seed}, trial {trial}")


class StateWorld:
    """A world that has a state and no tools."""

    def __init__(self, state: Json) -> None:
        self._state = state

    def handle(self, request: CallRequest) -> ToolResult | None:
        """Pass."""

    def state(self) -> Json:
        """State as given."""
        return self._state


def run(
    play: EpisodePlay,
    *,
    tools: Tools | DialTool | None = None,
    model: Model | None = None,
    world: StateWorld | None = None,
) -> Trajectory:
    """Run a play with one model for candidate and user."""
    answering = model or Model()
    chat = {Role.CANDIDATE: answering, Role.USER: answering}
    return run_episode(play, ITEM, benchmark="demo", chat=chat, tools=tools or Tools(), world=world)


def play_all() -> EpisodePlay:
    """Ask for one of everything."""
    yield from note("start", {"n": 1})
    yield from ask(make_chat())
    yield from call(make_call(call=make_tool_call()))
    yield from answered(make_tool_call("Finish"), ToolResult(content="", provenance=Provenance.WORLD))
    return EpisodeEnd(stop="finished", outcome={"answer": 42})


def play_call(request: CallRequest | None = None) -> EpisodePlay:
    """Make one call."""
    yield from note("start")
    result = yield from call(request or make_call())
    return EpisodeEnd(stop="finished", outcome=result.body)


def play_chat(*roles: Role) -> EpisodePlay:
    """Ask these roles in turn."""
    for role in roles:
        yield from ask(make_chat(role=role))
    return EpisodeEnd(stop="finished", outcome=None)


def play_state() -> EpisodePlay:
    """Read the world's state."""
    found = yield from read_state("end-state")
    return EpisodeEnd(stop="finished", outcome={"state": found.state, "digest": found.digest})


def test_the_state_of_the_world_is_read_and_its_digest_recorded() -> None:
    """The play gets the state; the note holds the digest only."""
    found = run(play_state(), world=StateWorld({"wifi": True}))
    expected = digest("world-state", {"wifi": True})
    assert {"state": {"wifi": True}, "digest": expected} == found.outcome
    assert (NoteStep(name="end-state", data={"digest": expected}),) == found.steps


def test_a_state_that_cannot_be_hashed_ends_the_episode() -> None:
    """NaN has no canonical form: a tool error with a reason."""
    found = run(play_state(), world=StateWorld(float("nan")))
    assert found.stop == "tool-error"
    assert "the world's state cannot be hashed" in found.stop_detail


def test_reading_the_state_without_a_world_is_our_fault() -> None:
    """An internal error that names the task."""
    with pytest.raises(InternalError, match="without a world asked for its state"):
        run(play_state())


def test_steps_are_recorded_in_order_and_chained() -> None:
    """One step for each ask, and the digests that make_trajectory gives."""
    found = run(play_all())
    assert ["NoteStep", "CompletionStep", "CallStep", "CallStep"] == [type(s).__name__ for s in found.steps]
    again = make_trajectory(
        benchmark="demo",
        task="t1",
        split="all",
        trial=2,
        seed=99,
        steps=found.steps,
        stop="finished",
        outcome={"answer": 42},
    )
    assert found == again


def test_two_runs_give_one_root() -> None:
    """The same answers give the same trajectory digest."""
    assert run(play_all()).root == run(play_all()).root


def test_tools_hear_the_step_they_answer_at() -> None:
    """The step is the place of the call in the trajectory."""
    tools = Tools()
    run(play_all(), tools=tools)
    assert [2] == tools.steps


def test_seeds_are_derived_by_role_and_turn() -> None:
    """Each completion has a seed of its own, from names and not from order across roles."""
    model = Model()
    run(play_chat(Role.CANDIDATE, Role.USER, Role.CANDIDATE), model=model)
    expected = [
        derive_seed(99, role, turn) for role, turn in (("candidate", 0), ("user", 0), ("candidate", 1))
    ]
    assert expected == model.seeds


def test_a_call_without_its_text_is_recorded_as_canonical_json() -> None:
    """A benchmark that makes the call itself still leaves a readable record."""
    step = run(play_call(make_call({"b": 1, "a": 2}))).steps[1]
    assert isinstance(step, CallStep)
    assert '{"a":2,"b":1}' == step.call.arguments


@pytest.mark.parametrize(
    ("play", "stop"),
    [
        (play_call(), "tool-miss"),
        (play_chat(Role.CANDIDATE), "candidate-miss"),
        (play_chat(Role.USER), "user-miss"),
    ],
)
def test_a_miss_ends_the_episode_by_name(play: EpisodePlay, stop: str) -> None:
    """Whose answer is missing is the name of the stop; the explanation is one line."""
    miss = MissError("no snapshot for call f()", where="task t1")
    found = run(play, tools=Tools(fails=miss), model=Model(fails=miss))
    assert (stop, "no snapshot for call f() (task t1)", None) == (
        found.stop,
        found.stop_detail,
        found.outcome,
    )


def test_a_miss_leaves_its_report_as_the_last_step() -> None:
    """What a connected site should record is a part of the trajectory."""
    miss = MissError("no snapshot")
    miss.want = {"kind": "api", "tool": "weather/now"}
    assert NoteStep(name="miss", data=miss.want) == run(play_call(), tools=Tools(fails=miss)).steps[-1]


def test_a_failing_tool_ends_its_episode_only() -> None:
    """A tool's own exception becomes a named stop without memory addresses."""
    found = run(play_call(), tools=Tools(fails=ValueError("bad\n<object at 0x7f00deadbeef>")))
    assert ("tool-error", "tool weather/now failed: ValueError: bad <object at 0x...>") == (
        found.stop,
        found.stop_detail,
    )


def test_a_tool_that_dials_out_is_stopped_with_its_line(blocked_network: NetworkGuard) -> None:
    """The guard refuses, the episode is void, the message names the line that tried."""
    found = run(play_call(), tools=DialTool())
    assert "network-blocked" == found.stop
    assert "test_episode.py:DialTool.answer" in found.stop_detail
    assert blocked_network.attempts == 1


def test_damage_ends_the_run() -> None:
    """A corrupt store is not an episode's own end."""
    with pytest.raises(DamagedError, match="digest"):
        run(play_call(), tools=Tools(fails=DamagedError("object does not have its digest")))


def test_arguments_that_make_no_key_are_a_miss() -> None:
    """A lone surrogate cannot be looked up: nothing recorded can ever answer it."""
    tools = Resolver((), KeyRecipe(benchmark="demo"), MissReporter(MemoryStore())).for_episode("t1")
    request = make_call({"q": "\ud800"}, call=make_tool_call())
    found = run_episode(play_call(request), ITEM, benchmark="demo", chat={}, tools=tools)
    assert "tool-miss" == found.stop
    assert "arguments of weather/now cannot be looked up" in found.stop_detail


@pytest.mark.parametrize("body", [float("nan"), "\ud800", {"deep": 1}])
def test_an_answer_that_cannot_be_hashed_ends_its_episode(body: Json) -> None:
    """What the record cannot hold honestly is named; the steps before it are kept."""
    nested = body
    if isinstance(body, dict):
        for _ in range(198):
            nested = [nested]
    found = run(play_call(), tools=Tools(body=nested))
    assert ("tool-error", 1, None) == (found.stop, len(found.steps), found.outcome)
    assert "cannot be hashed" in found.stop_detail


def test_a_task_that_needs_a_user_says_so_when_there_is_none() -> None:
    """It stays unscored and the run goes on."""
    found = run_episode(play_chat(Role.USER), ITEM, benchmark="demo", chat={}, tools=Tools())
    assert (found.stop, found.stop_detail) == (
        "user-miss",
        "the task needs a user, and none was chosen (--user-model)",
    )


def test_a_role_without_a_model_is_our_bug() -> None:
    """Wiring must set up every role that a benchmark asks."""
    with pytest.raises(InternalError, match="nothing was set up to answer as judge"):
        run(play_chat(Role.JUDGE))


def test_a_play_is_closed_when_its_episode_stops() -> None:
    """A generator's own clean-up runs when an answer is not to be had."""
    closed = []

    def play() -> EpisodePlay:
        try:
            yield from call(make_call())
        finally:
            closed.append(True)
        return EpisodeEnd(stop="finished", outcome=None)

    run(play(), tools=Tools(fails=MissError("no snapshot")))
    assert [True] == closed
