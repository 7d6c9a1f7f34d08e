"""Raw answers: fields of both forms, nested and flat spelling."""

from __future__ import annotations

import json

from replay.benchmarks.stabletoolbench.playing.raw_answer import flatten_answer
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.player import CALL, finish, look, make_context, play_episode, say


def _history(raw: Json) -> Json:
    return raw["answer_generation"]["train_messages"][-1]


def test_nested_is_the_form_of_an_outcome() -> None:
    """Functions stand under `function`, calls under `tool_calls`, replies have the role tool."""
    raw = play_episode(make_context(), [look(), finish()]).raw
    assert {item["type"] for item in raw["answer_generation"]["function"]} == {"function"}
    spoken, reply, last = _history(raw)[2:]
    assert spoken["tool_calls"] == [
        {"id": "call-0", "type": "function", "function": {"name": CALL, "arguments": '{"city": "Oslo"}'}}
    ]
    assert (reply["role"], reply["tool_call_id"], reply["name"]) == ("tool", "call-0", CALL)
    assert "content" not in last


def test_flat_is_the_form_of_the_examples() -> None:
    """Flattening gives `function_call`, role function and bare functions; once flat it stays."""
    flat = flatten_answer(play_episode(make_context(), [look(), finish()]).raw)
    assert [item["name"] for item in flat["answer_generation"]["function"]] == [CALL, "Finish"]
    spoken, reply, _ = _history(flat)[2:]
    assert spoken == {
        "role": "assistant",
        "function_call": {"name": CALL, "arguments": '{"city": "Oslo"}'},
    }
    assert list(reply) == ["role", "name", "content"]
    assert flat == flatten_answer(flat)


def test_several_calls_in_a_turn_stay_nested() -> None:
    """A turn with two calls has no flat form: it and its replies keep the nested one."""
    raw = play_episode(make_context(), [say((CALL, "{}"), (CALL, '{"city": "Rome"}')), look(), finish()]).raw
    roles = [message["role"] for message in _history(flatten_answer(raw))]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "function", "assistant"]


def test_no_history_no_messages_in_a_chain_answer() -> None:
    """A CoT answer that came to nothing has an empty list, and its limits are written down."""
    raw = play_episode(make_context("CoT@1", max_steps=2), [look()]).raw
    assert raw["answer_generation"]["train_messages"] == []
    assert raw["forward_args"] == {"single_chain_max_step": 2, "pass_at": 1, "answer": 1}


def test_tokens_are_summed() -> None:
    """Tokens of all completions are counted, prompts included."""
    turns = [say((CALL, "{}"), prompt_tokens=10, completion_tokens=2)]
    raw = play_episode(make_context("CoT@1", max_steps=2), turns).raw
    assert raw["answer_generation"]["total_tokens"] == 12


def test_each_turn_gives_one_history() -> None:
    """Two turns, two histories, each ending in what the candidate said."""
    histories = play_episode(make_context(), [look(), finish()]).raw["answer_generation"]["train_messages"]
    assert [history[-1]["role"] for history in histories] == ["assistant", "assistant"]
    assert [len(history) for history in histories] == [3, 5]


def test_a_raw_answer_is_plain_json() -> None:
    """What is written is what was made: no enum, no tuple, no record inside."""
    raw = play_episode(make_context("DFS_woFilter_w2"), [look(), finish()]).raw
    assert raw == json.loads(json.dumps(raw))
    assert type(raw["tree"]["tree"]["children"][0]["children"][0]["observation_code"]) is int
