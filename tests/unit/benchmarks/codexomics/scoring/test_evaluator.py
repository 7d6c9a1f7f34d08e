"""The official evaluator, rule by rule: what passes under which tier, and what a failure scores."""

from __future__ import annotations

import pytest

from replay.benchmarks.codexomics.records import Tier
from replay.core.types import Json
from tests.unit.benchmarks.codexomics.builders import call, judge, single, steps

ALL = list(Tier)
STRICT = [Tier.CONTRACT, Tier.EXECUTION]


def ran(tool: str, **parameters: Json) -> Json:
    """A call that ran and succeeded."""
    return call(tool, executed=True, success=True, **parameters)


@pytest.mark.parametrize("tier", ALL)
def test_the_expected_call_passes_every_tier(tier: Tier) -> None:
    """A call that is right, valid, and ran passes under all four tiers with the full score."""
    found = judge(single("compute_gc", sequence="ATGC"), ran("compute_gc", sequence="ATGC"), tier=tier)
    assert (True, 5, 5, tier) == (found.success, found.score, found.max_score, found.tier)


@pytest.mark.parametrize(
    ("tier", "passes"),
    [
        (Tier.CONTRACT, True),
        (Tier.EXECUTION, False),
        (Tier.COMPLETION, True),
        (Tier.COMPLETION_EXECUTED, False),
    ],
)
def test_execution_is_needed_where_the_tier_says_so(tier: Tier, passes: bool) -> None:
    """A call that was not seen to run passes the offline tiers only."""
    assert passes is judge(single("a"), call("a"), tier=tier).success


def test_unknown_success_is_not_success() -> None:
    """A call that ran with no word of its success fails an execution tier."""
    assert not judge(single("a"), call("a", executed=True), tier=Tier.EXECUTION).success


@pytest.mark.parametrize("name", ["computeGc", "compute-gc", "Compute Gc", "compute_gc"])
def test_tool_names_are_one_name_in_every_spelling(name: str) -> None:
    """Camel case, kebab case, blanks and snake case name one tool."""
    assert judge(single("compute_gc"), call(name), tier=Tier.CONTRACT).success


@pytest.mark.parametrize("tier", STRICT)
def test_a_strict_tier_fails_any_extra_call(tier: Tier) -> None:
    """One more call, read-only or not, fails and scores one under the maximum."""
    found = judge(single("a"), ran("a"), ran("get_current_state"), tier=tier)
    assert (False, 4, ("get_current_state",)) == (found.success, found.score, found.unexpected_calls)


def test_a_swapped_pair_counts_one_match() -> None:
    """The ordered matcher walks forward, so of two swapped calls one is found."""
    found = judge(steps(("a", {}), ("b", {})), call("b"), call("a"), tier=Tier.CONTRACT)
    assert (False, 1) == (found.success, found.counts.tool_matches)


def test_completion_takes_any_order() -> None:
    """The completion tier covers each expected step by a distinct call, whatever the order."""
    assert judge(steps(("a", {}), ("b", {})), call("b"), call("a")).success


def test_order_free_steps_permute_inside_their_window() -> None:
    """A run of order-free steps may come in any order between the ordered ones."""
    test = steps(("a", {}), ("t", {"k": 1}), ("t", {"k": 2}), ("b", {}), free=["t"])
    calls = (call("a"), call("t", k=2), call("t", k=1), call("b"))
    assert judge(test, *calls, tier=Tier.CONTRACT).success


def test_order_free_steps_stay_in_their_window() -> None:
    """An order-free call after the next ordered step breaks the sequence."""
    test = steps(("a", {}), ("t", {}), ("b", {}), free=["t"])
    assert not judge(test, call("a"), call("b"), call("t"), tier=Tier.CONTRACT).counts.sequence_ok


def test_order_free_steps_are_paired_greedily() -> None:
    """The first step takes the first call that fits it, although the other pairing would be whole."""
    test = steps(("t", {"benchmarkAnyOf": [{"k": 1}, {"k": 2}]}), ("t", {"k": 1}), free=["t"])
    found = judge(test, call("t", k=1), call("t", k=2))
    assert (False, 1) == (found.success, found.counts.parameter_matches)


def test_a_step_may_name_several_tools() -> None:
    """Any tool of a list of acceptable tools is the step's."""
    assert judge(
        steps((["jump", "zoom"], {}), ("b", {})), call("zoom"), call("b"), tier=Tier.CONTRACT
    ).success


@pytest.mark.parametrize(
    ("expected", "called"),
    [
        ("translate_sequence", "translate_dna"),
        ("translate_dna", "translate_sequence"),
        ("blast_search", "blast_search_online"),
        ("blast_create_db_from_genome", "blast_create_quick_db_for_current_genome"),
    ],
)
def test_equivalent_tools_count_under_completion_only(expected: str, called: str) -> None:
    """An equivalent tool stands for the expected one offline, and never under a strict tier."""
    verdicts = [
        judge(single(expected), call(called), tier=tier).success for tier in (Tier.COMPLETION, Tier.CONTRACT)
    ]
    assert [True, False] == verdicts


@pytest.mark.parametrize("tier", ALL)
def test_a_test_without_an_expected_tool_never_passes(tier: Tier) -> None:
    """Nothing expected is never satisfied, with or without calls."""
    verdicts = [judge({"expectedResult": {}}, *calls, tier=tier).success for calls in ((), (ran("a"),))]
    assert [False, False] == verdicts


def test_no_call_scores_nothing() -> None:
    """Without a call every share is 0, the schema's too."""
    assert (0, False) == ((found := judge(single("a"))).score, found.counts.schemas_ok)


def test_a_repeat_count_drops_the_expected_parameters() -> None:
    """Two repeats of a call pass with any arguments."""
    test = {"expectedResult": {"tool_name": "add_task", "parameters": {"title": "A"}, "expectedCallCount": 2}}
    assert judge(test, call("add_task", title="X"), call("add_task"), tier=Tier.CONTRACT).success


def test_every_observed_call_must_be_valid() -> None:
    """A rejected call that is corrected still fails the case."""
    schemas = {"a": {"required": ["k"]}}
    found = judge(single("a", k=1), call("a"), call("a", k=1), schemas=schemas)
    assert (False, 1, True) == (found.success, found.counts.schema_valid, found.counts.arguments_ok)


def test_completion_repairs_track_alias_and_quotes_before_the_schema() -> None:
    """`gc` is gc_content and a text in a second pair of quotes is itself, for schema and arguments."""
    schemas = {"toggle_track": {"properties": {"track_name": {"enum": ["gc_content"]}}}}
    alias = judge(
        single("toggle_track", track_name="gc_content"),
        call("toggle_track", track_name="gc"),
        schemas=schemas,
    )
    quoted = judge(single("a", name="lacZ"), call("a", name='"lacZ"'))
    assert [True, True] == [alias.success, quoted.success]


def test_call_only_tests_report_the_contract_tier() -> None:
    """A call-only test is judged as a contract and loses the rule on extra calls."""
    test = {**single("a"), "assertCallOnly": True}
    found = judge(test, call("a"), call("delete_annotation"), tier=Tier.COMPLETION_EXECUTED)
    assert (True, Tier.CONTRACT, 1.0) == (found.success, found.tier, found.weighted_ratio)


def test_evidence_follows_the_call_whose_arguments_match() -> None:
    """A wrong first call that failed does not stand for the right second one that succeeded."""
    calls = (call("a", executed=True, success=False, x=1), ran("a", k=1))
    verdicts = [
        judge(single("a", k=1), *calls, tier=t).success for t in (Tier.COMPLETION_EXECUTED, Tier.EXECUTION)
    ]
    assert [True, False] == verdicts


@pytest.mark.parametrize(
    ("tier", "ratio", "score"),
    [
        (Tier.CONTRACT, 0.65, 3),
        (Tier.EXECUTION, 0.75, 3),
        (Tier.COMPLETION, 0.5, 2),
        (Tier.COMPLETION_EXECUTED, 0.75, 3),
    ],
)
def test_partial_scores_are_weighted_and_cut(tier: Tier, ratio: float, score: int) -> None:
    """One wrong argument of a call that ran costs its share, and the rest is rounded down."""
    made = call("a", executed=tier.needs_execution, success=True if tier.needs_execution else None, k=2)
    found = judge(single("a", k=1), made, tier=tier)
    assert (ratio, score) == (round(found.weighted_ratio, 9), found.score)


def test_errors_name_positions_parameter_and_both_values() -> None:
    """The text of a mismatch says which step, which call, which parameter, expected and received."""
    found = judge(steps(("b", {}), ("a", {"k": 1})), call("b"), call("a", k="x" * 300))
    (error,) = found.errors
    assert error.startswith(
        "expected call 2 of 2 (a), observed call 2 of 2: parameter 'k' expected 1, received"
    )
    assert error.endswith("...")
    assert len(error) < 300
