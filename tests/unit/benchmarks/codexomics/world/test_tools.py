"""Every tool of the genome session does its work: one call each that succeeds, after what it needs."""

from __future__ import annotations

import pytest

from replay.benchmarks.codexomics.world.coverage import HANDLERS
from replay.benchmarks.codexomics.world.genome import load_genome
from replay.benchmarks.codexomics.world.session import Session
from replay.core.types import CallRequest, Json

PLACE: Json = {"chromosome": "DEMO01", "start": 10, "end": 60}
MADE: Json = {"type": "gene", "name": "made", "chromosome": "DEMO01", "start": 5, "end": 9}

BEFORE: dict[str, list[tuple[str, Json]]] = {
    "remove_highlight": [("highlight_region", {"start": 1, "end": 9})],
    "restore_view_state": [("save_view_state", {"name": "v"})],
    "switch_to_tab": [("open_new_tab", {})],
    "close_tab": [("open_new_tab", {})],
    "update_annotation": [("create_annotation", MADE)],
    "bulk_update_annotations": [("create_annotation", MADE)],
    "delete_annotation": [("create_annotation", MADE)],
    "paste_sequence": [("copy_sequence", PLACE)],
    "execute_actions": [("delete_sequence", PLACE)],
    "update_task": [("add_task", {"title": "t"})],
    "delete_task": [("add_task", {"title": "t"})],
    "blast_create_database": [("export_fasta_sequence", {"filename": "g.fasta"})],
    "blast_validate_database": [("blast_create_db_from_genome", {"chromosome": "DEMO01", "dbName": "d"})],
    "blast_delete_database": [("blast_create_db_from_genome", {"chromosome": "DEMO01", "dbName": "d"})],
}
"""Calls that a tool needs to have been made."""

WITH: dict[str, Json] = {
    "navigate_to_position": {"position": 500},
    "jump_to_gene": {"geneName": "lumA"},
    "zoom_to_gene": {"geneName": "lumA"},
    "select_gene": {"geneName": "DM_0005"},
    "select_sequence_region": PLACE,
    "highlight_region": PLACE,
    "remove_highlight": {"start": 1, "end": 9},
    "bookmark_position": {"name": "b"},
    "save_view_state": {"name": "v"},
    "restore_view_state": {"name": "v"},
    "switch_to_tab": {"tab_index": 1},
    "toggle_track": {"track_name": "genes"},
    "set_track_settings": {"track_type": "genes", "settings": {"height": 90}},
    "batch_set_track_settings": {"settings_map": {"genes": {"height": 90}, "gc": {"lineWidth": 3}}},
    "toggle_sidebar_panel": {"panel_name": "tracks", "action": "show"},
    "toggle_settings_modal": {"modal_name": "general_settings", "action": "open"},
    "set_working_directory": {"directory_path": "./data/"},
    "load_genome_file": {"filePath": "./data/demo-genome-1.gbk"},
    "load_annotation_file": {"filePath": "demo-features.bed"},
    "load_reads_file": {"filePath": "demo-reads.bam"},
    "load_variant_file": {"filePath": "demo-variants.vcf"},
    "load_operon_file": {"filePath": "demo-operons.tsv"},
    "load_wig_tracks": {"filePaths": ["demo-signal.wig", "demo-signal-2.wig"]},
    "add_task": {"title": "t"},
    "update_task": {"id": "task_1", "status": "completed"},
    "delete_task": {"id": "task_1"},
    "create_annotation": MADE,
    "update_annotation": {"identifier": "made", "updates": {"note": "n"}},
    "bulk_update_annotations": {"updates": [{"identifier": "made", "updates": {"product": "p"}}]},
    "delete_annotation": {"identifier": "made"},
    "get_annotation": {"identifier": "lumA"},
    "search_annotations": {"query": "permease"},
    "search_features": {"query": "permease"},
    "find_gene_by_name": {"name": "lumA"},
    "search_gene_by_name": {"name": "lumA"},
    "get_nearby_features": {"position": 5000},
    "assess_annotation_quality": {"identifier": "hypY"},
    "get_sequence": PLACE,
    "get_coding_sequence": {"geneName": "lumA"},
    "translate_dna": {"dna": "ATGTAA", "find_orfs": True},
    "translate_sequence": {"sequence": "ATGTAA"},
    "reverse_complement": {"sequence": "ACGT"},
    "compute_gc": {"sequence": "ACGT"},
    "calculate_entropy": {"sequence": "ACGT"},
    "calculate_molecular_weight": {"sequence": "MKT"},
    "search_sequence_motif": {"motif": "TATAAT"},
    "search_pattern": {"regex": "TATAAT"},
    "predict_promoter": {"sequence": "TTGACATGAAAGTATAATGCGTATAATGC"},
    "blast_detect_sequence_type": {"sequence": "ACGT"},
    "find_restriction_sites": {"enzyme": "EcoRI"},
    "virtual_digest": {"enzymes": ["EcoRI"]},
    "simulate_gel_electrophoresis": {"fragments": [{"size": 900}, 400]},
    "get_dna_marker_info": {"markerId": "takara_dl2000"},
    "calculate_primer_properties": {"sequence": "ATGACCATGATTACGGATTC"},
    "design_primers": {"geneName": "lumA"},
    "find_primer_binding_sites": {"primerSequence": "ATGACCATGATT"},
    "save_primer": {"name": "p", **PLACE},
    "delete_primers": {"confirm": True},
    "copy_sequence": PLACE,
    "cut_sequence": PLACE,
    "paste_sequence": {"chromosome": "DEMO01", "position": 90},
    "insert_sequence": {"chromosome": "DEMO01", "position": 90, "sequence": "ACGT"},
    "delete_sequence": PLACE,
    "replace_sequence": {**PLACE, "newSequence": "ACGT"},
    "blast_create_db_from_genome": {"chromosome": "DEMO01"},
    "blast_create_protein_db_from_genome": {"chromosome": "DEMO01"},
    "blast_create_database": {"inputFile": "g.fasta", "dbName": "d", "dbType": "nucl"},
    "blast_validate_database": {"dbName": "d"},
    "blast_delete_database": {"dbName": "d", "confirm": True},
}
"""Arguments of the tools that need some."""


@pytest.mark.parametrize("tool", sorted(HANDLERS))
def test_every_tool_does_its_work(tool: str) -> None:
    """A well-formed call of each tool succeeds, and its answer is JSON with fields of its own."""
    session = Session(load_genome("demo-genome-1"), HANDLERS, tools=("a",))
    for name, arguments in [*BEFORE.get(tool, []), (tool, WITH.get(tool, {}))]:
        result = session.handle(CallRequest(benchmark="codexomics", tool=name, arguments=arguments))
        assert result is not None
        assert not result.is_error, result.content
        assert len(result.body) > 1


def test_every_line_is_of_a_tool() -> None:
    """No argument or preparation is for a tool that is not there."""
    assert set() == {*WITH, *BEFORE} - set(HANDLERS)
