"""Laws of an episode: whatever is answered, it ends with a name and an outcome that can be hashed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replay.benchmarks.stabletoolbench.playing.convert import convert_answer
from replay.benchmarks.stabletoolbench.playing.play import play
from replay.core.canonical import digest
from replay.core.protocols import Answer, CallAnswered, EpisodeEnd
from replay.core.types import CallRequest, ChatRequest, Completion, Json, Provenance, ToolCall, ToolResult
from tests.unit.benchmarks.stabletoolbench.entries import make_raw_spec
from tests.unit.benchmarks.stabletoolbench.player import make_context, make_task

_STOPS = {"finished", "gave-up", "step-limit", "query-limit", "truncated", "refused", "tool-error"}
_APIS = ("Advanced Search", "Search", "chat with user", "Prices for Cities")

_names = st.sampled_from(
    [
        "Finish",
        "Finish",
        "search_for_weather_desk",
        "weather_desk",
        "",
        "ish",
        "brew",
        "chat_with_user_for_weather_desk",
    ]
)
_arguments = st.sampled_from(
    [
        "",
        "{}",
        '{"city": "Oslo"}',
        "[1]",
        "null",
        "{broken",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        "[" * 500,
        '{"return_type": "give_answer", "final_answer": "yes"}',
        '{"return_type": "give_answer"}',
        '{"return_type": "give_up_and_restart"}',
        '"return_type": "give_up_and_restart"',
    ]
)
_calls = st.lists(
    st.builds(ToolCall, id=st.sampled_from("ab"), name=_names, arguments=_arguments), max_size=3
)
_completions = st.builds(
    Completion,
    content=st.none() | st.sampled_from(["", "hm", "A", "b"]),
    tool_calls=_calls.map(tuple),
    finish=st.sampled_from(
        ["stop", "tool_calls", "stop", "tool_calls", "stop", "length", "refused", "error"]
    ),
    completion_tokens=st.integers(0, 9),
)
_bodies: st.SearchStrategy[Json] = st.sampled_from(
    [
        {"error": "", "response": "x" * 3000},
        {"error": "Message error...", "response": {"b": 1.5, "a": None}},
        {"error": "", "response": ""},
        {"error": 5},
        ["no", "object"],
        "text",
        None,
    ]
)
_protocols = st.sampled_from(["CoT@1", "CoT@3", "DFS_woFilter_w2", "DFS_w2", "DFS_woFilter_w3"])
_rules = st.sampled_from(["compat", "strict"])


def _run(
    protocol: str, rules: str, said: list[Completion], told: list[Json]
) -> tuple[EpisodeEnd, list[ChatRequest], list[Json]]:
    """Play with answers that are taken in turn, over and over."""
    context = make_context(protocol, rules, max_queries=25, max_steps=9)
    episode = play(make_task(), tuple(make_raw_spec(api) for api in _APIS), context)
    chats: list[ChatRequest] = []
    codes: list[Json] = []
    calls = 0
    reply: Answer = None
    try:
        while True:
            asked = episode.send(reply)
            reply = None
            if isinstance(asked, ChatRequest):
                reply = said[len(chats) % len(said)]
                chats.append(asked)
            elif isinstance(asked, CallRequest):
                body = told[calls % len(told)]
                reply = ToolResult(content=json.dumps(body), provenance=Provenance.IMPORTED, body=body)
                calls += 1
            elif isinstance(asked, CallAnswered):
                codes.append(asked.result.code)
    except StopIteration as done:
        end = done.value
        assert isinstance(end, EpisodeEnd)
        return end, chats, codes


def _nodes(raw: Json) -> Iterator[Any]:
    waiting = [raw["tree"]["tree"]] if "tree" in raw else [n for t in raw["trys"] for n in t["chain"]]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.get("children", []))


@given(
    _protocols,
    _rules,
    st.lists(_completions, min_size=1, max_size=8),
    st.lists(_bodies, min_size=1, max_size=4),
)
def test_every_episode_ends_with_a_name_and_a_hashable_outcome(
    protocol: str, rules: str, said: list[Completion], told: list[Json]
) -> None:
    """No answer makes an episode raise; strict rules never end where upstream's program would."""
    end, chats, codes = _run(protocol, rules, said, told)
    assert end.stop in _STOPS
    assert all(type(code) is int for code in codes)
    if end.stop == "tool-error":
        assert (rules, end.outcome) == ("compat", None)
        return
    assert digest("outcome", end.outcome)
    raw = end.outcome["raw"]
    assert raw == json.loads(json.dumps(raw))
    assert raw["answer_generation"]["query_count"] == len(chats)
    assert raw["win"] == (end.stop == "finished")
    assert all(len(node.get("observation", "")) <= 1027 for node in _nodes(raw))


@given(
    _protocols,
    _rules,
    st.lists(_completions, min_size=1, max_size=8),
    st.lists(_bodies, min_size=1, max_size=4),
)
def test_equal_answers_give_equal_episodes(
    protocol: str, rules: str, said: list[Completion], told: list[Json]
) -> None:
    """An episode is a pure function of what it is answered."""
    assert _run(protocol, rules, said, told) == _run(protocol, rules, said, told)


@given(
    _protocols,
    _rules,
    st.lists(_completions, min_size=1, max_size=8),
    st.lists(_bodies, min_size=1, max_size=4),
)
def test_counts_agree_with_the_nodes(
    protocol: str, rules: str, said: list[Completion], told: list[Json]
) -> None:
    """Size, longest path and child counts are those of the nodes; a converted answer counts its own steps."""
    end, _, _ = _run(protocol, rules, said, told)
    if end.outcome is None:
        return
    raw = end.outcome["raw"]
    nodes = list(_nodes(raw))
    if "tree" in raw:
        assert raw["tree"]["size"] == len(nodes)
        assert raw["tree"]["max_length"] == max(node["depth"] for node in nodes) + 1
        assert all(node["child_count"] == len(node["children"]) for node in nodes)
    converted = convert_answer(raw, method=protocol, query_id="7")
    node, count = converted["answer"]["answer_details"][0], 1
    while node["next"]:
        (node,) = node["next"]
        count += 1
    assert count == converted["answer"]["total_steps"]
    assert converted == end.outcome["converted"]
