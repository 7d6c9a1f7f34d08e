"""What evaluators read of an outcome."""

from __future__ import annotations

import json

import pytest

from replay.benchmarks.stabletoolbench.scoring.outcomes import Points, finish_fields, read_outcome
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.answers import finish, make_outcome


def last_tool(details: Json) -> str:
    """Last tool of a converted answer with these details."""
    converted = {"answer": {"final_answer": "", "answer_details": details}}
    outcome = read_outcome({"converted": converted})
    assert outcome is not None
    assert outcome.answer is not None
    return outcome.answer.last_tool


def test_nothing_produced_is_none() -> None:
    """No outcome is not an empty outcome."""
    assert read_outcome(None) is None


def test_last_tool_of_a_chain() -> None:
    """The last tool message on the chain counts, whatever text stands between."""
    outcome = read_outcome(make_outcome(tools=("a", "b")))
    assert outcome is not None
    assert outcome.answer is not None
    assert outcome.answer.last_tool == "b"


def test_first_children_are_followed() -> None:
    """In a tree only first children are seen, as upstream walks it."""
    branch = {"role": "tool", "message": {"name": "Finish"}, "next": []}
    first = {"role": "tool", "message": {"name": "clock"}, "next": []}
    assert last_tool([{"role": "system", "message": "", "next": [first, branch]}]) == "clock"


@pytest.mark.parametrize(
    "details",
    [
        [],
        [None],
        ["text"],
        [{"role": "user"}],
        [{"role": "user", "next": {}}],
        [{"role": "system", "next": None}],
    ],
)
def test_odd_details_have_no_tool(details: Json) -> None:
    """Details of another shape are walked as far as they go."""
    assert last_tool(details) == ""


def test_tool_message_of_another_shape_is_no_finish() -> None:
    """A tool message that is text names no tool we know."""
    assert last_tool([{"role": "tool", "message": "Finish", "next": []}]) == "?"


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("the outcome is a JSON list, not an object", []),
        ("the converted answer has no object `answer`", {"converted": {}}),
        ("the converted answer has no object `answer`", {"converted": "text"}),
        ("`final_answer` is no text", {"converted": {"answer": {"final_answer": 1}}}),
        ("`answer_details` is no list", {"converted": {"answer": {"answer_details": {}}}}),
    ],
)
def test_unreadable_outcomes_name_their_fault(fault: str, outcome: Json) -> None:
    """What cannot be read is a fault, never an exception."""
    read = read_outcome(outcome)
    assert read is not None
    assert fault in read.fault
    assert read.answer is None


def test_statuses_by_run() -> None:
    """Runs are numbers, labels are known ones; the rest is not counted as a run."""
    read = read_outcome({"statuses": {"1": "Solved", "0": "Unsure", "2": "Perhaps", "x": "Solved"}})
    assert read is not None
    assert {0: "Unsure", 1: "Solved"} == read.statuses


def test_preferences_by_reference() -> None:
    """Points are whole numbers of both sides."""
    read = read_outcome(
        {"preferences": {"a": {"reference": 1, "candidate": 2}, "b": {"reference": True}, "c": 3}}
    )
    assert read is not None
    assert {"a": Points(reference=1, candidate=2)} == read.preferences


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (("give_answer", "noon"), finish("noon")),
        (("give_up_and_restart", ""), json.dumps({"return_type": "give_up_and_restart"})),
        (("give_answer", "a\nb"), '{"return_type": "give_answer", "final_answer": "a\nb"}'),
        (("", "plain words"), "plain words"),
        (
            ("give_up_and_restart", '{"return_type": "give_up_and_restart"'),
            '{"return_type": "give_up_and_restart"',
        ),
        (("", "[1]"), "[1]"),
        (("give_answer", '{"a": 1}'), '{"return_type": "give_answer", "final_answer": {"a": 1}}'),
        (("", ""), '{"return_type": 3, "final_answer": null}'),
    ],
)
def test_finish_fields(fields: tuple[str, str], text: str) -> None:
    """Finish arguments are split leniently; text that is no JSON is the answer."""
    assert fields == finish_fields(text)


def test_deep_finish_text_is_text() -> None:
    """A nesting bomb is no JSON object."""
    assert ("", "[" * 100_000) == finish_fields("[" * 100_000)
