"""Upstream's 21 shipped raw answers, played again turn by turn, give the same trees, codes and histories.

What cannot be had from an answer file is not compared: token counts (sums over model calls), the wording of
system, user and diversity messages (ours differ on purpose), call ids (flat files have none), and the fields
`Elo` and `matching_time` of older files.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.playing.prompts import load_prompts
from replay.benchmarks.stabletoolbench.playing.raw_answer import flatten_answer
from replay.benchmarks.stabletoolbench.wording import read_wording
from replay.core.types import Json
from tests.oracle.answer_replay import play_again

_FIRST_RELEASE = {"G1_answer/57", "G1_answer/69", "G3_answer/8"}
"""Answers of ToolBench's first release, where every leaf climbed two turns."""

_EXCEPTIONS: dict[str, tuple[set[str], str]] = {
    "G1_answer/69": ({"valid_data", "final_answer", "finish_type"}, "the first release never took a give-up"),
    "G2_answer/119": ({"train_messages"}, "upstream drew another give-up"),
    "G2_answer/127": ({"train_messages"}, "upstream drew another give-up"),
}
"""Answer -> fields that differ, with the reason."""

_NOT_COMPARED = {"total_tokens"}


def _answers(shared_data: Path) -> dict[str, tuple[Json, str]]:
    """Every shipped raw answer as name -> (answer, method)."""
    found: dict[str, tuple[Json, str]] = {}
    for path in sorted((shared_data / "stabletoolbench" / "data_example" / "answer").rglob("*.json")):
        query_id, method = path.stem.split("_", 1)
        found[f"{method}/{query_id}"] = (json.loads(path.read_text()), method)
    for path in sorted((shared_data / "toolbench" / "data_example" / "answer").rglob("*.json")):
        query_id, _, method = path.stem.split("_", 2)
        found[f"{path.parent.name}/{query_id}"] = (json.loads(path.read_text()), method)
    return found


def _comparable(value: Json) -> Json:
    """Drop what is not compared, at any depth."""
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _comparable(item) for name, item in value.items() if name not in {"Elo", "matching_time"}}
    if kept.get("role") in {"system", "user"}:
        kept["content"] = ""
    if "role" in kept and kept.get("content") is None:
        kept.pop("content", None)
    return kept


def _options(name: str) -> dict[str, Json]:
    return {"dead_end_climb": 2} if name in _FIRST_RELEASE else {}


def test_every_answer_file_is_played_again_to_the_same_tree(shared_data: Path) -> None:
    """Nodes, order of visits, marks, codes, observations and counts of all 21 files come out equal."""
    answers = _answers(shared_data)
    assert len(answers) == 21
    for name, (recorded, method) in answers.items():
        end = play_again(recorded, method, name.split("/")[1], **_options(name))
        played = flatten_answer(end.outcome["raw"])
        fields = set(recorded) - {"answer_generation"}
        assert {field: _comparable(recorded[field]) for field in fields} == {
            field: _comparable(played[field]) for field in fields
        }, name


def test_every_answer_part_is_played_again(shared_data: Path) -> None:
    """The answer part of each file comes out equal but for the listed exceptions, which do differ."""
    for name, (recorded, method) in _answers(shared_data).items():
        end = play_again(recorded, method, name.split("/")[1], **_options(name))
        old = recorded["answer_generation"]
        new = flatten_answer(end.outcome["raw"])["answer_generation"]
        differing = {
            field
            for field in old.keys() - _NOT_COMPARED
            if _comparable(old[field]) != _comparable(new.get(field))
        }
        assert _EXCEPTIONS.get(name, (set(), ""))[0] == differing, name


@pytest.mark.parametrize("name", ["G2_answer/119", "G2_answer/127"])
def test_the_drawn_give_up_is_one_of_ours(shared_data: Path, name: str) -> None:
    """Under some seed our choice among the give-ups is the one upstream drew."""
    recorded, method = _answers(shared_data)[name]
    wanted = _comparable(recorded["answer_generation"]["train_messages"])
    played = (
        flatten_answer(play_again(recorded, method, "1", seed=seed).outcome["raw"]) for seed in range(40)
    )
    assert any(wanted == _comparable(raw["answer_generation"]["train_messages"]) for raw in played)


def test_diversity_messages_list_the_same_calls(shared_data: Path) -> None:
    """With upstream's name for the score, each list of earlier calls is found in the recorded message."""
    recorded, method = _answers(shared_data)["DFS_woFilter_w2/588"]
    wording = {
        "diversity": "{previous_candidate}",
        "former-observation": "",
        "score-name": "mento-carlo-action-value",
    }
    end = play_again(recorded, method, "588", wording=wording)
    old = recorded["answer_generation"]["train_messages"]
    new = end.outcome["raw"]["answer_generation"]["train_messages"]
    pairs = [
        (theirs["content"], ours["content"])
        for old_history, new_history in zip(old, new, strict=True)
        for theirs, ours in zip(old_history, new_history, strict=True)
        if theirs.get("valid") is False
    ]
    assert pairs
    assert all(ours in theirs for theirs, ours in pairs)


@pytest.mark.parametrize("name", ["CoT@1/588", "CoT@1/608", "CoT@1/1073", "DFS_woFilter_w2/588"])
def test_played_answers_have_the_field_order_of_the_example(shared_data: Path, name: str) -> None:
    """Every object of a played answer names its fields in the order of the shipped file."""
    recorded, method = _answers(shared_data)[name]
    played = flatten_answer(play_again(recorded, method, name.split("/")[1]).outcome["raw"])
    assert _orders(recorded) == _orders(played)


def _orders(value: Json) -> Json:
    """Field names of every object but messages, whose order the model's client chose."""
    if isinstance(value, list):
        return [_orders(item) for item in value]
    if not isinstance(value, dict) or "role" in value:
        return None
    return [(name, _orders(item)) for name, item in value.items()]


def test_opening_messages_are_upstreams_with_its_wording(shared_data: Path) -> None:
    """System and user message equal the recorded ones when wording and tool descriptions are upstream's."""
    recorded, _ = _answers(shared_data)["CoT@1/1073"]
    answer = recorded["answer_generation"]
    queries = json.loads(
        (
            shared_data / "stabletoolbench/solvable_queries_example/test_instruction/G1_instruction.json"
        ).read_text()
    )
    query = next(item for item in queries if item["query_id"] == 1073)
    messages = answer["train_messages"][0]
    wording = read_wording(query["api_list"], answer["function"], messages=messages, query=query["query"])
    assert wording is not None
    prompts = load_prompts(wording)
    listed = messages[0]["content"].removeprefix(wording.system).splitlines()
    tools = [(line.split(".", 1)[1].split(": ", 1)[0], line.split(": ", 1)[1]) for line in listed]
    opening = prompts.opening(prompts.task_description(tools), query["query"])
    assert [message["content"] for message in messages[:2]] == [message.content for message in opening]
