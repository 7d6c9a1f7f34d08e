"""Archives no honest writer makes: every digest, count and size agrees, and they are refused all the same.

The signatures of these files would be valid for their maker. What is checked here is that reading them costs
bounded memory and ends in an error with a name.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import zstandard

from replay.core.canonical import canonical_bytes
from replay.core.errors import DamagedError, FormatError, LimitError, NewerFormatError, ReplayError
from replay.store.archive.frames import MAX_WINDOW_BYTES, FrameFacts
from replay.store.archive.manifest import MAX_MANIFEST_BYTES
from replay.store.archive.reader import ArchiveReader, read_manifest
from replay.store.archive.rows import MAX_LINE_BYTES
from replay.store.archive.verify import verify_archive
from tests.support.archives import (
    forge,
    make_archive,
    make_manifest,
    make_snapshot,
    pack,
    pack_documents,
    pack_honestly,
    read_members,
)

GOOD = b'{"id":"t00000","record":{}}'


def _write(folder: Path, data: bytes) -> Path:
    path = folder / "hostile.replay"
    path.write_bytes(data)
    return path


def _read_all(path: Path) -> None:
    with ArchiveReader(path) as archive:
        for table in archive.manifest.tables:
            for _ in archive.checked_rows(table.name):
                pass


def _refused(folder: Path, data: bytes, error: type[ReplayError], match: str) -> None:
    """Both ways of looking at it refuse it, with the same words."""
    path = _write(folder, data)
    with pytest.raises(error, match=match):
        _read_all(path)
    assert not verify_archive(path).ok


def test_the_forger_can_write_a_sound_archive(tmp_path: Path) -> None:
    """The builder of these tests is right, so what is refused below is refused for its one fault."""
    path = _write(tmp_path, forge([GOOD, b'{"id":"t00001","record":1}']))
    _read_all(path)
    assert verify_archive(path).ok


@pytest.mark.parametrize(
    ("lines", "ids", "what"),
    [
        ([GOOD, GOOD], ["t00000", "t00000"], r"'t00000' is not after.*row 1"),
        ([b'{"id":"b","record":1}', b'{"id":"a","record":1}'], ["b", "a"], r"'a' is not after.*row 1"),
        ([b'{"id":"a","record":{"b":1,"a":2}}'], ["a"], r"not canonical JSON.*row 0"),
        ([b'{"id":"a", "record":1}'], ["a"], r"not canonical JSON.*row 0"),
        ([GOOD, b"{"], None, r"not a row.*row 1"),
        ([GOOD, b"\xff\xfe"], None, r"not a row.*row 1"),
        ([GOOD, b""], None, r"not a row.*row 1"),
        ([b'{"id":"a","record":' + b"[" * 5000 + b"]" * 5000 + b"}"], ["a"], r"not a row.*row 0"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, lines: list[bytes], ids: list[str] | None, what: str) -> None:
    """Unsorted, duplicate, not canonical, not JSON, not UTF-8, too deep: the row is in the message."""
    _refused(tmp_path, forge(lines, ids=ids), DamagedError, what)


def test_a_snapshot_whose_key_is_not_its_request_is_refused(tmp_path: Path) -> None:
    """An archive cannot make a lookup answer for another request."""
    value = msgspec.to_builtins(make_snapshot(1)) | {"key": make_snapshot(2).key}
    line = canonical_bytes(value)
    data = forge([line], table="snapshots-api", ids=[f"{value['key']}#0"])
    _refused(
        tmp_path, data, DamagedError, r"not the digest of the request \(snapshots-api\.jsonl\.zst, row 0\)"
    )


def test_rows_that_are_not_under_the_root_are_refused(tmp_path: Path) -> None:
    """Rows of the right form, but not the ones the root was made of."""
    data = forge([GOOD], ids=["t00009"])
    _refused(tmp_path, data, DamagedError, r"not the ones the archive root was made of.*rows 0 to 0")


def test_a_decompression_bomb_costs_bounded_memory(tmp_path: Path) -> None:
    """A frame that expands beyond what the manifest says is stopped at what it says."""
    bomb = zstandard.ZstdCompressor(write_checksum=True).compress(b"x" * (200 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _refused(
        tmp_path, forge([GOOD], compress=lambda _: bomb), DamagedError, r"the frame states 209715200 bytes"
    )
    stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    silent = stream.compress(b"x" * (200 << 20)) + stream.flush()
    _refused(tmp_path, forge([GOOD], compress=lambda _: silent), DamagedError, "cannot be decompressed")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024


def test_a_line_without_end_is_stopped_at_the_cap(tmp_path: Path) -> None:
    """A row over 16 MiB is refused while it is read, however long it claims to be."""
    data = forge([b'{"id":"a","record":"' + b"x" * (40 << 20) + b'"}'], ids=["a"])
    path = _write(tmp_path, data)
    with pytest.raises(LimitError, match="a frame of 41943063 bytes for 1 rows"):
        read_manifest(path)
    shorter = b'{"id":"a","record":"' + b"x" * (MAX_LINE_BYTES - 30) + b'"}'
    lines = [shorter, b'{"id":"b","record":1}']
    _read_all(_write(tmp_path, forge(lines, ids=["a", "b"])))
    joined = forge(
        [b'{"id":"a","record":"' + b"x" * (20 << 20) + b'"}', b'{"id":"b","record":1}'], ids=["a", "b"]
    )
    with pytest.raises(LimitError, match="a line of"):
        _read_all(_write(tmp_path, joined))


def test_an_absurd_window_is_refused(tmp_path: Path) -> None:
    """A frame that wants gigabytes of window never gets them."""
    parameters = zstandard.ZstdCompressionParameters(window_log=27, write_checksum=True)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    frame = stream.compress(GOOD + b"\n") + stream.flush()
    what = f"a window of {1 << 27} bytes .*at most {MAX_WINDOW_BYTES}"
    _refused(tmp_path, forge([GOOD], compress=lambda _: frame), LimitError, what)


def test_a_frame_that_asks_for_a_dictionary_is_refused(tmp_path: Path) -> None:
    """Members open with stock zstd; an unknown dictionary is named by its number."""
    samples: list[bytes | bytearray | memoryview] = [
        b"sample number %d of many, with some text in it" % n for n in range(2000)
    ]
    trained = zstandard.train_dictionary(1024, samples, dict_id=4711)
    squeeze = zstandard.ZstdCompressor(dict_data=trained, write_checksum=True).compress
    _refused(tmp_path, forge([GOOD], compress=squeeze), DamagedError, "asks for dictionary 4711")


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda plain: b"", "a frame of|rows and sizes"),
        (lambda plain: b"not zstd at all....", "cannot be decompressed"),
        (lambda plain: zstandard.ZstdCompressor().compress(plain), "no checksum"),
        (lambda plain: zstandard.ZstdCompressor(write_checksum=True).compress(plain) + b"x", "cannot be"),
        (lambda plain: zstandard.ZstdCompressor(write_checksum=True).compress(plain)[:-1], "cannot be"),
        (lambda plain: zstandard.ZstdCompressor(write_checksum=True).compress(plain) * 2, "cannot be"),
        (lambda plain: b"\x50\x2a\x4d\x18\x04\0\0\0abcd", "frame states|no checksum"),
    ],
)
def test_bad_frames_are_named(tmp_path: Path, make: Callable[[bytes], bytes], what: str) -> None:
    """Empty, garbage, unchecked, cut, doubled, skippable: all with member and rows."""
    _refused(tmp_path, forge([GOOD], compress=make), FormatError, what)


@pytest.mark.parametrize(
    ("changes", "error", "what"),
    [
        ({"rows": 2**60}, DamagedError, "rows and sizes are not the sums"),
        ({"rows": -1}, DamagedError, "rows and sizes are not the sums"),
        ({"content_bytes": 2**60}, DamagedError, "rows and sizes are not the sums"),
        ({"frames": ()}, DamagedError, "frames of another number of rows"),
        ({"frames": (FrameFacts(2**60, 28, 37, "0" * 64),)}, DamagedError, "another number of rows"),
        ({"frames": (FrameFacts(1, 2**60, 37, "0" * 64),)}, LimitError, "for 1 rows"),
        ({"frames": (FrameFacts(1, 28, -1, "0" * 64),)}, LimitError, "for 1 rows"),
        ({"frames": (FrameFacts(1, 28, 37, "0" * 63 + "g"),)}, DamagedError, "not 64 hex digits"),
        ({"rows_merkle_root": "0" * 64}, DamagedError, "does not follow from the frames"),
        ({"name": "../evil"}, DamagedError, "not sorted, unique names"),
        ({"name": "README.txt"}, DamagedError, "not sorted, unique names"),
    ],
)
def test_absurd_facts_of_a_table_are_refused(
    tmp_path: Path, changes: dict[str, object], error: type[ReplayError], what: str
) -> None:
    """Counts and sizes are bounded and must add up before anything is allocated."""
    path = _write(tmp_path, forge([GOOD]))
    manifest = read_manifest(path)
    member = {"tasks.jsonl.zst": read_members(path)["tasks.jsonl.zst"]}
    table = msgspec.structs.replace(manifest.tables[0], **changes)
    with pytest.raises(error, match=what):
        read_manifest(
            _write(tmp_path, pack_honestly(msgspec.structs.replace(manifest, tables=(table,)), member))
        )


@pytest.mark.parametrize("field", ["content_sha256", "file_sha256"])
def test_a_wrong_checksum_in_a_manifest_is_found(tmp_path: Path, field: str) -> None:
    """Statements that no row depends on are compared with what they cover all the same."""
    path = _write(tmp_path, forge([GOOD]))
    manifest = read_manifest(path)
    table = msgspec.structs.replace(manifest.tables[0], **{field: "0" * 64})
    member = {"tasks.jsonl.zst": read_members(path)["tasks.jsonl.zst"]}
    data = pack_honestly(msgspec.structs.replace(manifest, tables=(table,)), member)
    findings = verify_archive(_write(tmp_path, data)).findings
    assert [("manifest.json", True)] == [(each.member, field in each.what) for each in findings]


def test_a_table_that_expands_without_reason_is_refused(tmp_path: Path) -> None:
    """Content of terabytes in a file of kilobytes is refused by the manifest alone."""
    frames = tuple(FrameFacts(256, 256 * (16 << 20), 1, "0" * 64) for _ in range(4))
    manifest = read_manifest(_write(tmp_path, forge([GOOD])))
    table = msgspec.structs.replace(
        manifest.tables[0], frames=frames, rows=1024, content_bytes=1024 * (16 << 20), file_bytes=4
    )
    data = pack_honestly(msgspec.structs.replace(manifest, tables=(table,)), {"tasks.jsonl.zst": b"abcd"})
    with pytest.raises(LimitError, match=r"4 bytes that expand to 17179869184 .*at most 2048 times"):
        read_manifest(_write(tmp_path, data))


@pytest.mark.parametrize(
    ("manifest", "error", "what"),
    [
        (b"", DamagedError, "not a manifest"),
        (b"{", DamagedError, "not a manifest"),
        (b"[]", DamagedError, "not a manifest"),
        (b"\xff", DamagedError, "not a manifest"),
        (b"{}", DamagedError, "missing required field `format_version`"),
        (b'{"format_version":"1"}', DamagedError, "Expected `int`"),
        (b'{"format_version":1}', DamagedError, "missing required field"),
        (b'{"format_version":0}', DamagedError, "missing required field"),
        (b'{"format_version":99999999999999999999999999}', ReplayError, "version 9999|not a manifest"),
        (b'{"format_version":2,"anything":[]}', NewerFormatError, "archive format version 2"),
        (b'{"format_version":1,"notes":' + b"[" * 1_000_000, DamagedError, "not a manifest"),
    ],
)
def test_a_bad_manifest_is_refused(
    tmp_path: Path, manifest: bytes, error: type[ReplayError], what: str
) -> None:
    """Whatever JSON can be, a manifest is decoded with its type or not at all."""
    with pytest.raises(error, match=what):
        read_manifest(_write(tmp_path, pack_documents(manifest, b"", {})))


def test_a_manifest_that_is_not_canonical_is_refused(tmp_path: Path) -> None:
    """One manifest has one spelling; a duplicate name is not a second chance."""
    good = read_members(make_archive(tmp_path))["manifest.json"]
    for bad in (good + b"\n", good.replace(b'"rows":', b'"rows": ', 1), b'{"bases":[],' + good[1:]):
        with pytest.raises(DamagedError, match=r"not canonical JSON|not one JSON value"):
            read_manifest(_write(tmp_path, pack_documents(bad, b"", {})))


def test_wrong_statements_in_a_manifest_are_damage(tmp_path: Path) -> None:
    """What no maker could freeze, no reader believes."""
    for changes, what in (
        ({"name": "a/b"}, "name 'a/b'"),
        ({"root": "sha256:" + "0" * 64}, "the archive root is"),
        ({"bases": ("sha256:" + "0" * 64,)}, "the archive root is"),
        ({"key_recipe_version": 0}, "key recipe version 0"),
    ):
        with pytest.raises(DamagedError, match=what):
            read_manifest(_write(tmp_path, pack_honestly(make_manifest((), **changes), {})))


def test_a_manifest_over_its_bound_is_not_read(tmp_path: Path) -> None:
    """Documents have bounds that hold before they are read."""
    with pytest.raises(LimitError, match=rf"manifest\.json has {MAX_MANIFEST_BYTES + 1} bytes"):
        read_manifest(_write(tmp_path, pack_documents(b" " * (MAX_MANIFEST_BYTES + 1), b"", {})))


@pytest.mark.parametrize(
    "sums", [b"", b"x", b"\n", b"0" * 64 + b"  ../x y\n", b"\xff\n", b"0" * 64 + b" a\n"]
)
def test_bad_checksum_files_are_refused(tmp_path: Path, sums: bytes) -> None:
    """SHA256SUMS has one form."""
    members = {**read_members(make_archive(tmp_path)), "SHA256SUMS": sums}
    path = _write(tmp_path, pack(members.items()))
    with pytest.raises(DamagedError, match="SHA256SUMS"):
        read_manifest(path)
    assert {"SHA256SUMS"} == {finding.member for finding in verify_archive(path).findings}
