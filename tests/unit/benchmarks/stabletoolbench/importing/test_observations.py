"""Recorded API answers inside raw answers: which observations count, and how calls are routed."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.importing.answers_in import answer_calls
from replay.core.protocols import ImportResult
from replay.core.types import CallAlias, Json
from tests.unit.benchmarks.stabletoolbench.folders import QUERY_FILE, load, make_query, make_raw, write_tree

_TOOL = "Weather/weather_desk_for_Weather/current"
_GOOD = '{"error": "", "response": "cold"}'


def _load(root: Path, *answers: Json, **options: Json) -> ImportResult:
    files = {f"answer/c{n}/G1_instruction/7_CoT@1.json": answer for n, answer in enumerate(answers)}
    return load(write_tree(root, {QUERY_FILE: [make_query()], **files}), **options)


def test_a_complete_observation_is_a_recorded_answer(tmp_path: Path) -> None:
    """Identity, arguments and upstream key text are those the server saw; the origin is unknown."""
    (answer,) = _load(tmp_path, make_raw(('{"city": "Oslo", "n": 5.0}', _GOOD, 0))).answers
    assert answer.request is not None
    assert (answer.request.tool, answer.request.arguments) == (_TOOL, {"city": "Oslo", "n": 5.0})
    assert answer.aliases == (CallAlias(label="python-repr", tool=_TOOL, text="{'city': 'Oslo', 'n': 5.0}"),)
    assert answer.origin == "unknown"


def test_empty_arguments_are_no_arguments(tmp_path: Path) -> None:
    """The server reads an empty text as {}."""
    (answer,) = _load(tmp_path, make_raw(("", _GOOD, 0))).answers
    assert answer.request is not None
    assert answer.request.arguments == {}


@pytest.mark.parametrize(
    ("expected", "call"),
    [
        ("cut", ("{}", '{"error": "", "response": "' + "x" * 997 + "...", 0)),
        ("made-by-client", ("{}", '{"error": "No such function name: x", "response": ""}', 1)),
        ("made-by-client", ("{}", '{"error": "Timeout error...", "response": ""}', 5)),
        ("made-by-client", ("{}", '{"error": "request invalid, data error", "response": ""}', 12)),
        ("arguments-unreadable", ('{"city": ', _GOOD, 0)),
        ("arguments-unreadable", ('{"city": NaN}', _GOOD, 0)),
        ("parse-error", ("{}", '{"error": "Tool input parse error...\\n", "response": ""}', 0)),
        ("observation-unreadable", ("{}", "cold", 0)),
        ("observation-without-fields", ("{}", '{"response": 1}', 0)),
        ("recorded", ("{}", '{"error": "Unauthorized error...", "response": ""}', 7)),
    ],
)
def test_what_is_no_recorded_answer_is_counted(
    tmp_path: Path, expected: str, call: tuple[str, str, int]
) -> None:
    """Each observation counts under one reason."""
    counts = _load(tmp_path, make_raw(call)).report["observations"]
    assert counts == {"calls": 1, expected: 1}


def test_two_runs_that_saw_different_answers_collide(tmp_path: Path) -> None:
    """The first run's answer stays; the other is kept under its source and both are reported."""
    other = '{"error": "", "response": "warm"}'
    result = _load(tmp_path, make_raw(("{}", _GOOD, 0)), make_raw(("{}", other, 0)))
    kept, lost = result.answers
    assert (kept.request is None, lost.request is None) == (False, True)
    assert [alias.label for alias in lost.aliases] == ["other-recording"]
    assert result.report["answers"]["collisions"] == 1


def test_the_preferred_candidate_is_read_first(tmp_path: Path) -> None:
    """Whoever is named wins a collision."""
    other = '{"error": "", "response": "warm"}'
    result = _load(tmp_path, make_raw(("{}", _GOOD, 0)), make_raw(("{}", other, 0)), prefer="c1")
    assert result.answers[0].body == '{"error":"","response":"warm"}'


def test_a_cut_observation_that_differs_is_reported(tmp_path: Path) -> None:
    """What is left of a cut answer is enough to see that it was another one; it is not stored."""
    cut = '{"error": "", "response": "' + "x" * 997 + "..."
    result = _load(tmp_path, make_raw(("{}", _GOOD, 0)), make_raw(("{}", cut, 0)))
    assert len(result.answers) == 1
    (pair,) = result.report["answers"]["collisions_listed"]
    assert pair["answers"][1]["source"].endswith("call 0, cut")


def test_a_cut_observation_that_agrees_is_none(tmp_path: Path) -> None:
    """The start of the stored answer is no collision."""
    whole = '{"error": "", "response": "' + "x" * 2000 + '"}'
    result = _load(tmp_path, make_raw(("{}", whole, 0)), make_raw(("{}", whole[:1024] + "...", 0)))
    assert result.report["answers"]["collisions"] == 0


def test_observations_can_be_left_out(tmp_path: Path) -> None:
    """Who wants only the cache may say so."""
    assert _load(tmp_path, make_raw(("{}", _GOOD, 0)), observations="leave-out").answers == ()


def test_calls_of_a_tree_are_walked_in_order() -> None:
    """A deep tree is walked without recursion, children in their order."""
    node: Json = {
        "node_type": "Action Input",
        "description": "{}",
        "observation": "last",
        "observation_code": 0,
    }
    for depth in range(3000):
        node = {
            "node_type": "Action Input",
            "description": str(depth),
            "observation": "o",
            "observation_code": 0,
            "children": [{"node_type": "Action", "description": "f", "children": [node]}],
        }
    calls = list(answer_calls({"tree": {"tree": node}}))
    assert len(calls) == 3000
    assert calls[-1] == ("f", "{}", "last", 0)


def test_foreign_nodes_are_passed_over() -> None:
    """What is no node, or has no observation, is no call."""
    chain = [
        1,
        {"node_type": "Action", "description": "f"},
        {"node_type": "Action Input", "description": "{}"},
    ]
    assert list(answer_calls({"trys": [{"chain": chain}, 5, {"chain": None}]})) == []
