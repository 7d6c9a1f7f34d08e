"""The rounds protocol under its three modes: budgets, nudges, refusals, stops, and what the record says."""

from __future__ import annotations

import json

import pytest

from replay.benchmarks.codexomics.playing.modes import MODES, find_mode
from replay.core.asks import CallAnswered
from replay.core.errors import InputError
from replay.core.types import Json
from tests.unit.benchmarks.codexomics.builders import make_task, play_turns, single, steps, turn

NAMES = [mode.name for mode in MODES]
TWO = steps(("zoom_in", {"factor": 2}), ("get_current_state", {}))
ZOOM = turn(("zoom_in", '{"factor": 2}'))
STATE = turn(("get_current_state", "{}"))
SILENT = turn(text="I am done.")


@pytest.mark.parametrize(
    ("name", "rounds"), [("oracle-assisted", 6), ("production-parity", 10), ("clean-parity", 10)]
)
def test_budgets_are_data(name: str, rounds: int) -> None:
    """Two expected steps give six rounds by the oracle, ten without it."""
    assert rounds == find_mode(name).max_rounds(2)


def test_an_unknown_mode_lists_those_there_are() -> None:
    """A wrong mode is refused with the allowed ones."""
    with pytest.raises(InputError, match="oracle-assisted, production-parity, clean-parity"):
        find_mode("parity")


@pytest.mark.parametrize(
    ("name", "asked"), [("oracle-assisted", 2), ("production-parity", 2), ("clean-parity", 3)]
)
def test_the_oracle_stops_all_but_the_clean_mode(name: str, asked: int) -> None:
    """With all steps covered two modes end the loop; the clean one asks until the candidate is silent."""
    end, requests, _ = play_turns(make_task(TWO), ZOOM, STATE, SILENT, mode=name)
    assert ("finished", asked) == (end.stop, len(requests))


def test_only_the_assisted_mode_discloses_counts() -> None:
    """A silent turn is nudged with counts there, and with a general line elsewhere."""
    nudges = {}
    for name in NAMES:
        _, requests, _ = play_turns(make_task(TWO), SILENT, ZOOM, STATE, SILENT, mode=name)
        nudges[name] = requests[1].messages[-1].content
    assert "0 of 2 steps" in str(nudges["oracle-assisted"])
    assert nudges["production-parity"] == nudges["clean-parity"]
    assert "step" not in str(nudges["clean-parity"])


def test_the_clean_mode_does_not_nudge_a_candidate_that_has_called() -> None:
    """Silence after a call is an answer there, with or without steps left."""
    end, requests, _ = play_turns(make_task(TWO), ZOOM, SILENT, mode="clean-parity")
    assert ("finished", 2) == (end.stop, len(requests))


def test_a_parity_mode_still_nudges_by_the_oracle() -> None:
    """Steps that are left bring a nudge although nothing of the oracle is said."""
    end, requests, _ = play_turns(make_task(TWO), ZOOM, SILENT, STATE, mode="production-parity")
    assert ("finished", 3, 1) == (end.stop, len(requests), end.outcome["record"]["nudges"])


@pytest.mark.parametrize("name", NAMES)
def test_silence_after_the_nudge_ends_the_episode(name: str) -> None:
    """A candidate that calls nothing is asked twice and has given up."""
    end, requests, _ = play_turns(make_task(TWO), SILENT, SILENT, SILENT, mode=name)
    assert ("gave-up", 2, []) == (end.stop, len(requests), end.outcome["record"]["calls"])


def test_the_budget_ends_a_run_that_goes_on() -> None:
    """Other calls for ever end at the budget."""
    other = turn(("compute_gc", '{"sequence": "A"}'))
    turns = [turn(("compute_gc", json.dumps({"sequence": "A" * n}))) for n in range(1, 20)]
    end, requests, _ = play_turns(make_task(TWO), other, *turns)
    assert ("step-limit", 6) == (end.stop, len(requests))


def test_an_invalid_call_is_answered_and_not_executed() -> None:
    """A call that does not fit its schema is rejected with the reason; the record says it did not run."""
    task = make_task(single("get_sequence", start=1, end=9), genome="demo-genome-1")
    bad = turn(("get_sequence", '{"start": 1}'))
    end, requests, _ = play_turns(
        task, bad, turn(("get_sequence", '{"start": 1, "end": 9}')), mode="clean-parity"
    )
    first, second = end.outcome["record"]["calls"]
    assert (False, False, True, True) == (
        first["schema_valid"], first["executed"], second["schema_valid"], second["executed"],
    )  # fmt: skip
    assert "required and missing" in str(requests[1].messages[-1].content)


@pytest.mark.parametrize(("rules", "executed"), [("compat", True), ("strict", False)])
def test_broken_arguments_are_none_officially_and_rejected_strictly(rules: str, executed: bool) -> None:
    """Text that is no JSON object is {} under compat rules; the record keeps the text either way."""
    task = make_task(single("zoom_in"), genome="demo-genome-1")
    end, _, _ = play_turns(task, turn(("zoom_in", '{"factor": ')), rules=rules, mode="clean-parity")
    (entry,) = end.outcome["record"]["calls"]
    assert ('{"factor": ', {}, executed) == (entry["arguments_text"], entry["parameters"], entry["executed"])


def test_an_unknown_tool_is_rejected_by_name() -> None:
    """A tool that no registry knows is answered with that, and counts as an invalid call."""
    end, requests, _ = play_turns(
        make_task(single("zoom_in")), turn(("make_it_so", "{}")), mode="clean-parity"
    )
    assert not end.outcome["record"]["calls"][0]["schema_valid"]
    assert "no tool 'make_it_so' in the registry" in str(requests[1].messages[-1].content)


def test_a_known_tool_that_was_not_offered_runs_and_is_marked() -> None:
    """The browser has the tool although the candidate was not shown it."""
    task = make_task(single("compute_gc", sequence="AC"), genome="demo-genome-1", shown=["zoom_in"])
    end, _, _ = play_turns(task, turn(("get_current_state", "{}")), mode="clean-parity")
    (entry,) = end.outcome["record"]["calls"]
    assert (True, False) == (entry["executed"], entry["offered"])


def test_repeats_are_refused() -> None:
    """The same tool with the same arguments twice is refused, and the refusal is in the record."""
    task = make_task(single("compute_gc", sequence="AC"), genome="demo-genome-1")
    twice = turn(("get_current_state", "{}"), ("get_current_state", "{}"))
    for name in NAMES:
        end, _, asked = play_turns(task, twice, mode=name)
        calls = end.outcome["record"]["calls"]
        assert [True, False] == [item["executed"] for item in calls[:2]]
        assert "Refused" in next(item.result.content for item in asked if isinstance(item, CallAnswered))


def test_five_tabs_are_no_repeats() -> None:
    """A test that wants equal calls gets as many, in every mode."""
    test = {"expectedResult": {"tool_name": "open_new_tab", "parameters": {}, "expectedTabsIncrease": 5}}
    task = make_task(test, genome="demo-genome-1")
    for name in NAMES:
        end, _, _ = play_turns(task, *[turn(("open_new_tab", "{}"))] * 5, SILENT, mode=name)
        assert [True] * 5 == [item["executed"] for item in end.outcome["record"]["calls"]]


def test_looking_again_after_a_change_is_no_repeat_in_the_clean_mode() -> None:
    """A read-only call is refused only while nothing has changed."""
    task = make_task(TWO, genome="demo-genome-1")
    end, _, _ = play_turns(task, STATE, ZOOM, STATE, SILENT, mode="clean-parity")
    assert [True, True, True] == [item["executed"] for item in end.outcome["record"]["calls"]]


def test_call_only_tests_execute_nothing() -> None:
    """The expected tool of such a test is answered without running."""
    task = make_task({**single("delete_annotation"), "assertCallOnly": True}, genome="demo-genome-1")
    end, _, _ = play_turns(task, turn(("delete_annotation", "{}")))
    (entry,) = end.outcome["record"]["calls"]
    assert (True, False) == (entry["callOnly"], entry["executed"])


def test_a_failed_turn_is_an_api_error_of_the_record() -> None:
    """A refused completion ends the loop; the case still has a record."""
    end, _, _ = play_turns(make_task(TWO), turn(finish="refused"))
    assert ("refused", True) == (end.stop, bool(end.outcome["record"]["api_error"]))


def test_the_record_says_mode_assistance_and_request() -> None:
    """Everything a figure depends on is in the record and the scope."""
    end, requests, _ = play_turns(make_task(TWO), ZOOM, STATE, max_tokens=77)
    record, scope = end.outcome["record"], end.outcome["scope"]
    assert {"temperature": 0, "max_tokens": 77} == record["request_settings"]
    assert 77 == requests[0].sampling.max_tokens
    assert ("oracle-assisted", "synthetic-contract-1") == (record["harness_mode"], record["tool_result_mode"])
    assert True is record["harness_assistance"]["expected_step_count_disclosed"]
    assert ("oracle-assisted", "r", "s") == (scope["mode"], scope["registry"], scope["suites"])


def test_candidates_are_the_frozen_ones_unless_the_switch_adds() -> None:
    """`always-present` puts expected tools beside the retrieved ones, within the limit."""
    task = make_task(TWO, shown=["compute_gc", "delete_annotation"])
    shown = []
    for rule in ("as-retrieved", "always-present"):
        _, requests, _ = play_turns(task, expected_tools=rule, candidates=3)
        shown.append([spec.name for spec in requests[0].tools])
    assert [["compute_gc", "delete_annotation"], ["compute_gc", "zoom_in", "get_current_state"]] == shown


def test_synthetic_results_are_repeatable_and_count_as_not_executed() -> None:
    """The same call gives the same labelled answer, which is no evidence of execution."""
    ends = [play_turns(make_task(TWO), ZOOM, STATE)[0].outcome["record"] for _ in range(2)]
    calls: list[Json] = ends[0]["calls"]
    assert ends[0] == ends[1]
    assert {False} == {item["executed"] for item in calls}
    assert {"simulated"} == {item["provenance"] for item in calls}
