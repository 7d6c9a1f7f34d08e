"""Episodes of every kind of task: who is asked what, in which order, and what is left at the end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from replay.benchmarks.acebench.playing.dialogues import NUDGE
from replay.benchmarks.acebench.playing.play import make_world, play
from replay.benchmarks.acebench.records import AceTask
from replay.core.protocols import EpisodeEnd, ReadState, WorldState
from replay.core.types import CallRequest, ChatRequest, Completion, Json, Role
from tests.support.ace_agents import make_context, make_record, make_task

END = "finish conversation"
WIFI = "[turn_on_wifi()]"


class Player:
    """Plays one episode with words given beforehand and keeps what was asked."""

    def __init__(self, record: AceTask, *, rules: str = "compat", **options: Json) -> None:
        self.task = make_task(record)
        self.context = make_context(rules, **options)
        self.asked: list[ChatRequest] = []

    def play(self, agent: Sequence[str | Completion], user: Sequence[str | Completion] = ()) -> EpisodeEnd:
        """Let agent and user say these, the last one for ever, and return how it ended."""
        said = {Role.CANDIDATE: list(agent), Role.USER: list(user)}
        world = make_world(self.task, self.context)
        episode = play(self.task, self.context)
        answer: Json = None
        try:
            while True:
                wish = episode.send(answer)
                answer = None
                if isinstance(wish, ChatRequest):
                    self.asked.append(wish)
                    words = said[wish.role]
                    text = words.pop(0) if len(words) > 1 else words[0]
                    answer = text if isinstance(text, Completion) else Completion(content=text)
                elif isinstance(wish, CallRequest) and world is not None:
                    answer = world.handle(wish)
                elif isinstance(wish, ReadState) and world is not None:
                    answer = WorldState(state=world.state(), digest="")
        except StopIteration as done:
            end: EpisodeEnd = done.value
            return end

    def heard(self, role: Role, turn: int = -1) -> str:
        """Last message of one request to a role."""
        requests = [request for request in self.asked if request.role is role]
        return str(requests[turn].messages[-1].content)


def phone(category: str = "agent_multi_turn", *, wifi: bool = False) -> AceTask:
    """A task of a phone without Wi-Fi."""
    return make_record(category, config={"BaseApi": {"wifi": wifi, "logged_in": True}})


def wifi_of(end: EpisodeEnd) -> Json:
    """What the end state says about Wi-Fi."""
    return end.outcome["result"][0]["BaseApi"]["wifi"]


# ---- single requests -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "category", ["normal_atom_bool", "normal_multi_turn_user_adjust", "special_irrelevant"]
)
def test_a_single_request_keeps_the_whole_text(category: str) -> None:
    """Blanks, prose and all; there is no world."""
    record = make_record(category, classes=())
    end = Player(record).play(["Well: [f()]\n"])
    assert ("finished", {"output": "Well: [f()]\n"}) == (end.stop, end.outcome)
    assert make_world(make_task(record), make_context()) is None


def test_after_think_keeps_what_follows_the_reasoning() -> None:
    """Only when asked for."""
    player = Player(make_record("normal_atom_bool", classes=()), after_think=True)
    assert player.play(["<think>[a]</think>\n[f()]"]).outcome == {"output": "[f()]"}


@pytest.mark.parametrize(
    ("rules", "finish", "content", "stop", "outcome"),
    [
        ("compat", "length", "[f(", "finished", {"output": "[f("}),
        ("strict", "length", "[f(", "truncated", {"output": "[f("}),
        ("compat", "refused", None, "refused", None),
        ("compat", "refused", "No.", "finished", {"output": "No."}),
        ("strict", "error", "No.", "refused", {"output": "No."}),
    ],
)
def test_an_incomplete_text_is_what_the_rules_say(
    rules: str, finish: str, content: str | None, stop: str, outcome: Json
) -> None:
    """Compat takes every text as it is."""
    player = Player(make_record("normal_atom_bool", classes=()), rules=rules)
    end = player.play([Completion(content=content, finish=finish)])
    assert (stop, outcome) == (end.stop, end.outcome)


def test_sampling_follows_the_options() -> None:
    """Single requests and agents have limits of their own."""
    single = Player(make_record("normal_atom_bool", classes=()), max_tokens=5, temperature=0.5)
    single.play(["x"])
    agent = Player(phone(), agent_max_tokens=6, user_max_tokens=7)
    agent.play(["Hm", "Hm", END], ["hello"])
    assert [5, 0.5] == [single.asked[0].sampling.max_tokens, single.asked[0].sampling.temperature]
    limits = {request.role: request.sampling.max_tokens for request in agent.asked}
    assert limits == {Role.CANDIDATE: 6, Role.USER: 7}


# ---- multi-turn agents -----------------------------------------------------------------------------------


def test_user_agent_and_execution_speak_in_turn() -> None:
    """Calls go to execution, words to the user; the agent sees all of it."""
    player = Player(phone())
    end = player.play(["Shall I?", WIFI, "Done."], ["Wi-Fi, please.", "Yes.", END])
    assert [request.role.value for request in player.asked] == [
        "user",
        "candidate",
        "user",
        "candidate",
        "candidate",
        "user",
    ]
    assert player.heard(Role.CANDIDATE).endswith(
        "user:Wi-Fi, please.\nagent:Shall I?\nuser:Yes.\nagent:[turn_on_wifi()]\n"
        "execution:[{'status': True, 'message': 'Wi-Fi has been turned on'}]\n"
    )
    assert ("finished", [WIFI], True) == (end.stop, end.outcome["process"], wifi_of(end))


@pytest.mark.parametrize(("rules", "role"), [("compat", "system"), ("strict", "assistant")])
def test_the_user_finds_its_own_words(rules: str, role: str) -> None:
    """Under the role that the rules say; the agent's speaker name is taken off."""
    player = Player(phone(), rules=rules)
    player.play(["agent:Shall I?", "user:Well?", "Hm", END], ["Hello.", "Yes."])
    last = [request for request in player.asked if request.role is Role.USER][-1]
    shown = [(message.role, message.content) for message in last.messages[2:]]
    assert [(role, "Hello."), ("user", "Shall I?"), (role, "Yes."), ("user", "Well?")] == shown[:4]


def test_the_end_phrase_counts_from_the_third_step() -> None:
    """Before that it is only words."""
    player = Player(phone())
    end = player.play([END, "What?", f"Fine. {END}!"], [END])
    assert end.stop == "finished"
    assert [request.role.value for request in player.asked] == ["user", "candidate"] * 2 + ["user"]


def test_without_an_end_phrase_forty_messages_are_all() -> None:
    """All roles counted, after the first message."""
    player = Player(phone())
    end = player.play(["Hm?"], ["Well."])
    assert ("step-limit", 41) == (end.stop, len(player.asked))
    assert Player(phone(), max_messages=3).play(["Hm?"], ["Well."]).stop == "step-limit"


def test_nothing_executed_is_nothing_saved() -> None:
    """Unless the rules are strict."""
    assert Player(phone()).play(["Hm?"], ["Well.", "Well.", END]).outcome == {"result": [], "process": []}
    strict = Player(phone(), rules="strict").play(["Hm?"], ["Well.", "Well.", END])
    assert wifi_of(strict) is False


def test_an_error_alone_saves_nothing_but_is_in_the_process() -> None:
    """Though the call before it changed the state."""
    message = "[turn_on_wifi(), send_message()]"
    player = Player(phone())
    end = player.play([message, "Sorry."], ["Go.", END])
    assert end.outcome == {"result": [], "process": [message]}
    assert "['E', 'r', 'r', 'o', 'r'" in player.heard(Role.CANDIDATE)


@pytest.mark.parametrize(("rules", "process"), [("compat", []), ("strict", [f"{WIFI}\n"])])
def test_a_trailing_line_break_is_words_or_a_call(rules: str, process: list[str]) -> None:
    """Words officially, a call under clean rules."""
    end = Player(phone(), rules=rules).play([f"{WIFI}\n", "Done."], ["Go.", "Well.", END])
    assert process == end.outcome["process"]


@pytest.mark.parametrize("finish", ["refused", "error"])
def test_a_user_without_words_ends_the_episode(finish: str) -> None:
    """By name; nothing is scored then."""
    end = Player(phone()).play(["Hm?"], ["Go.", Completion(content=None, finish=finish)])
    assert end.stop == "user-failed"


def test_an_agent_without_words_ends_the_episode() -> None:
    """What was done until then is kept."""
    end = Player(phone()).play([WIFI, Completion(content=None, finish="refused")], ["Go."])
    assert ("refused", [WIFI], True) == (end.stop, end.outcome["process"], wifi_of(end))


# ---- multi-step agents -----------------------------------------------------------------------------------


def test_a_step_agent_never_sees_its_own_words() -> None:
    """The task and what execution said are all."""
    player = Player(phone("agent_multi_step"))
    end = player.play([WIFI, "Which?", END])
    assert player.heard(Role.CANDIDATE).endswith(
        "user:Send a message.\n"
        "execution result:[{'status': True, 'message': 'Wi-Fi has been turned on'}]\n"
        f"execution result:{NUDGE}\n"
    )
    assert ("finished", [WIFI, "Which?"], True) == (end.stop, end.outcome["process"], wifi_of(end))


def test_a_strict_step_agent_sees_its_own_words() -> None:
    """And its process holds calls only."""
    player = Player(phone("agent_multi_step"), rules="strict")
    end = player.play([WIFI, "Which?", END])
    assert f"agent:{WIFI}\nexecution result:" in player.heard(Role.CANDIDATE)
    assert ("finished", [WIFI]) == (end.stop, end.outcome["process"])


def test_an_end_phrase_at_once_is_handed_to_execution() -> None:
    """Officially; strict rules take it."""
    official = Player(phone("agent_multi_step"))
    assert official.play([END]).outcome == {"result": [], "process": [END]}
    assert len(official.asked) == 2
    strict = Player(phone("agent_multi_step"), rules="strict")
    assert strict.play([END]).outcome["process"] == []
    assert len(strict.asked) == 1


def test_a_step_agent_has_twenty_messages() -> None:
    """Half of forty."""
    player = Player(phone("agent_multi_step"))
    end = player.play([WIFI])
    assert ("step-limit", 20, 20) == (end.stop, len(player.asked), len(end.outcome["process"]))


def test_a_state_that_upstream_could_not_write_is_returned_as_it_is() -> None:
    """Whoever hashes it ends the episode."""
    end = Player(phone(wifi=True)).play(
        [
            "[delete_message(message_id=3)]",
            "[send_message(sender_name='Eve', receiver_name='Jack', message=b'x')]",
            ".",
        ],
        ["Go.", END],
    )
    assert end.outcome["result"][1]["MessageApi"]["inbox"][7]["message"] == b"x"


def test_equal_words_give_equal_requests() -> None:
    """Two episodes of one task ask the same to the letter."""
    first, second = Player(phone()), Player(phone())
    for player in (first, second):
        player.play([WIFI, "Done."], ["Go.", END])
    assert first.asked == second.asked
