"""CoT@n: how steps are counted, what ends a try, how often it is tried."""

from __future__ import annotations

import pytest

from replay.core.types import Completion
from tests.unit.benchmarks.stabletoolbench.player import (
    CALL,
    finish,
    give_up,
    look,
    make_context,
    play_episode,
    say,
)


def test_an_answer_ends_the_episode() -> None:
    """A call, a thought and an answer make five nodes and a finished episode."""
    played = play_episode(make_context("CoT@1"), [look(), say(text="It is sunny."), finish()])
    assert played.end.stop == "finished"
    assert [node["node_type"] for node in played.raw["trys"][0]["chain"]] == [
        "Action",
        "Action Input",
        "Thought",
        "Action",
        "Action Input",
    ]
    assert (played.raw["win"], played.raw["trys"][0]["win"]) == (True, False)


def test_twelve_steps_are_six_bare_calls() -> None:
    """Compat counts nodes: the sixth call reaches the limit, as in the upstream example."""
    played = play_episode(make_context("CoT@1"), [look()] * 6)
    assert (played.end.stop, len(played.chats)) == ("step-limit", 6)
    assert played.raw["answer_generation"]["valid_data"] is False
    assert played.raw["trys"][0]["chain"][-1]["pruned"] is True


def test_twelve_steps_are_four_calls_with_text() -> None:
    """Text next to a call is a node of its own."""
    spoken = say((CALL, "{}"), text="I look it up.")
    assert len(play_episode(make_context("CoT@1"), [spoken] * 4).chats) == 4


def test_strict_counts_turns() -> None:
    """Under strict rules twelve steps are twelve turns, whatever they hold."""
    spoken = say((CALL, "{}"), text="I look it up.")
    played = play_episode(make_context("CoT@1", "strict"), [spoken] * 12)
    assert (played.end.stop, len(played.chats)) == ("step-limit", 12)


def test_plain_text_never_ends_a_try() -> None:
    """Twelve thoughts use up the steps; none of them is an answer."""
    played = play_episode(make_context("CoT@1"), [say(text="The answer is sunny.")] * 12)
    assert (played.end.stop, played.raw["win"]) == ("step-limit", False)


def test_a_give_up_ends_the_try() -> None:
    """A give-up prunes the chain; its text does not become the answer."""
    played = play_episode(make_context("CoT@1"), [look(), give_up()])
    assert (played.end.stop, played.raw["answer_generation"]["final_answer"]) == ("gave-up", "")


def test_tries_stop_at_the_first_answer() -> None:
    """CoT@3 tries again after a give-up, from the start, and stops when it has answered."""
    played = play_episode(make_context("CoT@3"), [look(), give_up(), finish()])
    assert (played.end.stop, played.raw["try_count"]) == ("finished", 2)
    assert [message.role for message in played.chats[2].messages] == ["system", "user"]
    assert played.noted("next-try") == [{"try": 2, "of": 3}]


def test_all_tries_may_fail() -> None:
    """CoT@2 ends after two give-ups with nothing."""
    played = play_episode(make_context("CoT@2"), [give_up(), give_up()])
    assert (played.end.stop, played.raw["try_count"]) == ("gave-up", 2)


def test_two_answers_may_be_asked_for() -> None:
    """With two answers wanted, the first try that answers is followed by another, marked as won before."""
    played = play_episode(make_context("CoT@3", answers=2), [finish("a"), finish("b")])
    assert [attempt["win"] for attempt in played.raw["trys"]] == [False, True]
    assert len(played.raw["compare_candidates"]) == 2


def test_parallel_calls_are_a_chain_also_behind_finish() -> None:
    """Compat carries out what follows Finish, and upstream takes the last node's text for the answer."""
    turn = say(("Finish", '{"return_type": "give_answer", "final_answer": "a"}'), (CALL, '{"city": "Oslo"}'))
    played = play_episode(make_context("CoT@1"), [turn])
    assert (played.end.stop, len(played.calls)) == ("finished", 1)
    assert played.raw["answer_generation"]["final_answer"] == '{"city": "Oslo"}'


def test_strict_stops_at_finish() -> None:
    """Strict takes the arguments of Finish and carries out nothing behind it."""
    text = '{"return_type": "give_answer", "final_answer": "a"}'
    played = play_episode(make_context("CoT@1", "strict"), [say(("Finish", text), (CALL, "{}"))])
    assert (played.calls, played.raw["answer_generation"]["final_answer"]) == ([], text)


def test_compat_goes_on_behind_a_give_up_in_one_turn() -> None:
    """A give-up with another call behind it does not end the try: only the last node is looked at."""
    turn = say(("Finish", '{"return_type": "give_up_and_restart"}'), (CALL, "{}"))
    played = play_episode(make_context("CoT@1"), [turn, finish()])
    assert played.end.stop == "finished"


def test_empty_turns_are_bounded() -> None:
    """Turns without text and calls make no step; upstream would ask for ever."""
    played = play_episode(make_context("CoT@1", max_queries=5), [Completion()] * 5)
    assert (played.end.stop, played.noted("query-limit")) == ("query-limit", [{"queries": 5}])


def test_a_failed_completion_prunes_in_compat() -> None:
    """Upstream makes the error text a pruned thought with code -1; the next try goes on."""
    failed = Completion(content="connection lost", finish="error")
    played = play_episode(make_context("CoT@2"), [failed, finish()])
    thought = played.raw["trys"][0]["chain"][0]
    assert (thought["observation_code"], thought["pruned"]) == (-1, True)
    assert played.end.stop == "finished"


def test_a_cut_completion_is_taken_as_it_is_in_compat() -> None:
    """Upstream does not look at the finish reason: half a call is a malformed call."""
    cut = say((CALL, '{"city": "Os'), finish="length")
    played = play_episode(make_context("CoT@1"), [cut, finish()])
    assert "parse error" in played.raw["trys"][0]["chain"][1]["observation"]


@pytest.mark.parametrize(
    ("stop", "reason"), [("truncated", "length"), ("refused", "refused"), ("refused", "error")]
)
def test_strict_stops_at_an_incomplete_completion(stop: str, reason: str) -> None:
    """Strict ends the episode with a name; the try so far stays in the answer."""
    played = play_episode(
        make_context("CoT@3", "strict"), [look(), Completion(content="half", finish=reason)]
    )
    assert (played.end.stop, played.noted("incomplete-completion")) == (stop, [{"finish": reason}])
    assert [node["node_type"] for node in played.raw["trys"][0]["chain"]] == [
        "Action",
        "Action Input",
        "Thought",
    ]


def test_an_unknown_name_is_replaced_in_the_history() -> None:
    """The candidate sees the placeholder, the node keeps what it wrote."""
    played = play_episode(make_context("CoT@1"), [say(("brew_tea", "{}")), finish()])
    spoken, reply = played.chats[1].messages[2:]
    assert spoken.tool_calls[0].name == reply.name == "invalid_hallucination_function_name"
    assert played.raw["trys"][0]["chain"][0]["description"] == "brew_tea"


def test_where_upstream_stops_nothing_is_produced() -> None:
    """A recorded answer without `error` ends a compat episode with a named stop and a note."""
    played = play_episode(make_context("CoT@1"), [look()], [["a list"]])
    assert (played.end.stop, played.end.outcome) == ("tool-error", None)
    assert played.noted("upstream-failure")[0]["place"] == "answer-shape"
