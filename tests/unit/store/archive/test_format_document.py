"""FORMAT.md says what the code does: its digests, fields, bounds and tables are checked against both."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.keys import call_key, call_request
from replay.core.types import CallRequest, Output, Snapshot, Task, ToolSpec
from replay.store.archive.documents import MAX_README_BYTES
from replay.store.archive.frames import FRAME_ROWS, MAX_WINDOW_BYTES, FrameFacts
from replay.store.archive.manifest import FORMAT_VERSION, MAX_EXPANSION, ArchiveManifest, TableFacts
from replay.store.archive.merkle import leaf_prefix, row_leaf, table_leaf, tree_node
from replay.store.archive.rows import MAX_ID_BYTES, SNAPSHOT_TABLES

TEXT = (Path(__file__).parents[4] / "snapshots" / "FORMAT.md").read_text(encoding="utf-8")


def test_every_field_of_manifest_rows_and_records_is_described() -> None:
    """A stored field that the document does not name cannot be added."""
    for record in (ArchiveManifest, Snapshot, Task, ToolSpec, Output):
        for field in record.__struct_fields__:
            assert f"`{field}`" in TEXT or f"`{field}[]" in TEXT, (record.__name__, field)
    for field in TableFacts.__struct_fields__:
        assert f".{field}`" in TEXT, field


def test_the_worked_example_of_the_root_is_right() -> None:
    """Every digest of the example is the one the code computes."""
    lines = {
        name: b'{"id":"%b","record":{"q":"%b?"}}' % (name, word)
        for name, word in ((b"a", b"why"), (b"b", b"how"))
    }
    leaves = [row_leaf(leaf_prefix("tasks"), name.decode(), line) for name, line in lines.items()]
    node = tree_node(leaves)
    for digest in (
        *(hashlib.sha256(line).digest() for line in lines.values()),
        *leaves,
        node,
        table_leaf("tasks", 2, node),
    ):
        assert digest.hex() in TEXT
    for line in lines.values():
        assert f"`{line.decode()}`" in TEXT


def test_the_example_of_a_key_is_right() -> None:
    """Canonical request and key of the document are those of the recipe."""
    request = CallRequest(benchmark="demo", tool="Weather/now/get", arguments={"city": "Oslo"})
    assert f"`{canonical_bytes(call_request(request)).decode()}`" in TEXT
    assert f"`{call_key(request)}`" in TEXT


def test_the_bounds_of_the_document_are_those_of_the_code() -> None:
    """Versions, sizes and counts."""
    for words in (
        f"format version {FORMAT_VERSION}",
        f"{MAX_README_BYTES >> 10} KiB",
        f"at most {MAX_WINDOW_BYTES >> 20} MiB",
        f"A frame holds {FRAME_ROWS} lines",
        f"1 to {MAX_ID_BYTES} bytes",
        f"{MAX_EXPANSION:,} times",
        *(f"`{name}`" for name in SNAPSHOT_TABLES),
    ):
        assert words in TEXT


def test_the_order_of_record_fields_in_a_frame_is_the_documented_one() -> None:
    """Frames are arrays: their order is the format."""
    assert "[rows, content_bytes, file_bytes, node]" in TEXT
    assert b'[1,2,3,"x"]' == msgspec.json.encode(FrameFacts(1, 2, 3, "x"))
