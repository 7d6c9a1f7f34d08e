"""What an expected value accepts, key by key (the table of the matching rules)."""

from __future__ import annotations

import pytest

from replay.benchmarks.codexomics.records import Tier
from replay.core.types import Json
from tests.unit.benchmarks.codexomics.builders import call, judge, single

BOTH = (Tier.CONTRACT, Tier.COMPLETION)


def verdicts(tool: str, expected: Json, received: Json) -> list[bool]:
    """Verdicts of one call under the contract and the completion tier."""
    return [judge(single(tool, **expected), call(tool, **received), tier=tier).success for tier in BOTH]


@pytest.mark.parametrize(
    ("expected", "received", "contract", "completion"),
    [
        (12, "12", True, True),
        (12, [12], True, True),
        (1, True, True, True),
        (0, "", True, True),
        (0, None, True, True),
        (0, False, True, True),
        (0, [], True, True),
        (12, "twelve", False, False),
        (0, {}, False, False),
        (16, "0x10", True, True),
        (1.5, "1.5e0", True, True),
        (True, "TRUE", True, True),
        (True, 1, False, False),
        (False, 0, False, False),
        (True, "show", False, True),
        (False, "off", False, True),
        ("lacZ", " LACZ ", True, True),
        ("lacZ", ["lacZ"], False, True),
        (["lacZ"], "lacZ", False, True),
        (["a", "b"], ["b", "a"], False, False),
        (["a"], ["a", "b"], False, False),
        ("./a/./b.txt", ".\\a\\b.txt", True, True),
        ("/data//Run", "/DATA/RUN", True, True),
        ({"a": 1}, {"a": 1, "b": 2}, True, True),
        ({"a_b": 1}, {"aB": 1}, True, True),
        ({"a": 1}, {"b": 1}, False, False),
        (None, None, True, True),
    ],
)
def test_values(expected: Json, received: Json, contract: bool, completion: bool) -> None:
    """Each kind of expected value accepts what the official evaluator accepts, coercions included."""
    assert [contract, completion] == verdicts("tool", {"key": expected}, {"key": received})


@pytest.mark.parametrize("value", [None, "", "  ", [], "<id>", "{tool.field}"])
def test_placeholders_want_a_concrete_value(value: Json) -> None:
    """Null, blanks, an empty list and another placeholder do not stand for a value."""
    assert [False, False] == verdicts("tool", {"key": "<id>"}, {"key": value})


@pytest.mark.parametrize(
    ("marker", "value", "passes"),
    [
        ("<created_annotation_id>", "user_17_ab3", True),
        ("<created_annotation_id>", "lacZ", False),
        ("<created_protein_database>", "Ecoli_protein", True),
        ("<created_protein_database>", "my-prot-db", True),
        ("<created_protein_database>", "proteome", False),
        ("{open_new_tab.tab_id}", "anything", True),
        ("<current_chromosome>", False, True),
    ],
)
def test_placeholders_with_rules_of_their_own(marker: str, value: Json, passes: bool) -> None:
    """Created annotations and protein databases have a form; other markers take any concrete value."""
    assert [passes, passes] == verdicts("tool", {"key": marker}, {"key": value})


@pytest.mark.parametrize(
    ("expected", "received"),
    [
        ("filename", "filePath"),
        ("filePath", "output_path"),
        ("outputPath", "path"),
        ("inputFile", "filename"),
        ("database", "dbName"),
        ("databaseName", "database"),
        ("tab_index", "tab"),
        ("sequence", "dna"),
        ("dna", "sequence"),
        ("primerSequence", "sequence"),
        ("includeCoordinates", "include_coords"),
    ],
)
def test_key_aliases(expected: str, received: str) -> None:
    """A documented alias carries the value of the expected key under every tier."""
    assert [True, True] == verdicts("tool", {expected: "x"}, {received: "x"})


@pytest.mark.parametrize(
    ("expected", "received"), [("dna", "primerSequence"), ("path", "filename"), ("filename", "inputFile")]
)
def test_aliases_hold_in_their_direction_only(expected: str, received: str) -> None:
    """What the table does not list is no alias."""
    assert [False, False] == verdicts("tool", {expected: "x"}, {received: "x"})


def test_defaults_may_be_left_out_or_equal() -> None:
    """A default marker is satisfied by omission or by its value, and by nothing else."""
    expected = {"factor": {"benchmarkDefaultValue": 2}}
    found = [verdicts("zoom", expected, received)[0] for received in ({}, {"factor": 2}, {"factor": 3})]
    assert [True, True, False] == found


@pytest.mark.parametrize(
    ("groups", "received", "contract", "completion"),
    [
        ([{"a": 1}, {"b": 2}], {"b": 2}, True, True),
        ([{"a": 1}, {"b": 2}], {"b": 3}, False, False),
        ([{"a": 1, "b": {"benchmarkDefaultValue": 2}}], {"a": 1}, True, True),
        ([{"a": "<x>", "b": 2}], {"b": 2}, False, True),
        ([{"benchmarkAnyOf": [{"a": 1}]}], {"a": 1}, False, False),
        ([{"a": 1, "benchmarkAnyOf": [{"c": 3}]}], {"a": 1, "c": 3}, True, True),
        ([], {"a": 1}, False, False),
    ],
)
def test_alternatives(groups: Json, received: Json, contract: bool, completion: bool) -> None:
    """One group must be supplied and match; defaults and placeholders need not be supplied."""
    assert [contract, completion] == verdicts("tool", {"benchmarkAnyOf": groups}, received)


@pytest.mark.parametrize(
    ("tool", "expected", "received"),
    [
        ("switch_to_tab", {"tab_id": "t"}, {"tab_index": 1}),
        ("switch_to_tab", {"tab_id": "t"}, {"tabName": "x"}),
        ("blast_create_quick_db_for_current_genome", {"dbName": "x"}, {"genomeName": "y"}),
        ("navigate_to_position", {"position": 5}, {"start": 6}),
        ("navigate_to_position", {"start": 5}, {"position": 6}),
        ("export_bed_format", {"export_range": "current_view"}, {"start_position": 1, "end_position": 2}),
        ("capture_screenshot", {"mode": "visible"}, {"target": "tracks"}),
        ("create", {"chromosome": "<current_chromosome>"}, {}),
    ],
)
def test_completion_accepts_what_stands_for_a_missing_key(tool: str, expected: Json, received: Json) -> None:
    """Documented alternatives count by presence under completion, never under a strict tier."""
    assert [False, True] == verdicts(tool, expected, received)


@pytest.mark.parametrize(
    ("tool", "expected", "received"),
    [
        ("switch_to_tab", {"tab_id": "t"}, {"tab_name": " "}),
        ("export_bed_format", {"export_range": "all"}, {"start_position": 1}),
        ("capture_screenshot", {"mode": "visible"}, {"target": "full_application"}),
        ("other", {"position": 5}, {"start": 5}),
        ("tool", {"key": 1}, {}),
    ],
)
def test_nothing_else_stands_for_a_missing_key(tool: str, expected: Json, received: Json) -> None:
    """A blank, half a range, or another tool's alternative is no alternative."""
    assert [False, False] == verdicts(tool, expected, received)


@pytest.mark.parametrize(
    ("received", "contract", "completion"),
    [
        ({"track_name": "GC Content", "visible": True}, True, True),
        ({"track_name": "gc", "action": "show"}, True, True),
        ({"track_name": "gc-contents", "visible": "on"}, True, True),
        ({"track_name": "gc", "action": "hide"}, False, False),
        ({"track_name": "gc", "action": "toggle"}, False, True),
        ({"track_name": "genes", "visible": True}, False, False),
    ],
)
def test_tracks(received: Json, contract: bool, completion: bool) -> None:
    """Track names and words of visibility are folded; a blind toggle satisfies completion."""
    expected = {"track_name": "gc_content", "visible": True}
    assert [contract, completion] == verdicts("toggle_track", expected, received)


def test_the_view_is_exported_by_either_key() -> None:
    """CurrentViewOnly and the sequence type current_view stand for each other."""
    first = verdicts("export_fasta_sequence", {"currentViewOnly": True}, {"sequence_type": "current_view"})
    second = verdicts("export_fasta_sequence", {"sequenceType": "current_view"}, {"current_view_only": True})
    assert [True, True, True, True] == first + second


def test_a_complete_analysis_includes_the_domains() -> None:
    """Under completion `complete` satisfies `domains`."""
    found = verdicts("analyze_interpro_domains", {"analysis_type": "domains"}, {"analysis_type": "complete"})
    assert [False, True] == found


def test_a_missing_placeholder_is_not_tolerated_in_an_invalid_call() -> None:
    """Where the schema requires the key, leaving it to the session fails every tier."""
    schemas = {"create": {"required": ["chromosome"]}}
    test = single("create", chromosome="<current_chromosome>", name="x")
    found = judge(test, call("create", name="x"), schemas=schemas)
    assert (False, 0) == (found.success, found.counts.parameter_matches)
