"""Laws of CodeXomics' evaluators: gold answers pass, order-free order is free, nothing makes them crash."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from replay.benchmarks.codexomics.naming import camel_key, tool_key
from replay.benchmarks.codexomics.records import ExpectedCall, ObservedCall, Tier
from replay.benchmarks.codexomics.scoring.baselines import baseline_calls
from replay.benchmarks.codexomics.scoring.evaluator import Registry, assess
from replay.benchmarks.codexomics.scoring.evidence import read_evidence
from replay.benchmarks.codexomics.scoring.pairing import pair_calls
from replay.benchmarks.codexomics.scoring.rules import CORRECTED, OFFICIAL
from replay.core.types import Json

UNJUDGED = Registry(schemas={}, knows_all=False)
NAMES = st.sampled_from(["zoom_in", "get_sequence", "toggle_track", "blast_search", "navigate_to_position"])
PLAIN = st.one_of(
    st.integers(-1000, 1000),
    st.booleans(),
    st.text(alphabet="abcXYZ019", min_size=1, max_size=6),
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
)
KEYS = st.sampled_from(["start", "end", "geneName", "label", "name"])
VALUES = st.one_of(PLAIN, PLAIN.map(lambda value: {"benchmarkDefaultValue": value}), st.just("<any>"))
PARAMETERS = st.dictionaries(KEYS, VALUES, max_size=3)
ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=5),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Json]:
    """A test with one to four steps."""
    size = draw(st.integers(1, 4))
    return {
        "complexity": "complex",
        "expectedResult": {
            "tool_sequence": draw(st.lists(NAMES, min_size=size, max_size=size)),
            "parameters": draw(st.lists(PARAMETERS, min_size=size, max_size=size)),
        },
    }


@given(plans(), st.sampled_from(list(Tier)), st.sampled_from([OFFICIAL, CORRECTED]))
def test_a_gold_answer_passes(test: dict[str, Json], tier: Tier, rules: Json) -> None:
    """Submitting the oracle's values passes every tier, officially and corrected."""
    assert assess(test, baseline_calls("oracle-echo", test), tier, UNJUDGED, rules=rules).success


@given(plans(), st.randoms(use_true_random=False))
def test_completion_ignores_the_order_of_distinct_steps(test: dict[str, Json], random: Json) -> None:
    """A permutation of a gold answer passes corrected completion."""
    calls = list(baseline_calls("oracle-echo", test))
    random.shuffle(calls)
    assert assess(test, calls, Tier.COMPLETION, UNJUDGED, rules=CORRECTED).success


@given(plans(), st.sampled_from(list(Tier)))
def test_a_failed_case_never_scores_full(test: dict[str, Json], tier: Tier) -> None:
    """Without the last step a case fails and scores under the maximum."""
    found = assess(test, baseline_calls("last-step-missing", test), tier, UNJUDGED)
    assert (False, True) == (found.success, found.score < found.max_score)


@given(ANYTHING, ANYTHING, st.sampled_from(list(Tier)), st.sampled_from([OFFICIAL, CORRECTED]))
def test_no_value_makes_an_evaluator_crash(expected: Json, received: Json, tier: Tier, rules: Json) -> None:
    """Whatever the oracle and the call hold, there is a verdict."""
    test = {
        "expectedResult": {"tool_name": "toggle_track", "parameters": {"visible": expected, "key": expected}}
    }
    call = ObservedCall(tool="toggle_track", parameters={"action": received, "key": received})
    assert isinstance(assess(test, [call], tier, UNJUDGED, rules=rules).success, bool)


@given(st.dictionaries(st.sampled_from(["actualResult", "toolCalls", "calls", "toolExecutions"]), ANYTHING))
def test_no_record_makes_the_reading_of_evidence_crash(record: dict[str, Json]) -> None:
    """Whatever a record holds, its calls are a list."""
    assert isinstance(read_evidence(record).calls, tuple)


@given(st.text(max_size=20))
def test_folding_twice_changes_nothing(name: str) -> None:
    """Names and keys have one folded form."""
    assert (tool_key(name), camel_key(name)) == (tool_key(tool_key(name)), camel_key(camel_key(name)))


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=3, max_size=3))
def test_the_best_pairing_is_the_best(fits: list[list[bool]]) -> None:
    """Brute force over all pairings of three steps and calls finds none with more matches."""
    steps = [ExpectedCall(tools=("t",), parameters={}, is_order_free=True)] * 3
    calls = [ObservedCall(tool="t", parameters={})] * 3
    pairs = pair_calls(steps, calls, lambda i, j: fits[i][j], completion=True, best=True)
    ours = sum(1 for i, j in enumerate(pairs) if j is not None and fits[i][j])
    assert ours == max(
        sum(fits[i][j] for i, j in enumerate(order)) for order in itertools.permutations(range(3))
    )


@given(plans())
def test_each_correction_alone_keeps_gold_answers(test: dict[str, Json]) -> None:
    """No single correction fails what is right."""
    calls = baseline_calls("oracle-echo", test)
    for name in type(OFFICIAL).__struct_fields__:
        rules = replace(OFFICIAL, **{name: True})
        assert assess(test, calls, Tier.CONTRACT, UNJUDGED, rules=rules).success, name
