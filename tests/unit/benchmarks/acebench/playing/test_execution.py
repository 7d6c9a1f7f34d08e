"""Calls of one message: official mistakes under compat, one readable result a call under clean rules."""

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.playing.execution import Executed, Executor
from replay.benchmarks.acebench.playing.messages import read_calls, read_clean_calls
from replay.benchmarks.acebench.world.sandbox import Sandbox, tool_names
from replay.core.types import Json
from tests.support.ace_agents import drive, make_record, make_sandbox

LETTERS = list("Error during execution: {str(e)}")
WIFI = {"status": True, "message": "Wi-Fi has been turned on"}
UNBOUND = (
    "Error during execution: cannot access local variable 'func_call_result' where it is not associated "
    "with a value"
)


def run(message: str, how: str, *, box: Sandbox | None = None) -> Executed:
    """Carry out one message in a phone without food platform."""
    record = make_record()
    clean = how == "clean"
    world = box or make_sandbox(record, clean=clean)
    executor = Executor("t", 0, tool_names("en", record.involved_classes, clean=clean))
    calls = read_clean_calls(message) if clean else read_calls(message)
    run_calls = {"turn": executor.run_turn, "step": executor.run_step, "clean": executor.run_clean}[how]
    return drive(run_calls(calls), world)


@pytest.mark.parametrize("how", ["turn", "step", "clean"])
def test_results_come_one_a_call(how: str) -> None:
    """In the order of the calls."""
    assert [WIFI, WIFI] == run("[turn_on_wifi(), turn_on_wifi()]", how).observation


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("turn", [WIFI, WIFI]),
        ("step", [WIFI, WIFI]),
        ("clean", [WIFI, "Error during execution: no tool is called 'nothing'"]),
    ],
)
def test_an_unknown_second_tool_repeats_the_first_result(how: str, expected: Json) -> None:
    """Clean rules name it instead."""
    assert expected == run("[turn_on_wifi(), nothing()]", how).observation


@pytest.mark.parametrize(
    ("how", "expected", "whole"),
    [
        ("turn", LETTERS, False),
        ("step", [UNBOUND, WIFI], True),
        ("clean", ["Error during execution: no tool is called 'nothing'", WIFI], True),
    ],
)
def test_an_unknown_first_tool_is_an_error(how: str, expected: Json, whole: bool) -> None:
    """It ends a multi-turn message and nothing else."""
    done = run("[nothing(), turn_on_wifi()]", how)
    assert (expected, whole) == (done.observation, done.is_whole)


def test_an_error_keeps_what_was_done_before_it() -> None:
    """The state has changed though the agent sees letters only."""
    box = make_sandbox(make_record())
    done = run("[delete_message(message_id=3), send_message()]", "turn", box=box)
    assert (LETTERS, False) == (done.observation, done.is_whole)
    assert "3" not in box.state()["saved"][1]["MessageApi"]["inbox"]


def test_after_an_error_a_step_goes_on_with_the_result_before_it() -> None:
    """The unknown tool repeats the last result that there was."""
    done = run("[turn_on_wifi(), send_message(), nothing()]", "step")
    assert [WIFI, WIFI] == [done.observation[0], done.observation[2]]
    assert done.observation[1].startswith("Error during execution: MessageApi.send_message() missing 3")


def test_a_call_inside_an_argument_is_an_undefined_name() -> None:
    """Whatever it names; nothing runs."""
    done = run("[delete_message(message_id=int(x='3'))]", "step")
    assert done.observation == ["Error during execution: name 'int' is not defined"]


def test_a_message_of_no_calls_is_whole() -> None:
    """Upstream makes its objects and shows an empty list."""
    done = run("[word]", "turn")
    assert ([], True) == (done.observation, done.is_whole)


def test_values_that_json_has_not_reach_the_tool() -> None:
    """They are told as Python writes them."""
    done = run("[delete_message(message_id=b'x')]", "turn")
    assert done.observation == [{"status": False, "message": "Message ID does not exist"}]
