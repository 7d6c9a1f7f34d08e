"""Conversion: what is kept, both spellings, tolerance where upstream stops, choices without chance."""

from __future__ import annotations

from typing import Any

import pytest

from replay.benchmarks.stabletoolbench.playing.convert import convert_answer
from replay.core.errors import InputError
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.player import (
    CALL,
    finish,
    give_up,
    look,
    make_context,
    play_episode,
    say,
)


def _raw(*messages: Json, **fields: Any) -> Json:
    history = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, *messages]
    answer = {
        "valid_data": True,
        "final_answer": "f",
        "function": [],
        "train_messages": [history],
        "query": "q",
    }
    return {"answer_generation": {**answer, **fields}}


def _steps(raw: Json, method: str = "CoT@1", query_id: str = "7") -> list[tuple[str, Json]]:
    node = convert_answer(raw, method=method, query_id=query_id)["answer"]["answer_details"][0]
    found = []
    while node["next"]:
        (node,) = node["next"]
        found.append((node["role"], node["message"]))
    return found[1:]


def _tool(name: str, arguments: str, response: str) -> tuple[str, Json]:
    return "tool", {"name": name, "arguments": arguments, "response": response}


_FLAT_CALL = {"role": "assistant", "content": "dropped", "function_call": {"name": "a", "arguments": "{}"}}
_FLAT_REPLY = {"role": "function", "name": "a", "content": "r"}


def _nested(*names: str) -> Json:
    calls = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _reply(name: str) -> Json:
    return {"role": "tool", "tool_call_id": name, "content": f"r-{name}"}


def test_flat_and_nested_spelling_give_the_same_steps() -> None:
    """Role function and role tool, one call each."""
    flat = _steps(_raw(_FLAT_CALL, _FLAT_REPLY))
    nested = _steps(_raw(_nested("a"), {**_reply("a"), "content": "r"}))
    assert flat == nested == [_tool("a", "{}", "r")]


def test_text_beside_a_call_is_dropped_and_text_alone_is_kept() -> None:
    """Only a turn without a call becomes an assistant step."""
    assert _steps(_raw(_FLAT_CALL, _FLAT_REPLY, {"role": "assistant", "content": "hm"})) == [
        _tool("a", "{}", "r"),
        ("assistant", "hm"),
    ]


def test_finish_has_no_response_and_ends_its_turn() -> None:
    """Calls behind Finish in one turn leave no step."""
    raw = _raw(_nested("a", "Finish", "b"), _reply("a"), _reply("Finish"), _reply("b"))
    assert _steps(raw) == [_tool("a", "{}", "r-a"), _tool("Finish", "{}", "")]


def test_total_steps_count_system_and_user() -> None:
    """Two blank messages open every answer and count."""
    answer = convert_answer(_raw(_FLAT_CALL, _FLAT_REPLY), method="CoT@1", query_id="7")["answer"]
    assert (answer["total_steps"], answer["method"], answer["final_answer"]) == (3, "CoT@1", "f")
    root = answer["answer_details"][0]
    assert (root["message"], root["next"][0]["message"]) == ("", "")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([("assistant", "hm")], {"role": "assistant", "content": "hm", "function_call": None}),
        ([("assistant", "hm")], {"role": "assistant", "content": "hm", "tool_calls": None}),
        ([("assistant", "hm")], {"role": "assistant", "content": "hm", "tool_calls": []}),
        ([("assistant", "")], {"role": "assistant", "content": None}),
        ([("assistant", "")], {"role": "assistant"}),
        ([_tool("a", "", "")], {"role": "assistant", "function_call": {"name": "a", "arguments": None}}),
        ([], _nested("a")),
    ],
)
def test_null_and_absent_fields_are_tolerated(steps: list[tuple[str, Json]], message: Json) -> None:
    """Where upstream's converter stops on null or a missing reply, the answer is still converted."""
    assert steps == _steps(_raw(message))


def test_an_invalid_chain_shows_a_whole_try() -> None:
    """Without an answer the nodes of a try are shown, thoughts and observations included."""
    raw = play_episode(make_context("CoT@1"), [say((CALL, "{}"), text="I look."), give_up()]).raw
    assert [role for role, _ in _steps(raw)] == ["assistant", "tool", "tool"]
    assert _steps(raw)[-1][1]["response"] == '{"response":"chose to give up and restart"}'


def test_the_try_is_chosen_by_the_query_id() -> None:
    """One query id always shows the same try; other ids show others."""
    raw = play_episode(make_context("CoT@4"), [give_up(str(index)) for index in range(4)]).raw
    shown = {str(query): str(_steps(raw, "CoT@4", str(query))) for query in range(60)}
    assert shown == {str(query): str(_steps(raw, "CoT@4", str(query))) for query in range(60)}
    assert len(set(shown.values())) == 4


def test_an_invalid_tree_shows_one_walk_to_a_leaf() -> None:
    """Each step goes to one child; an action and its input are one step."""
    turns = [look("A"), look("B"), look("C"), look("D"), look("E"), look("F")]
    raw = play_episode(make_context("DFS_woFilter_w2", max_steps=4), turns).raw
    walks = {str(_steps(raw, "DFS_woFilter_w2", str(query))) for query in range(60)}
    assert len(walks) == 4
    assert all(walk.count("'response'") == 2 for walk in walks)


@pytest.mark.slow
def test_a_tree_of_any_depth_is_walked() -> None:
    """A chain of 20,000 thoughts, which no recursion survives, is converted."""
    node: Json = {"node_type": "Thought", "description": "end", "children": []}
    for _ in range(20_000):
        node = {"node_type": "Thought", "description": "hm", "children": [node]}
    raw = {**_raw(valid_data=False), "tree": {"tree": {"children": [node]}}}
    assert convert_answer(raw, method="DFS_w2", query_id="1")["answer"]["total_steps"] == 20_003


@pytest.mark.parametrize(
    ("match", "raw", "method"),
    [
        ("answer_generation", [], "CoT@1"),
        ("answer_generation", {"answer_generation": 5}, "CoT@1"),
        ("train_messages", {"answer_generation": {"valid_data": True}}, "CoT@1"),
        ("without histories", {"answer_generation": {"valid_data": True, "train_messages": []}}, "CoT@1"),
        ("unknown role 'judge'", _raw({"role": "judge"}), "CoT@1"),
        ("not a list of objects", _raw("text"), "CoT@1"),
        ("trys", _raw(valid_data=False), "CoT@1"),
        ("tree", _raw(valid_data=False), "DFS_w2"),
        ("unknown method", _raw(valid_data=False), "BFS"),
        ("unknown node type", {**_raw(valid_data=False), "trys": [{"chain": [{}]}]}, "CoT@1"),
        ("function", _raw({"role": "assistant", "tool_calls": [{"id": "a"}]}), "CoT@1"),
    ],
)
def test_what_is_no_raw_answer_is_named(match: str, raw: Json, method: str) -> None:
    """The error names the field or value that cannot be used."""
    with pytest.raises(InputError, match=match):
        convert_answer(raw, method=method, query_id="7")


def test_the_outcome_holds_both_forms() -> None:
    """An episode's converted answer is the conversion of its raw one."""
    end = play_episode(make_context("DFS_woFilter_w2"), [look(), finish("sunny")]).end
    converted = convert_answer(end.outcome["raw"], method="DFS_woFilter_w2", query_id="7")
    assert converted == end.outcome["converted"]
