"""The genome session: state changes by calls only, failed calls change nothing, answers are the genome's."""

from __future__ import annotations

import json

import pytest

from replay.benchmarks.codexomics.world.coverage import HANDLERS, cover_tools
from replay.benchmarks.codexomics.world.genome import load_genome
from replay.benchmarks.codexomics.world.session import Session
from replay.core.types import CallRequest, Json, Provenance

GENOME = load_genome("demo-genome-1")


def make_session() -> Session:
    """A fresh session."""
    return Session(GENOME, HANDLERS, tools=("a", "b"))


def run(session: Session, tool: str, **arguments: Json) -> Json:
    """Run one call and return its answer."""
    result = session.handle(CallRequest(benchmark="codexomics", tool=f"{tool}@r", arguments=arguments))
    assert result is not None
    assert (Provenance.WORLD, result.body) == (result.provenance, json.loads(result.content))
    return result.body


def test_the_genome_is_the_reviewed_one() -> None:
    """Sequence and features have not changed: every recorded run depends on them."""
    assert (19434, 43) == (len(GENOME.sequence), len(GENOME.features))
    assert "sha256:87bd82dc37f3677de2ac173eb86e0ce54f84dfa95befcd52d718be8add4ff389" == GENOME.digest


def test_every_coding_sequence_is_open() -> None:
    """Each gene of the genome starts with M and stops at its end only."""
    session = make_session()
    for item in GENOME.features:
        if item.type == "CDS":
            answer = run(session, "get_coding_sequence", geneName=item.name)
            assert answer["codingSequence"].startswith("ATG"), item.name
            assert "*" not in answer["proteinSequence"], item.name
            assert 3 * (len(answer["proteinSequence"]) + 1) == answer["length"]


def test_a_tool_that_is_not_the_sessions_is_passed_on() -> None:
    """Networks and renderings are somebody else's to answer."""
    request = CallRequest(benchmark="codexomics", tool="get_uniprot_entry@r", arguments={})
    assert make_session().handle(request) is None


def test_equal_calls_lead_to_equal_states() -> None:
    """Two sessions with the same calls are one."""
    states = []
    for _ in range(2):
        session = make_session()
        run(session, "navigate_to_position", start=100, end=900)
        run(session, "create_annotation", type="gene", name="x", chromosome="DEMO01", start=1, end=9)
        run(session, "open_new_tab")
        states.append(session.state())
    assert states[0] == states[1]


def test_a_state_that_was_read_is_not_changed_by_later_calls() -> None:
    """The state is a value."""
    session = make_session()
    before = session.state()
    run(session, "highlight_region", start=1, end=9)
    assert [] == before["tabs"][0]["highlights"]


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("get_sequence", {"start": 0, "end": 5}, "0-5 is no region"),
        ("get_sequence", {"start": 5, "end": 99999}, "is no region"),
        ("get_sequence", {"start": "x", "end": 5}, "start must be a number"),
        ("get_sequence", {"start": 1.5, "end": 5}, "whole number"),
        ("get_sequence", {"chromosome": "chr1", "start": 1, "end": 5}, "no chromosome 'chr1'"),
        ("select_gene", {"geneName": "lacZ"}, "no gene 'lacZ'"),
        ("toggle_track", {"track_name": "nope"}, "no track 'nope'"),
        ("paste_sequence", {"chromosome": "DEMO01", "position": 5}, "clipboard is empty"),
        ("restore_view_state", {"name": "x"}, "no saved view"),
        ("close_tab", {}, "last tab"),
        ("switch_to_tab", {"tab_id": "x"}, "no such tab"),
        ("translate_dna", {"dna": "ACGX?"}, "not DNA"),
        ("translate_dna", {"dna": "ACG", "reading_frame": 4}, "reading frame"),
        ("virtual_digest", {"enzymes": ["NopeI"]}, "no enzyme 'NopeI'"),
        ("search_pattern", {"regex": "(A+)+B"}, "letters, classes and counts only"),
        ("search_pattern", {"regex": "["}, "cannot be read"),
        ("delete_primers", {"confirm": False}, "confirm"),
        ("update_task", {"id": "x"}, "no task 'x'"),
        ("load_genome_file", {"filePath": "./ECOLI.gbk"}, "no genome file"),
        ("simulate_gel_electrophoresis", {"fragments": "x"}, "fragments must be a list"),
        ("blast_delete_database", {"dbName": "x"}, "no database"),
        ("blast_create_database", {"inputFile": "x", "dbName": "d", "dbType": "nucl"}, "no file 'x'"),
        (
            "bulk_update_annotations",
            {"updates": [{"identifier": "lumA", "updates": {"start": "x"}}]},
            "start must be int",
        ),
        ("calculate_molecular_weight", {"sequence": "B1", "type": "protein"}, "no weight"),
        ("find_primer_binding_sites", {"primerSequence": "ACG"}, "at least 8 bases"),
        ("get_dna_marker_info", {"markerId": "x"}, "no marker"),
        ("zoom_in", {"factor": 0}, "factor"),
    ],
)
def test_a_failed_call_says_why_and_changes_nothing(tool: str, arguments: Json, error: str) -> None:
    """Bad arguments are the tool's error answer; the state stays."""
    session = make_session()
    before = session.state()
    answer = run(session, tool, **arguments)
    assert (False, before) == (answer["success"], session.state())
    assert error in answer["error"]


def test_the_view_moves_and_stays_on_the_chromosome() -> None:
    """Navigation, zoom and pan never leave the sequence."""
    session = make_session()
    for tool, arguments in (
        ("navigate_to_position", {"position": 19434}),
        ("pan_right", {"amount": 5000}),
        ("zoom_out", {"factor": 1000}),
        ("zoom_in", {"factor": 1e9}),
        ("pan_left", {"amount": 10**6}),
    ):
        answer = run(session, tool, **arguments)
        assert 1 <= answer["start"] <= answer["end"] <= 19434, tool


def test_tabs_open_switch_and_close() -> None:
    """A new tab is active; closing it goes back to its neighbour."""
    session = make_session()
    opened = run(session, "open_new_tab")
    run(session, "switch_to_tab", tab_index=0)
    run(session, "switch_to_tab", tab_id=opened["tab_id"])
    assert "tab_0" == run(session, "close_tab")["activeTab"]


def test_a_blind_toggle_turns_a_track() -> None:
    """The answer shows the state before and after."""
    answer = run(make_session(), "toggle_track", track_name="gc", action="toggle")
    assert ("gc_content", True, False) == (answer["track_name"], answer["before"], answer["visible"])


def test_edits_wait_in_the_queue_and_are_carried_out_from_behind() -> None:
    """Places in the queue are those of the sequence before; features behind an edit move with it."""
    session = make_session()
    gene = run(session, "get_annotation", identifier="lumB")["annotation"]
    run(session, "delete_sequence", chromosome="DEMO01", start=10, end=19)
    run(session, "insert_sequence", chromosome="DEMO01", position=100, sequence="GGATCC")
    assert GENOME.sequence == session.sequence
    answer = run(session, "execute_actions", auto_save=True, filename="./out/e.gbk")
    bases = GENOME.sequence
    assert bases[:9] + bases[19:99] + "GGATCC" + bases[99:] == session.sequence
    assert (2, -4) == (answer["executed"], answer["lengthChange"])
    moved = run(session, "get_annotation", identifier="lumB")["annotation"]
    assert gene["start"] - 4 == moved["start"]
    assert "./out/e.gbk" in session.state()["files"]


def test_overlapping_edits_are_refused() -> None:
    """Two edits of one place have no order that everyone would expect."""
    session = make_session()
    run(session, "delete_sequence", chromosome="DEMO01", start=10, end=19)
    run(session, "replace_sequence", chromosome="DEMO01", start=15, end=20, newSequence="A")
    assert "overlap" in run(session, "execute_actions")["error"]


def test_fragments_of_a_digest_make_up_the_region() -> None:
    """Nothing is lost between two cuts, and each cut is inside its site."""
    answer = run(make_session(), "virtual_digest", enzymes=["EcoRI"], start=1, end=19434)
    assert 19434 == sum(item["size"] for item in answer["fragmentDetails"])
    assert {"GAATTC"} == {GENOME.sequence[cut - 2 : cut + 4] for cut in answer["cutPositions"]}


def test_primers_bind_where_they_were_designed() -> None:
    """Both primers of a pair are found at their places."""
    session = make_session()
    pair = run(session, "design_primers", geneName="talQ", upstreamBp=20)
    for side, strand in (("forward", "+"), ("reverse", "-")):
        primer = pair[side]
        sites = run(session, "find_primer_binding_sites", primerSequence=primer["sequence"])["sites"]
        found = {
            "start": primer["genomicStart"],
            "end": primer["genomicEnd"],
            "strand": strand,
            "mismatches": 0,
        }
        assert found in sites


def test_open_reading_frames_hold_the_genes() -> None:
    """Every gene ends where some frame on its strand ends."""
    answer = run(make_session(), "find_orfs", start=1, end=19434, minLength=300)
    ends = {(orf["strand"], orf["end"] if orf["strand"] == 1 else orf["start"]) for orf in answer["orfs"]}
    genes = [item for item in GENOME.features if item.type == "CDS"]
    assert [] == [g.name for g in genes if (g.strand, g.end if g.strand == 1 else g.start) not in ends]


def test_files_are_told_by_digest() -> None:
    """An export says path, size and digest, and the same content has the same digest."""
    session = make_session()
    first = run(session, "export_gff_annotations", filename="a.gff3")
    second = run(session, "export_gff_annotations", filename="b.gff3")
    assert (first["digest"], 2) == (second["digest"], len(session.state()["files"]))


def test_the_history_of_annotations_is_kept() -> None:
    """Creation, change and deletion are logged, the last first."""
    session = make_session()
    run(session, "create_annotation", type="gene", name="x", chromosome="DEMO01", start=1, end=9)
    run(session, "update_annotation", identifier="x", updates={"note": "n"})
    run(session, "delete_annotation", identifier="x")
    history = run(session, "get_annotation_history")["history"]
    assert ["delete", "update", "create"] == [entry["action"] for entry in history]


def test_tools_are_divided_by_who_can_answer_them() -> None:
    """Nothing is on both sides, and nothing is left out."""
    found = cover_tools(["get_sequence", "get_uniprot_entry", "get_sequence"])
    assert (("get_sequence",), ("get_uniprot_entry",)) == (found.executed, found.recorded_only)


@pytest.mark.parametrize("tool", sorted(HANDLERS))
def test_every_tool_survives_empty_and_hostile_arguments(tool: str) -> None:
    """Whatever is sent, the answer is an answer: done, or an error of the tool."""
    session = make_session()
    hostile: Json = {
        "start": 10**30,
        "end": -1,
        "name": None,
        "sequence": [],
        "updates": 7,
        "enzymes": [None],
    }
    for arguments in (
        {},
        hostile,
        {"identifier": "", "geneName": 3, "query": {}, "fragments": [{"size": True}]},
    ):
        assert isinstance(run(session, tool, **arguments)["success"], bool)
    json.dumps(session.state())
