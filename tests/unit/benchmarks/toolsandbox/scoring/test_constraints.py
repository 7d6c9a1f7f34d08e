"""Cells, rows and relations, officially and with defects mended."""

from __future__ import annotations

from typing import Any

import pytest

from replay.benchmarks.toolsandbox.records import Override
from replay.benchmarks.toolsandbox.scoring.columns import CellScorer
from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError, OfficialCrashError
from replay.benchmarks.toolsandbox.scoring.extractors import EXTRACTORS, extract_values, fill_text
from replay.benchmarks.toolsandbox.scoring.relations import RelationScorer
from replay.benchmarks.toolsandbox.scoring.rules import OFFICIAL, STRICT, Rules
from tests.support.toolsandbox_rows import FUNCTIONS, make_constraint, with_trace_texts

ADA = {"person_id": "1", "name": "Ada"}
BOB = {"person_id": "2", "name": "Bob"}
CY = {"person_id": "3", "name": "Cy"}


def cell(name: str, value: Any, target: Any, rules: Rules = OFFICIAL, **tolerances: Any) -> float | None:
    """Score one cell of column `c` by a similarity's short name."""
    override = Override(fn=FUNCTIONS.get(name, name), atol_dict=tolerances or None)
    return CellScorer(rules).score("SANDBOX", "c", cell=value, target=target, override=override)


def relate(fn: str, now: Any, before: Any, target: Any, rules: Rules = OFFICIAL) -> float:
    """Score a relation between two states of the contacts."""
    constraint = make_constraint({"database": "CONTACT", "fn": fn, "target": target, "reference": 0})
    return RelationScorer(rules).score(constraint, now, before)


@pytest.mark.parametrize(
    ("official", "strict", "name", "value", "target"),
    [
        (None, 0.0, "exact", None, "x"),
        (1.0, 1.0, "exact", None, None),
        (0.0, 0.0, "exact", "x", None),
        (None, 0.0, "contains", None, "x"),
        (1.0, 0.0, "contains", "It is 121 degrees", "21"),
        (1.0, 0.0, "contains", "It is 21.5 degrees", "21"),
        (1.0, 1.0, "contains", "It is 21.", "21"),
        (1.0, 1.0, "contains", "It is 21.5°", "21.5"),
        (1.0, 1.0, "contains", "r = search_lat_lon(**p)", "search_lat_lon"),
        (1.0, 1.0, "contains", "call +10000000000 now", "+10000000000"),
        (1.0, 1.0, "contains", "x", ""),
        (1.0, 1.0, "one", None, "x"),
    ],
)
def test_one_cell(official: Any, strict: Any, name: str, value: Any, target: Any) -> None:
    """A cell scores a fraction or null officially, and a fraction strictly."""
    assert (official, strict) == (cell(name, value, target), cell(name, value, target, STRICT))


@pytest.mark.parametrize(
    ("expected", "value", "target", "tolerances"),
    [
        (1.0, 37.001, 37.0, {"c": 0.01}),
        (0.0, 37.1, 37.0, {"c": 0.01}),
        (0.0, 37.001, 37.0, {"other": 1}),
        (1.0, 10**400, 0, {"c": "Infinity"}),
        (0.0, "37", 37, {"c": "Infinity"}),
    ],
)
def test_close_numbers(expected: float, value: Any, target: Any, tolerances: Any) -> None:
    """Tolerances hold for the column they name, and for numbers only."""
    assert expected == cell("close", value, target, **tolerances)


@pytest.mark.parametrize(
    ("kind", "name", "value", "target", "tolerances"),
    [
        ("AssertionError", "close", 1.0, 1.0, {}),
        ("AssertionError", "close", 1.0, "x", {"c": 1}),
        ("PanicException", "rouge_l", None, "x", {}),
        ("PanicException", "tool_trace", ["{no json"], {"tool_name": "f", "arguments": {}}, {}),
        ("PanicException", "tool_trace", ["[1]"], {"tool_name": "f", "arguments": {}}, {}),
        ("TypeError", "tool_trace", ["{}"], None, {}),
        ("InvalidOperationError", "contains", 1.0, "x", {}),
    ],
)
def test_official_exceptions_have_names(
    kind: str, name: str, value: Any, target: Any, tolerances: Any
) -> None:
    """Where the official function raises, the crash says what; strictly the same cell scores a fraction."""
    with pytest.raises(OfficialCrashError, match=kind):
        cell(name, value, target, **tolerances)
    strict = cell(name, value, target, STRICT, **tolerances)
    assert strict in {0.0, 1.0}


def test_an_unknown_similarity_is_refused_by_name() -> None:
    """The refusal lists the similarities there are."""
    with pytest.raises(DefinitionError, match="unknown similarity 'sounds_like'; known: column_exact"):
        cell("sounds_like", "a", "a")


def test_traces_match_by_python_equality() -> None:
    """True, 1 and 1.0 are one value; arguments that are not asked for do not count."""
    golden = {"tool_name": "f", "arguments": {"on": True}}
    seen = with_trace_texts([{"tool_name": "f", "arguments": {"on": 1.0, "x": 2}, "result": None}])
    assert cell("tool_trace", seen, golden) == 1.0


@pytest.mark.parametrize(
    ("official", "strict", "fn", "now", "before", "target"),
    [
        (1.0, 1.0, "addition_similarity", [ADA, BOB], [ADA], [{"name": "Bob"}]),
        (0.0, 0.0, "addition_similarity", [BOB], [ADA], [{"name": "Bob"}]),
        (0.0, 1.0, "addition_similarity", [ADA, ADA, BOB], [ADA], [{"name": "Bob"}, {"name": "Ada"}]),
        (1.0, 1.0, "removal_similarity", [ADA], [ADA, BOB], [{"name": "Bob"}]),
        (1.0, 1.0, "update_similarity", [ADA, CY], [ADA, BOB], [{"name": "Cy"}]),
        (0.0, 0.0, "update_similarity", [ADA], [ADA, BOB], [{"name": "Cy"}]),
        (0.0, 1.0, "guardrail_similarity", [BOB, ADA], [ADA, BOB], []),
        (1.0, 1.0, "guardrail_similarity", [], [], []),
        (0.0, 1.0, "update_similarity", [{**ADA, "relationship": ""}], [ADA], [{"name": "Ada"}]),
    ],
)
def test_relations(official: float, strict: float, fn: str, now: Any, before: Any, target: Any) -> None:
    """Joins, null filling and row order are official; multisets of rows as they are, strict."""
    assert (official, strict) == (
        relate(fn, now, before, target),
        relate(fn, now, before, target, STRICT),
    )


@pytest.mark.parametrize("name", sorted(EXTRACTORS))
@pytest.mark.parametrize(
    "trace", [{}, {"result": None}, {"result": "x"}, {"result": {"days": "x"}}, [], None, 3]
)
def test_extractors_read_nothing_from_what_is_not_theirs(name: str, trace: Any) -> None:
    """A trace that has not what is read gives no values, and no exception."""
    assert extract_values(name, trace) == []


def test_a_temperature_is_told_in_four_precisions() -> None:
    """None to three decimals."""
    found = extract_values("result_to_temperature_extractor", {"result": 21.345})
    assert [{"temperature": text} for text in ("21", "21.3", "21.34", "21.345")] == found


def test_a_format_cannot_reach_into_values() -> None:
    """Names with dots or indices are names without a value."""
    with pytest.raises(KeyError):
        fill_text("{days.__class__.__mro__}", {"days": 3})


def test_a_format_cannot_ask_for_memory() -> None:
    """A width of millions is refused."""
    with pytest.raises(OfficialCrashError, match="format"):
        fill_text("{days:>999999999}", {"days": 3})


def test_an_unknown_relation_is_refused_by_name() -> None:
    """The refusal lists the relations there are."""
    with pytest.raises(DefinitionError, match="unknown relation 'likeness'; known: snapshot_similarity"):
        relate("likeness", [ADA], [ADA], [])
