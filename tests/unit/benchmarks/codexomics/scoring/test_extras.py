"""Extra calls that the completion tiers tolerate, officially."""

from __future__ import annotations

import pytest

from replay.core.types import Json
from tests.unit.benchmarks.codexomics.builders import call, judge, single, steps


@pytest.mark.parametrize(
    ("tool", "tolerated"),
    [
        ("get_gene_details", True),
        ("list_annotations", True),
        ("search_features", True),
        ("find_gene_by_name", True),
        ("compute_gc", True),
        ("translate_dna", True),
        ("blast_search", True),
        ("blast_search_local", True),
        ("capture_screenshot", True),
        ("save_view_state", True),
        ("open_image_file", True),
        ("delete_annotation", False),
        ("insert_sequence", False),
        ("toggle_track", False),
        ("execute_actions", False),
    ],
)
def test_read_only_calls_are_tolerated(tool: str, tolerated: bool) -> None:
    """Looking is tolerated, changing is not; the list holds three that write."""
    assert tolerated is judge(single("a"), call("a"), call(tool)).success


def test_another_instance_of_an_expected_tool_is_tolerated() -> None:
    """A second deletion passes whatever it deletes (defect 3)."""
    test = single("delete_annotation", identifier="lacZ")
    calls = (call("delete_annotation", identifier="lacZ"), call("delete_annotation", identifier="fakG"))
    assert judge(test, *calls).success


def test_executing_the_queue_is_tolerated_after_an_expected_edit() -> None:
    """The queue may be executed where an edit was expected and made."""
    assert judge(single("paste_sequence"), call("paste_sequence"), call("execute_actions")).success


@pytest.mark.parametrize(
    ("saved", "exported", "tolerated"),
    [
        ({"auto_save": True, "filename": "/d/e.gbk"}, {"filename": "/d/e.gbk"}, True),
        ({"auto_save": True, "filename": "/d/e.gbk"}, {}, True),
        ({"auto_save": True, "filename": "/d/e.gbk"}, {"filename": "/d/other.gbk"}, False),
        ({"filename": "/d/e.gbk"}, {}, False),
        ({"auto_save": True}, {}, False),
    ],
)
def test_exporting_what_was_saved_is_tolerated(saved: Json, exported: Json, tolerated: bool) -> None:
    """A GenBank export says nothing new when the edits were saved to that file."""
    calls = (call("execute_actions", **saved), call("export_genbank_format", **exported))
    assert tolerated is judge(single("execute_actions"), *calls).success


@pytest.mark.parametrize(("label", "tolerated"), [("lacZ", True), ("LacZ", False), ("araA", False)])
def test_a_highlight_labelled_with_the_selected_gene_is_tolerated(label: str, tolerated: bool) -> None:
    """The label must be the gene, case included."""
    calls = (call("select_gene", geneName="lacZ"), call("highlight_region", label=label))
    assert tolerated is judge(single("select_gene", geneName="lacZ"), *calls).success


def test_an_unexpected_call_is_named_and_costs_the_case() -> None:
    """Condition 6: what is not tolerated fails a case that is otherwise whole."""
    found = judge(steps(("a", {}), ("b", {})), call("a"), call("b"), call("delete_annotation"))
    assert (False, ("delete_annotation",), True) == (
        found.success,
        found.unexpected_calls,
        found.counts.arguments_ok,
    )
