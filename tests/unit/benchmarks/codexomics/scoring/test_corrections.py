"""The corrected evaluator: each correction alone turns the verdict that its defect gets wrong."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from replay.benchmarks.codexomics.differences import DIFFERENCES, SEVERAL, difference_id
from replay.benchmarks.codexomics.records import ObservedCall, Tier
from replay.benchmarks.codexomics.scoring.rules import CORRECTED, OFFICIAL, Rules
from replay.core.types import Json
from tests.unit.benchmarks.codexomics.builders import call, judge, single, steps

TAB = replace(call("open_new_tab"), result={"tab_id": "tab_1", "tab_index": 1}, has_result=True)
BASES = replace(call("get_sequence"), result={"sequence": "ACGT"}, has_result=True)
REPEAT = {"expectedResult": {"tool_name": "add", "parameters": {"k": 1}, "expectedCallCount": 2}}
PAIR = steps(("t", {"benchmarkAnyOf": [{"k": 1}, {"k": 2}]}), ("t", {"k": 1}), free=["t"])
TABS = steps(("open_new_tab", {}), ("switch_to_tab", {"tab_id": "{open_new_tab.tab_id}"}))
FLOW = steps(("get_sequence", {}), ("translate_dna", {"dna": "{get_sequence.sequence}"}))

CASES: list[tuple[str, dict[str, Json], tuple[ObservedCall, ...], bool]] = [
    ("honest_evidence", single("a"), (replace(call("a", True, True), is_contradicted=True),), False),
    (
        "alternative_values",
        single("navigate_to_position", position=9),
        (call("navigate_to_position", start=5),),
        False,
    ),
    (
        "call_only_extras",
        {**single("a"), "assertCallOnly": True},
        (call("a"), call("delete_annotation")),
        False,
    ),
    ("destructive_extras", single("delete_x", k=1), (call("delete_x", k=1), call("delete_x", k=2)), False),
    ("data_flow", FLOW, (BASES, call("translate_dna", dna="A")), False),
    ("data_flow", TABS, (TAB, call("switch_to_tab", tab_id="tab_9")), False),
    ("best_pairing", PAIR, (call("t", k=1), call("t", k=2)), True),
    ("honest_numbers", single("a", k=0), (call("a", k=""),), False),
    ("honest_numbers", single("a", k=1), (call("a", k=True),), False),
    ("known_toggle", single("toggle_track", visible=True), (call("toggle_track", action="toggle"),), False),
    (
        "recovery",
        single("a", k=1),
        (call("a", executed=True, success=False, k=1), call("a", True, True, k=1)),
        True,
    ),
    ("repeated_parameters", REPEAT, (call("add", k=1), call("add", k=2)), False),
    ("path_case", single("a", path="/data/Run"), (call("a", path="/DATA/RUN"),), False),
    ("path_case", single("a", identifier="lacZ"), (call("a", identifier="LACZ"),), False),
    (
        "label_case",
        single("select_gene", geneName="lacZ"),
        (call("select_gene", geneName="lacZ"), call("highlight_region", label="LacZ")),
        True,
    ),
    ("writing_extras", single("a"), (call("a"), call("save_view_state")), False),
]


@pytest.mark.parametrize(("correction", "test", "calls", "corrected"), CASES)
def test_each_correction_decides_alone(
    correction: str, test: dict[str, Json], calls: tuple[ObservedCall, ...], corrected: bool
) -> None:
    """The official verdict is the other one, and this one correction is enough to turn it."""
    tier = Tier.COMPLETION_EXECUTED if calls[0].executed else Tier.COMPLETION
    alone = replace(OFFICIAL, **{correction: True})
    found = [judge(test, *calls, tier=tier, rules=rules).success for rules in (OFFICIAL, alone, CORRECTED)]
    assert [not corrected, corrected, corrected] == found


def test_further_keys_fail_the_strict_tiers_unless_they_hold_the_default() -> None:
    """An extra key is fine where it says what its schema says anyway."""
    schemas = {"get_sequence": {"properties": {"strand": {"default": "+"}}}}
    test = single("get_sequence", start=1)
    found = [
        judge(
            test,
            call("get_sequence", start=1, strand=strand),
            tier=Tier.CONTRACT,
            schemas=schemas,
            rules=CORRECTED,
        )
        for strand in ("+", "-")
    ]
    assert [True, False] == [item.success for item in found]


def test_the_session_knows_its_chromosome() -> None:
    """A chromosome other than the loaded one is wrong where the fixture says which it is."""
    test = single("a", chromosome="<current_chromosome>")
    facts = {"current_chromosome": "U00096"}
    found = [
        judge(test, call("a", chromosome=name), rules=CORRECTED, facts=facts).success
        for name in ("U00096", "chr1")
    ]
    assert [True, False] == found


def test_unknown_results_are_not_held_against_a_call() -> None:
    """Data flow is only judged where the earlier result is known."""
    assert judge(FLOW, call("get_sequence"), call("translate_dna", dna="A"), rules=CORRECTED).success


def test_a_known_toggle_counts_by_what_it_came_to() -> None:
    """A blind toggle whose result shows the expected state is as good as a plain one."""
    made = [
        replace(call("toggle_track", action="toggle"), result={"visible": visible}, has_result=True)
        for visible in (True, False)
    ]
    test = single("toggle_track", visible=True)
    assert [True, False] == [judge(test, item, rules=CORRECTED).success for item in made]


def test_order_free_steps_match_inside_their_own_window() -> None:
    """Arguments swapped across an ordered step are wrong, although the names are in order."""
    test = steps(("t", {"k": 1}), ("b", {}), ("t", {"k": 2}), free=["t"])
    calls = (call("t", k=2), call("b"), call("t", k=1))
    found = [judge(test, *calls, tier=Tier.CONTRACT, rules=rules).success for rules in (OFFICIAL, CORRECTED)]
    assert [True, False] == found


def test_recovery_is_counted() -> None:
    """A rejected call that is put right is set aside and counted."""
    schemas = {"a": {"required": ["k"]}}
    found = judge(single("a", k=1), call("a"), call("a", k=1), schemas=schemas, rules=CORRECTED)
    assert (True, 1) == (found.success, found.recovered)


def test_a_rejected_call_that_nothing_puts_right_still_fails() -> None:
    """Recovery wants the correction."""
    schemas = {"b": {"required": ["k"]}}
    assert not judge(single("a"), call("a"), call("b"), schemas=schemas, rules=CORRECTED).success


def test_the_offline_partial_score_has_no_share_for_execution() -> None:
    """One wrong argument offline costs the contract's share and no more."""
    ratios = [
        judge(single("a", k=1), call("a", k=2), rules=rules).weighted_ratio for rules in (OFFICIAL, CORRECTED)
    ]
    assert [pytest.approx(0.5), pytest.approx(0.65)] == ratios


def test_every_correction_is_in_the_table_of_differences() -> None:
    """A verdict that differs can always name its cause."""
    assert {SEVERAL, *map(difference_id, Rules.__struct_fields__)} == {entry.id for entry in DIFFERENCES}
