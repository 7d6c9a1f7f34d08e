"""Turns an upstream raw answer back into what the candidate said and the tools answered, and plays it again.

A node that was expanded carries its visit number, so the border between two turns can be seen: an expanded
thought was a turn of its own, any other thought belongs to the call below it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from replay.benchmarks.stabletoolbench.functions import FunctionEntry
from replay.benchmarks.stabletoolbench.playing.play import play_entries
from replay.core.protocols import Answer, EpisodeContext, EpisodeEnd, Settings
from replay.core.types import (
    CallRequest,
    ChatRequest,
    Completion,
    Json,
    Provenance,
    Task,
    ToolCall,
    ToolResult,
    ToolSpec,
)

__all__ = ["play_again", "read_entries", "read_turns"]


def read_entries(functions: Json) -> tuple[FunctionEntry, ...]:
    """Function entries as the answer file shows them; each is its own API."""
    entries = []
    for function in functions:
        spec = ToolSpec(name=function["name"], identity=function["name"], parameters=function["parameters"])
        raw = None if function["name"] == "Finish" else spec
        entries.append(FunctionEntry(shown=spec, raw=raw, upstream=function))
    return tuple(entries)


def read_turns(answer: Json) -> tuple[list[Completion], list[str]]:
    """Completions and observations of one raw answer, in the order they were asked for."""
    if "tree" in answer:
        turns = list(_tree_turns(answer["tree"]["tree"]))
    else:
        # A chain shows no borders: as many of its thoughts stood alone as there were turns without a call.
        chain = [node for attempt in answer["trys"] for node in attempt["chain"]]
        calls = sum(node["node_type"] == "Action" for node in chain)
        alone = answer["answer_generation"]["query_count"] - calls
        turns = list(_chain_turns(chain, alone))
    completions = [_completion(turn, number) for number, turn in enumerate(turns)]
    called = [turn[-1] for turn in turns if turn[-1]["node_type"] == "Action Input"]
    observations = [node["observation"] for node in called if node["observation_code"] not in (1, 2, 3, 4)]
    return completions, observations


def play_again(answer: Json, method: str, task_id: str, *, seed: int = 1, **options: Json) -> EpisodeEnd:
    """Play an answer's turns through our protocols and return how the episode ends."""
    completions, observations = read_turns(answer)
    generation = answer["answer_generation"]
    settings = Settings(protocol=method, options={"max_steps": 12, **options})
    play = play_entries(
        Task(id=task_id, split="G1_instruction", data={"query": generation["query"]}),
        read_entries(generation["function"]),
        EpisodeContext(trial=0, seed=seed, settings=settings),
    )
    reply: Answer = None
    try:
        while True:
            asked = play.send(reply)
            if isinstance(asked, ChatRequest):
                reply = completions.pop(0)
            elif isinstance(asked, CallRequest):
                reply = _result(observations.pop(0))
            else:
                reply = None
    except StopIteration as done:
        assert completions == []
        assert observations == []
        end = done.value
        assert isinstance(end, EpisodeEnd)
        return end


def _chain_turns(chain: Json, alone: int) -> Iterator[list[Json]]:
    turn: list[Json] = []
    for node in chain:
        turn.append(node)
        stands_alone = node["node_type"] == "Thought" and alone > 0
        alone -= stands_alone
        if stands_alone or node["node_type"] == "Action Input":
            yield turn
            turn = []


def _tree_turns(root: Json) -> Iterator[list[Json]]:
    waiting: list[Json] = [root]
    while waiting:
        top = waiting.pop()
        if isinstance(top, list):
            yield top
            waiting.append(top[-1])
            continue
        waiting.extend(reversed([_turn_from(child) for child in top["children"]]))


def _turn_from(node: Json) -> list[Json]:
    turn = [node]
    while turn[-1]["node_type"] != "Action Input" and not turn[-1]["expand_num"]:
        turn.append(turn[-1]["children"][0])
    return turn


def _completion(turn: list[Json], number: int) -> Completion:
    by_kind = {node["node_type"]: node["description"] for node in turn}
    calls: tuple[ToolCall, ...] = ()
    if "Action" in by_kind:
        calls = (ToolCall(id=f"call-{number}", name=by_kind["Action"], arguments=by_kind["Action Input"]),)
    return Completion(content=by_kind.get("Thought"), tool_calls=calls)


def _result(observation: str) -> ToolResult:
    try:
        body = json.loads(observation)
    except ValueError:
        body = observation
    return ToolResult(content=observation, provenance=Provenance.IMPORTED, body=body)
