"""The tar around an archive: written for stock tools, read without mercy."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from replay.core.errors import DamagedError, InputError, LimitError
from replay.store.archive.container import (
    MAX_MEMBER_BYTES,
    Member,
    end_blocks,
    make_header,
    open_archive,
    padding,
    read_bytes,
    read_layout,
)
from tests.support.archives import make_archive, pack

MEMBERS = [("README.txt", b"hello"), ("manifest.json", b"{}"), ("SHA256SUMS", b"x" * 600)]


def _layout(path: Path) -> tuple[Member, ...]:
    with open_archive(path) as file:
        return read_layout(file)


def _write(folder: Path, data: bytes) -> Path:
    path = folder / "a.replay"
    path.write_bytes(data)
    return path


def test_members_come_back_with_names_offsets_and_sizes(tmp_path: Path) -> None:
    """What was packed is what the layout says."""
    layout = _layout(_write(tmp_path, pack(MEMBERS)))
    assert [("README.txt", 512, 5), ("manifest.json", 1536, 2), ("SHA256SUMS", 2560, 600)] == [
        (member.name, member.offset, member.size) for member in layout
    ]


def test_a_stock_tar_reader_sees_plain_files_without_times_and_owners(tmp_path: Path) -> None:
    """Python reads the container as ordinary members with fixed fields."""
    with tarfile.open(_write(tmp_path, pack(MEMBERS))) as tar:
        found = [(m.name, m.size, m.mode, m.mtime, m.uid, m.gid, m.uname, m.isreg()) for m in tar]
    assert [(name, len(data), 0o644, 0, 0, 0, "", True) for name, data in MEMBERS] == found


def test_a_member_over_eight_gibibytes_is_refused_by_name() -> None:
    """Sizes that a plain tar cannot hold are an error, not an extension."""
    with pytest.raises(LimitError, match=r"big\.jsonl\.zst.*at most 8589934591"):
        make_header("big.jsonl.zst", MAX_MEMBER_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda info: setattr(info, "mode", 0o755), "mode"),
        (lambda info: setattr(info, "uid", 1000), "owner"),
        (lambda info: setattr(info, "gid", 1000), "group"),
        (lambda info: setattr(info, "mtime", 1), "time"),
        (lambda info: setattr(info, "uname", "me"), "owner name"),
        (lambda info: setattr(info, "gname", "us"), "group name"),
        (lambda info: setattr(info, "type", tarfile.SYMTYPE), "member type"),
        (lambda info: setattr(info, "type", tarfile.LNKTYPE), "member type"),
        (lambda info: setattr(info, "type", tarfile.CHRTYPE), "member type"),
        (lambda info: setattr(info, "type", tarfile.FIFOTYPE), "member type"),
        (lambda info: setattr(info, "type", tarfile.DIRTYPE), "member type"),
        (lambda info: setattr(info, "type", tarfile.GNUTYPE_SPARSE), "member type"),
        (lambda info: setattr(info, "type", tarfile.XHDTYPE), "member type"),
        (lambda info: setattr(info, "linkname", "/etc/passwd"), "link target"),
    ],
)
def test_a_header_that_another_tool_wrote_is_refused_by_field(
    tmp_path: Path, make: object, field: str
) -> None:
    """Links, devices, extensions, owners, times: each is refused, naming the field that differs."""
    info = tarfile.TarInfo("manifest.json")
    info.size = 0
    make(info)  # type: ignore[operator]
    block = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    block[329:345] = b"0000000\0" * 2  # tarfile leaves the device numbers empty
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    data = pack(MEMBERS[:1])[: -len(end_blocks())] + bytes(block) + end_blocks()
    with pytest.raises(DamagedError, match=rf"not one of ours: {field} differs \(member 2 at byte 1024"):
        _layout(_write(tmp_path, data))


@pytest.mark.parametrize(
    "name",
    ["../evil.jsonl.zst", "/etc/passwd", "a/b.jsonl.zst", "dictionaries/x.dict", "Tasks.jsonl.zst", ".."],
)
def test_a_member_name_that_no_archive_has_is_refused(tmp_path: Path, name: str) -> None:
    """Names are compared with what an archive may hold; none is ever used as a path."""
    with pytest.raises(DamagedError, match="a member that no archive has"):
        _layout(_write(tmp_path, pack([*MEMBERS, (name, b"x")])))
    assert ["a.replay"] == [path.name for path in tmp_path.iterdir()]


def test_a_member_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """Duplicates are named."""
    with pytest.raises(DamagedError, match=r"there twice.*tasks\.jsonl\.zst"):
        _layout(_write(tmp_path, pack([*MEMBERS, ("tasks.jsonl.zst", b"1"), ("tasks.jsonl.zst", b"2")])))


def test_a_size_past_the_end_of_the_file_is_refused_before_reading(tmp_path: Path) -> None:
    """A header that declares eight gibibytes costs nothing."""
    data = make_header("README.txt", MAX_MEMBER_BYTES) + b"short"
    with pytest.raises(DamagedError, match=r"ends at byte 8589935104, but the file has 517"):
        _layout(_write(tmp_path, data))


@pytest.mark.parametrize(
    "size", [b"77777777777\0", b"\x80\0\0\0\0\0\0\0\0\0\0\1", b"-0000000001\0", b"99999999999\0"]
)
def test_absurd_size_fields_are_refused(tmp_path: Path, size: bytes) -> None:
    """Base-256, negative and non-octal sizes are none of ours."""
    block = bytearray(make_header("README.txt", 5))
    block[124:136] = size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    with pytest.raises(DamagedError, match=r"README\.txt"):
        _layout(_write(tmp_path, bytes(block) + b"hello" + padding(5) + end_blocks()))


def test_bytes_after_the_end_are_refused(tmp_path: Path) -> None:
    """Trailing garbage is named with its place, zeros too."""
    data = pack(MEMBERS)
    for extra in (b"x", b"\0", bytes(512), data):
        with pytest.raises(DamagedError, match=f"{len(extra)} bytes after the end|name reads"):
            _layout(_write(tmp_path, data + extra))


def test_a_dirty_padding_and_a_dirty_end_are_refused(tmp_path: Path) -> None:
    """Bytes that stock tar skips are checked too."""
    data = bytearray(pack(MEMBERS))
    data[600] = 1
    with pytest.raises(DamagedError, match=r"padding at byte 517 is not zero \(README\.txt\)"):
        _layout(_write(tmp_path, bytes(data)))
    data[600] = 0
    data[-700] = 1
    with pytest.raises(DamagedError, match="end marker is not zero"):
        _layout(_write(tmp_path, bytes(data)))


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    """A file cut at any byte is an error with a name."""
    data = pack(MEMBERS)
    for length in range(0, len(data), 97):
        with pytest.raises((DamagedError, InputError)):
            _layout(_write(tmp_path, data[:length]))


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    """The number of headers is bounded."""
    many = [(f"t{number}.jsonl.zst", b"") for number in range(200)]
    with pytest.raises(LimitError, match="too many members"):
        _layout(_write(tmp_path, pack([*MEMBERS, *many])))


def test_a_small_member_over_its_bound_is_not_read(tmp_path: Path) -> None:
    """Documents have bounds of their own."""
    path = _write(tmp_path, pack(MEMBERS))
    with open_archive(path) as file, pytest.raises(LimitError, match="SHA256SUMS has 600 bytes"):
        read_bytes(file, read_layout(file)[2], limit=599)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "an empty file"),
        (b"PK\x03\x04" + bytes(600), "not a tar file"),
        (bytes(16) + b"\xde\xc0\xef\xbe" + bytes(8000), "an LMDB data file"),
        (b"{}", "not a tar file"),
    ],
)
def test_what_is_no_archive_is_an_input_error(tmp_path: Path, data: bytes, what: str) -> None:
    """Other files are told from damaged archives by their first bytes."""
    with pytest.raises(InputError, match=what):
        open_archive(_write(tmp_path, data))


def test_folders_pipes_and_missing_files_are_input_errors(tmp_path: Path) -> None:
    """Nothing but a regular file is opened; a pipe does not hang."""
    os.mkfifo(tmp_path / "pipe")
    for path, what in (
        (tmp_path, "a folder"),
        (tmp_path / "pipe", "not a regular file"),
        (tmp_path / "none", "No such file"),
    ):
        with pytest.raises(InputError, match=what):
            open_archive(path)


def test_layout_reads_only_what_is_asked_for(tmp_path: Path) -> None:
    """The head can be read from a file whose rest is gone."""
    data = make_archive(tmp_path).read_bytes()
    with open_archive(tmp_path / "demo.replay") as file:
        end = read_layout(file)[2]
    cut = _write(tmp_path, data[: end.offset + end.size + len(padding(end.size)) + 100])
    with open_archive(cut) as file:
        assert 3 == len(read_layout(file, limit=3))


def test_headers_are_what_python_reads() -> None:
    """An independent writer agrees with ours on every field both fill."""
    info = tarfile.TarInfo("tasks.jsonl.zst")
    info.size = 123456
    theirs = tarfile.TarInfo.frombuf(make_header("tasks.jsonl.zst", 123456), "ascii", "strict")
    fields = ("name", "size", "mode", "mtime", "uid", "gid", "uname", "gname", "type", "linkname")
    assert [getattr(info, field) for field in fields] == [getattr(theirs, field) for field in fields]
