"""DFSDT: order of expansion, backtracking, diversity prompts, limits, votes, the choice among give-ups."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from replay.core.canonical import digest
from replay.core.types import Completion, Json
from tests.unit.benchmarks.stabletoolbench.player import (
    CALL,
    Played,
    finish,
    give_up,
    look,
    make_context,
    play_episode,
    say,
)

_DFS = "DFS_woFilter_w2"


def _nodes(node: Json) -> Iterator[Json]:
    yield node
    for child in node["children"]:
        yield from _nodes(child)


def _inputs(played: Played) -> list[tuple[int, int, str]]:
    """Depth, visit number and text of each action input, in tree order."""
    return [
        (node["depth"], node["expand_num"], node["description"])
        for node in _nodes(played.raw["tree"]["tree"])
        if node["node_type"] == "Action Input"
    ][1:]


def _city(name: str) -> str:
    return json.dumps({"city": name})


def test_an_answer_stops_the_search() -> None:
    """The first answer is enough; sizes count the root."""
    played = play_episode(make_context(_DFS), [look(), finish()])
    assert (played.end.stop, played.raw["win"]) == ("finished", True)
    assert (played.raw["tree"]["size"], played.raw["tree"]["max_length"]) == (5, 5)
    assert played.raw["answer_generation"]["finish_type"] == "give_answer"


def test_a_give_up_skips_the_sibling_of_its_own_turn() -> None:
    """After a give-up below A the search goes on at A's parent, not at A."""
    played = play_episode(make_context(_DFS), [look("A"), give_up(), look("B"), finish()])
    assert [depth for depth, _, _ in _inputs(played)] == [2, 4, 2, 4]
    assert _inputs(played)[2][2] == _city("B")


def test_a_leaf_at_the_limit_climbs_one_turn() -> None:
    """A dead end at the step limit is followed by its sibling."""
    turns = [look("A"), look("B"), look("C"), look("D"), look("E"), look("F")]
    played = play_episode(make_context(_DFS, max_steps=4), turns)
    assert [(depth, number) for depth, number, _ in _inputs(played)] == [
        (2, 1),
        (4, 2),
        (4, 3),
        (2, 4),
        (4, 5),
        (4, 6),
    ]
    assert (played.end.stop, played.raw["answer_generation"]["valid_data"]) == ("step-limit", False)
    assert "train_messages" not in played.raw["answer_generation"]


def test_the_first_release_climbed_two_turns_from_a_dead_end() -> None:
    """With that option a dead end skips its sibling."""
    turns = [look("A"), look("B"), look("C"), look("D")]
    played = play_episode(make_context(_DFS, max_steps=4, dead_end_climb=2), turns)
    assert [depth for depth, _, _ in _inputs(played)] == [2, 4, 2, 4]


def test_siblings_are_asked_to_differ_and_descendants_do_not_see_it() -> None:
    """The second turn at a node ends in a message that lists the first; the turn below has lost it."""
    played = play_episode(make_context(_DFS), [look("A"), give_up(), look("B"), finish()])
    second, below = played.chats[2].messages, played.chats[3].messages
    assert [message.role for message in second] == ["system", "user", "user"]
    assert '\\"city\\": \\"A\\"' in (second[-1].content or "")
    assert [message.role for message in below] == ["system", "user", "assistant", "tool"]
    assert played.noted("diversity") == [{"depth": 0, "earlier": 1}]


def test_the_file_keeps_the_latest_diversity_message_flagged() -> None:
    """Histories show the hidden message with `valid` false."""
    played = play_episode(make_context(_DFS), [look("A"), give_up(), look("B"), finish()])
    history = played.raw["answer_generation"]["train_messages"][-1]
    assert [(message["role"], message.get("valid", True)) for message in history] == [
        ("system", True),
        ("user", True),
        ("user", False),
        ("assistant", True),
        ("tool", True),
        ("assistant", True),
    ]


def test_thoughts_alone_are_not_listed() -> None:
    """An earlier child without a call gives nothing to list, so no message is added."""
    turns = [say(text="Hm.")] * 3
    played = play_episode(make_context(_DFS, max_steps=1), turns[:2])
    assert played.noted("diversity") == []


def test_the_last_query_is_thrown_away() -> None:
    """The turn that reaches the query limit leaves no node."""
    played = play_episode(make_context(_DFS, max_queries=3), [look("A"), look("B"), finish()])
    assert (played.end.stop, played.raw["tree"]["size"]) == ("query-limit", 5)
    assert played.raw["answer_generation"]["query_count"] == 3
    assert (played.raw["win"], played.raw["answer_generation"]["valid_data"]) == (False, False)


def test_empty_turns_end_at_the_query_limit() -> None:
    """A turn without text and calls expands the same node again, until the queries are used up."""
    played = play_episode(make_context(_DFS, max_queries=600), [Completion()] * 600)
    assert (played.end.stop, played.raw["tree"]["size"]) == ("query-limit", 1)


def test_without_an_answer_a_give_up_is_the_result() -> None:
    """A single give-up is the result, valid, with its arguments as answer and a type that says so."""
    answer = play_episode(make_context(_DFS), [give_up("lost")]).raw["answer_generation"]
    assert (answer["finish_type"], answer["valid_data"]) == ("give_up", True)
    assert json.loads(answer["final_answer"])["reason"] == "lost"


def test_the_choice_among_give_ups_follows_the_seed() -> None:
    """Equal seeds choose equally; over many seeds each give-up is chosen."""
    turns = [look("A"), look("B"), give_up("1"), look("C"), give_up("2"), look("D"), look("E"), give_up("3")]
    turns += [look("F"), give_up("4")]
    found = [
        play_episode(make_context(_DFS, seed=seed), turns).raw["answer_generation"]["final_answer"]
        for seed in [*range(40), *range(40)]
    ]
    assert found[:40] == found[40:]
    assert len(set(found)) == 4


def test_finished_marks_reach_two_inputs_up() -> None:
    """The answer, and everything up to the second action input above it, is marked finished."""
    played = play_episode(make_context(_DFS), [look("A"), look("B"), look("C"), finish()])
    marked = [node["finished"] for node in _nodes(played.raw["tree"]["tree"])]
    assert marked == [False, False, False, False, True, True, True, True, True]


def test_a_failed_completion_is_a_dead_end_in_compat() -> None:
    """The error becomes a pruned thought and its sibling is tried."""
    played = play_episode(make_context(_DFS), [Completion(content="lost", finish="error"), finish()])
    first = played.raw["tree"]["tree"]["children"][0]
    assert (first["pruned"], first["observation_code"], played.end.stop) == (True, -1, "finished")


def test_strict_stops_at_an_incomplete_completion() -> None:
    """Strict ends the search with a name and keeps the tree."""
    played = play_episode(make_context(_DFS, "strict"), [look("A"), Completion(finish="length")])
    assert (played.end.stop, played.raw["tree"]["size"]) == ("truncated", 3)


@pytest.mark.parametrize("calls", [60, 5_000])
def test_many_parallel_calls_stay_within_what_a_file_can_nest(calls: int) -> None:
    """Calls beyond the deepest level are dropped with a note; the outcome can still be hashed."""
    turn = say(*[(CALL, _city(str(index))) for index in range(calls)])
    played = play_episode(make_context("DFS_woFilter_w1"), [turn])
    assert digest("outcome", {"deeper": [played.end.outcome]})
    assert played.raw["tree"]["max_length"] == 91
    assert len(played.noted("calls-dropped")) == 1


# ---- the filtered form ---------------------------------------------------------------------------------


def _vote(letter: str) -> Completion:
    return say(text=letter)


@pytest.mark.parametrize(
    ("first", "votes"),
    [
        ("A", ["A", "B"]),
        ("B", ["B", "A"]),
        ("A", ["A", "A"]),
        ("B", ["The better one is B", "the answer: a"]),
        ("A", ["", ""]),
    ],
)
def test_votes_in_both_orders_decide_who_is_expanded_first(first: str, votes: list[str]) -> None:
    """A child wins when both orders agree; a tie keeps the order of making."""
    turns = [look("A"), look("B"), *map(_vote, votes), finish("x"), finish("y"), _vote("A"), _vote("B")]
    played = play_episode(make_context("DFS_w2"), turns)
    assert played.end.stop == "finished"
    children = played.raw["tree"]["tree"]["children"]
    expanded = [child["children"][0] for child in children if child["children"][0]["expand_num"]]
    assert [_city(first)] == [node["description"] for node in expanded]


def test_vote_requests_offer_no_tool_choice_and_show_both_ways() -> None:
    """A vote is asked with tools off; the two orders swap the two texts."""
    turns = [look("A"), look("B"), _vote("A"), _vote("B"), finish("x"), finish("y"), _vote("A"), _vote("B")]
    played = play_episode(make_context("DFS_w2"), turns)
    votes = [chat for chat in played.chats if chat.tool_choice == "none"]
    first, second = (chat.messages[0].content or "" for chat in votes[:2])
    assert first.index(_city("A")) < first.index(_city("B"))
    assert second.index(_city("B")) < second.index(_city("A"))


def test_votes_count_as_queries() -> None:
    """Two turns and two votes are four queries."""
    turns = [finish("x"), finish("y"), _vote("A"), _vote("B")]
    played = play_episode(make_context("DFS_w2"), turns)
    assert played.raw["answer_generation"]["query_count"] == 4
    assert played.noted("ranked") == [{"points": [1.0, 0.0], "order": [0, 1]}]


def test_the_filtered_form_stops_at_the_query_limit_while_splitting() -> None:
    """Running out of queries among the children of a node ends the search."""
    turns = [look("A"), look("B"), _vote("A"), _vote("B"), look("C")]
    played = play_episode(make_context("DFS_w2", max_queries=5), turns)
    assert (played.end.stop, played.raw["tree"]["size"]) == ("query-limit", 5)


def test_strict_wants_a_readable_vote() -> None:
    """A vote that names neither letter counts for nobody under strict rules, for the second under compat."""
    turns = [finish("x"), finish("y"), _vote("neither!"), _vote("A")]
    compat = play_episode(make_context("DFS_w2"), turns).noted("ranked")[0]
    strict = play_episode(make_context("DFS_w2", "strict"), turns).noted("ranked")[0]
    assert (compat["points"], strict["points"]) == ([0.0, 1.0], [0.0, 1.0])
    assert play_episode(make_context("DFS_w2", "strict"), turns).noted("vote-unreadable")
