"""What is refused before LMDB sees a file."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import lmdb
import pytest

from replay.core.errors import DamagedError, FormatError, NewerFormatError, StoreError
from replay.store.marker import DATA_NAME, MARKER_NAME, Marker, read_marker
from replay.store.records import encode_object
from replay.store.snapshots import SnapshotStore
from tests.support.snapshots import make_sealed, make_snapshot, make_store


def make_folder(tmp_path: Path) -> Path:
    """A sealed store, closed, whose files may be changed."""
    make_sealed(tmp_path, [make_snapshot(n) for n in range(9)]).close()
    folder = tmp_path / "sealed"
    (folder / DATA_NAME).chmod(0o644)
    return folder


def change_marker(folder: Path, **changes: object) -> None:
    """Write other facts into the marker."""
    path = folder / MARKER_NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def patch_data(folder: Path, offset: int, data: bytes) -> None:
    """Overwrite bytes of the data file."""
    with (folder / DATA_NAME).open("r+b") as stream:
        stream.seek(offset)
        stream.write(data)


def test_marker_tells_format_engine_size_and_digest(tmp_path: Path) -> None:
    """The marker of a sealed store pins the format, the engine and the exact file."""
    marker = read_marker(make_folder(tmp_path))
    size = (tmp_path / "sealed" / DATA_NAME).stat().st_size
    assert Marker(sealed=True, size_bytes=size, digest=marker.digest) == marker
    assert marker.engine == "lmdb 0.9, data format 1"


def test_pinned_engine_writes_format_1(tmp_path: Path) -> None:
    """The data file has LMDB's format 1 whatever the environment says."""
    head = (make_folder(tmp_path) / DATA_NAME).read_bytes()[:24]
    assert struct.unpack_from("=II", head, 16) == (0xBEEFC0DE, 1)


@pytest.mark.parametrize("kind", ["missing", "empty", "file"])
def test_no_store(tmp_path: Path, kind: str) -> None:
    """A path without a store says so and says what to do."""
    path = tmp_path / "x"
    if kind == "empty":
        path.mkdir()
    elif kind == "file":
        path.write_bytes(b"hello")
    with pytest.raises(StoreError, match=r"no store here.*next: thaw an archive"):
        SnapshotStore.open_sealed(path)


def test_foreign_data_file_is_never_opened(tmp_path: Path) -> None:
    """A folder with somebody's data.mdb and no marker is not a store."""
    lmdb.open(str(tmp_path / "foreign")).close()
    with pytest.raises(StoreError, match=r"foreign data\.mdb is never opened"):
        SnapshotStore.open_writable(tmp_path / "foreign")


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"format_version": 2}, NewerFormatError, "store format version 2.*upgrade"),
        ({"format_version": 0}, FormatError, "store of format 0"),
        ({"format_version": "1"}, FormatError, "store of format '1'"),
        ({"engine": "lmdb 1.0, data format 3"}, FormatError, "engine 'lmdb 1.0, data format 3'.*thaw"),
        ({"product": "other"}, FormatError, "product 'other'"),
        ({"sealed": "yes"}, DamagedError, "marker cannot be read"),
        ({"extra": 1}, DamagedError, "marker cannot be read"),
        ({"sealed": False}, StoreError, "store is not sealed"),
        ({"size_bytes": 5}, DamagedError, "marker says 5"),
    ],
)
def test_other_markers_are_refused(
    tmp_path: Path, changes: dict[str, object], error: type[Exception], match: str
) -> None:
    """Another version, engine or product, and a marker that does not fit, each get their own line."""
    folder = make_folder(tmp_path)
    change_marker(folder, **changes)
    with pytest.raises(error, match=match):
        SnapshotStore.open_sealed(folder)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_unreadable_markers_are_damage(tmp_path: Path, text: bytes) -> None:
    """A marker that is not a JSON object is damage."""
    folder = make_folder(tmp_path)
    (folder / MARKER_NAME).write_bytes(text)
    with pytest.raises(DamagedError, match="marker cannot be read"):
        SnapshotStore.open_sealed(folder)


@pytest.mark.parametrize(
    ("offset", "data", "error", "match"),
    [
        (16, b"\x00\x00", DamagedError, "meta page 0 is not an LMDB meta page"),
        (20, b"\x03", FormatError, "LMDB data format 3"),
        (4096 + 16, b"\x00\x00", DamagedError, "meta page 1 is not an LMDB meta page"),
        (4096, b"\x07", DamagedError, "meta page 1 has page number 7"),
        (10, b"\x02", DamagedError, "flags 0x2"),
        (40, b"\x01\x00\x00\x00", DamagedError, "page size of 1"),
        (4096 + 136, b"\xff\xff", DamagedError, "is cut"),
    ],
)
def test_damaged_meta_pages_are_refused(
    tmp_path: Path, offset: int, data: bytes, error: type[Exception], match: str
) -> None:
    """Wrong meta pages are named before LMDB maps the file."""
    folder = make_folder(tmp_path)
    patch_data(folder, offset, data)
    with pytest.raises(error, match=match):
        SnapshotStore.open_sealed(folder)


@pytest.mark.parametrize("size", [0, 100, 4096, 4200, 8192, 20_000])
def test_cut_data_files_are_refused(tmp_path: Path, size: int) -> None:
    """A data file that was cut anywhere is damage."""
    folder = make_folder(tmp_path)
    with (folder / DATA_NAME).open("r+b") as stream:
        stream.truncate(size)
    with pytest.raises(DamagedError, match="data file"):
        SnapshotStore.open_sealed(folder)


def test_missing_data_file_is_damage(tmp_path: Path) -> None:
    """A marker without its data file is damage, not a new store."""
    folder = make_folder(tmp_path)
    (folder / DATA_NAME).unlink()
    with pytest.raises(DamagedError, match="No such file"):
        SnapshotStore.open_sealed(folder)


def test_data_file_of_the_other_engine_is_refused(tmp_path: Path) -> None:
    """A file written by LMDB 1.0 is named by its format."""
    folder = make_folder(tmp_path)
    (folder / DATA_NAME).unlink()
    lmdb.open(str(folder), lib_version=1).close()
    with pytest.raises(FormatError, match=r"LMDB data format|meta page"):
        SnapshotStore.open_sealed(folder)


def test_data_file_of_another_format_is_refused(tmp_path: Path) -> None:
    """A data file whose own facts differ from the marker beside it does not belong to it."""
    make_store(tmp_path).close()
    with lmdb.open(str(tmp_path / "store"), max_dbs=9) as environment:
        meta = environment.open_db(b"meta")
        with environment.begin(write=True, db=meta) as transaction:
            transaction.put(b"format", encode_object(b"2"))
    with pytest.raises(FormatError, match="data file and marker name different formats"):
        SnapshotStore.open_writable(tmp_path / "store")
