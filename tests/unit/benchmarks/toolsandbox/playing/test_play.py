"""Conversations: who speaks when, who sees what, how they end, and what bad answers become."""

from __future__ import annotations

import pytest

from replay.benchmarks.toolsandbox.playing.bus import Bus, Entry
from replay.benchmarks.toolsandbox.playing.play import play
from replay.benchmarks.toolsandbox.playing.rehearsal import rehearse
from replay.benchmarks.toolsandbox.records import read_ending
from replay.benchmarks.toolsandbox.world.schema import AGENT, USER
from replay.core.errors import InputError
from replay.core.protocols import EpisodeContext, Settings
from replay.core.trajectory import CallStep, NoteStep, Trajectory
from replay.core.types import Json, Message, ToolCall
from tests.support.sandboxes import make_scenario, make_task, play_scripted

WIFI_OFF = {"calls": [{"name": "set_wifi_status", "arguments": {"on": False}}]}
END = {"end": True}


def messages_of(trajectory: Trajectory) -> list[tuple[str, str, str]]:
    """Sender, recipient and text of what was said after the seeded messages."""
    rows = read_ending(trajectory.outcome, where="test").tables.messages()[2:]
    return [(row["sender"], row["recipient"], row["content"]) for row in rows]


def play_turns(agent: list[Json], user: tuple[Json, ...] = (END,), **options: Json) -> Trajectory:
    """Play the small scenario."""
    return play_scripted(make_task(make_scenario()), agent, user, **options)[0]


def test_user_ends_the_conversation() -> None:
    """A call, its reply, a sentence, the end."""
    trajectory = play_turns([WIFI_OFF, {"say": "Done."}])
    texts = [text.split("\n")[-1] for *_, text in messages_of(trajectory)]
    assert "finished" == trajectory.stop
    assert ["None", "Done.", "end_conversation()", ""] == texts[1:]


def test_bound_of_messages_ends_it() -> None:
    """Thirty messages after the seeded ones are enough."""
    trajectory = play_turns([{"say": "Hm?"}] * 20, ({"say": "Go on."},) * 20)
    assert ("step-limit", 30) == (trajectory.stop, len(messages_of(trajectory)))


def test_batch_may_overshoot_and_is_not_answered_then() -> None:
    """The bound is looked at before each turn: calls beyond it stay without replies."""
    agent = [{"say": "Hm?"}] * 14 + [{"calls": WIFI_OFF["calls"] * 5}]
    trajectory = play_turns(agent, ({"say": "Go on."},) * 20)
    said = messages_of(trajectory)
    assert ("step-limit", 33) == (trajectory.stop, len(said))
    assert {("AGENT", "EXECUTION_ENVIRONMENT")} == {(sender, recipient) for sender, recipient, _ in said[-5:]}


def test_steps_hold_calls_as_the_model_wrote_them() -> None:
    """The record keeps the model's own argument text; the world answered."""
    agent = [{"calls": [{"name": "set_wifi_status", "arguments": '{"on" : false}'}]}, {"say": "Done."}]
    trajectory = play_turns(agent)
    call = next(step for step in trajectory.steps if isinstance(step, CallStep))
    assert ('{"on" : false}', "world") == (call.call.arguments, call.result.provenance)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ({"name": "fly", "arguments": {}}, "KeyError"),
        ({"name": "end_conversation", "arguments": {}}, "KeyError"),
        ({"name": "set_wifi_status", "arguments": '{"on": fal'}, "JSONDecodeError"),
        ({"name": "set_wifi_status", "arguments": ""}, "JSONDecodeError"),
    ],
)
def test_calls_that_end_upstreams_program(call: Json, kind: str) -> None:
    """An unknown tool and malformed arguments end the episode by name, and are scored as upstream scores."""
    trajectory = play_turns([{"calls": [call]}])
    ending = read_ending(trajectory.outcome, where="test")
    assert "agent-fault" == trajectory.stop
    assert ending.exception is not None
    assert kind == ending.exception.type


def test_strict_rules_reply_to_bad_calls() -> None:
    """Strictly, the environment's error is the answer and the agent may go on."""
    agent = [
        {"calls": [{"name": "fly", "arguments": {}}]},
        {"calls": [{"name": "set_wifi_status", "arguments": '{"on": fal'}]},
        WIFI_OFF,
        {"say": "Done."},
    ]
    said = messages_of(play_turns(agent, rules="strict"))
    assert "NameError: name 'fly' is not defined" == said[1][2]
    assert "SyntaxError: invalid syntax" == said[3][2].strip().splitlines()[-1]
    assert "None" == said[5][2]


def test_dashes_in_an_id_fail_the_call_officially_only() -> None:
    """Upstream takes the provider's id for a Python name; strict rules make one of it."""
    agent = [{"calls": [{"id": "call-1", **WIFI_OFF["calls"][0]}]}, {"say": "Done."}]
    task = make_task(make_scenario())
    compat = rehearse(task, agent=agent, user=[END]).end.outcome
    strict = rehearse(task, agent=agent, user=[END], rules="strict").end.outcome
    replies = [
        read_ending(outcome, where="t").tables.messages()[3]["content"] for outcome in (compat, strict)
    ]
    assert (True, "None") == ("SyntaxError" in replies[0], replies[1])


def test_missing_answer_is_a_miss_not_a_reply() -> None:
    """A question that was never recorded ends the episode unscored; the agent reads nothing."""
    trajectory = play_turns([{"calls": [{"name": "search_stock", "arguments": {"query": "Acme"}}]}])
    assert ("tool-miss", None) == (trajectory.stop, trajectory.outcome)
    assert "real-time-finance-data/search@1" in trajectory.stop_detail


def test_user_that_says_nothing_is_no_fault_of_the_agent() -> None:
    """The episode ends unscored, by name."""
    assert "user-failed" == play_turns([{"say": "Hm?"}], ({"say": " "},)).stop


def test_text_beside_calls_is_dropped_and_noted() -> None:
    """Upstream drops it; the record says so."""
    trajectory = play_turns([{**WIFI_OFF, "beside": "I turn it off"}, {"say": "Done."}])
    notes = [
        step.data for step in trajectory.steps if isinstance(step, NoteStep) and step.name == "text-dropped"
    ]
    assert [{"text": "I turn it off"}] == notes
    assert all("I turn it off" not in text for *_, text in messages_of(trajectory))


def test_agent_sees_neither_goal_nor_demonstrations() -> None:
    """Each role sees what names it, and what was between others stays there."""
    rows: list[Json] = [
        {"sender": "SYSTEM", "recipient": AGENT, "content": "help", "visible_to": None},
        {"sender": USER, "recipient": AGENT, "content": "demo", "visible_to": [USER]},
        {"sender": AGENT, "recipient": USER, "content": "demo answer", "visible_to": [USER]},
        {"sender": "SYSTEM", "recipient": USER, "content": "goal", "visible_to": None},
        {"sender": USER, "recipient": AGENT, "content": "hello", "visible_to": None},
    ]
    bus = Bus(rows)
    assert ["help", "hello"] == [message.content for message in bus.agent_messages()]
    shown, own = bus.user_messages()
    assert (["demo", "demo answer"], ["hello"]) == ([m.content for m in shown], [m.content for m in own])


def test_calls_made_at_once_are_one_message() -> None:
    """The agent's model reads its own batch as it said it, and one reply a call."""
    call = {"sender": AGENT, "recipient": "EXECUTION_ENVIRONMENT", "content": "x", "visible_to": None}
    reply = {"sender": "EXECUTION_ENVIRONMENT", "recipient": AGENT, "content": "None", "visible_to": None}
    calls = [ToolCall(id=name, name="f", arguments="{}") for name in "ab"]
    bus = Bus([])
    bus.add(Entry(row=call, call=one) for one in calls)
    bus.add(Entry(row={**reply, "openai_tool_call_id": one.id, "openai_function_name": "f"}) for one in calls)
    first, *replies = bus.agent_messages()
    assert tuple(calls) == first.tool_calls
    assert ["a", "b"] == [message.tool_call_id for message in replies]
    assert Message(role="tool", content="None", tool_call_id="a", name="f") == replies[0]


def test_scenario_without_an_opening_is_refused() -> None:
    """Upstream would wait for ever."""
    scenario = make_scenario(messages=({"sender": "SYSTEM", "recipient": USER, "content": "goal"},))
    context = EpisodeContext(trial=0, seed=1, settings=Settings())
    with pytest.raises(InputError, match="the seeded messages end without one of the user"):
        next(play(make_task(scenario), (), context))


def test_equal_scripts_give_equal_trajectories() -> None:
    """Identifiers, clock and replies are the same bits each time."""
    call = {"name": "add_reminder", "arguments": {"content": "milk", "reminder_timestamp": 1718366400}}
    first, again = (play_turns([{"calls": [call]}, {"say": "Done."}]) for _ in range(2))
    assert first.root == again.root


def test_state_is_noted_by_its_digest() -> None:
    """The last step tells what state the evaluators read."""
    last = play_turns([{"say": "No."}]).steps[-1]
    assert isinstance(last, NoteStep)
    assert ("state", True) == (last.name, str(last.data["digest"]).startswith("sha256:"))
