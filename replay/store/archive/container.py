"""The tar around an archive: strict ustar, fixed fields, fixed order; nothing in it is ever a path.

Follows POSIX.1-1988 (ustar). A header is written from two facts only, name and size, so reading derives the
512 bytes again and compares: links, devices, pax and GNU extensions, sparse files, times, owners and modes
are all refused by that one comparison, and every flipped bit of a header, a padding or the end is found.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO, Final

from replay.core.errors import DamagedError, InputError, LimitError
from replay.core.types import Record

__all__ = [
    "BLOCK_BYTES",
    "MAX_MEMBERS",
    "MAX_MEMBER_BYTES",
    "Member",
    "end_blocks",
    "make_header",
    "member_sha256",
    "open_archive",
    "padding",
    "read_bytes",
    "read_layout",
]

BLOCK_BYTES: Final = 512
MAX_MEMBERS: Final = 131
"""Three documents and 128 tables."""
MAX_MEMBER_BYTES: Final = 8**11 - 1
"""What eleven octal digits hold: 8 GiB. More would need an extension that old tools do not read."""

_CHUNK_BYTES: Final = 1 << 20
_END_BYTES: Final = 2 * BLOCK_BYTES
_MEMBER_NAME: Final = re.compile(r"README\.txt|manifest\.json|SHA256SUMS|[a-z][a-z0-9-]{0,31}\.jsonl\.zst")
_FIELDS: Final = (
    (0, "name"),
    (100, "mode"),
    (108, "owner"),
    (116, "group"),
    (124, "size"),
    (136, "time"),
    (148, "checksum"),
    (156, "member type"),
    (157, "link target"),
    (257, "magic"),
    (265, "owner name"),
    (297, "group name"),
    (329, "device number"),
    (345, "name prefix"),
    (500, "reserved bytes"),
)
_LMDB_MAGIC: Final = (b"\xde\xc0\xef\xbe", 16)
"""What an LMDB data file holds after its first page header."""


class Member(Record, frozen=True, kw_only=True):
    """One member as the layout of the file has it."""

    name: str
    offset: int
    """Of its first data byte."""
    size: int


def make_header(name: str, size: int) -> bytes:
    """Build the one header a member of this name and size can have. Errors: LimitError over 8 GiB."""
    if size > MAX_MEMBER_BYTES:
        raise LimitError(
            f"a member of {size} bytes",
            where=name,
            expected=f"at most {MAX_MEMBER_BYTES} bytes, what a plain tar can hold",
            next_step="freeze the content as several archives, one on the other as layers",
        )
    head = name.encode().ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + b"%011o\0" % size
    head += b"00000000000\0"
    tail = b"0" + bytes(100) + b"ustar\x0000" + bytes(64) + b"0000000\0" * 2 + bytes(167)
    checksum = sum(head) + sum(b" " * 8) + sum(tail)
    return head + b"%06o\0 " % checksum + tail


def padding(size: int) -> bytes:
    """Zeros that fill the last block of a member of this size."""
    return bytes(-size % BLOCK_BYTES)


def end_blocks() -> bytes:
    """What closes the file: two zero blocks and nothing after."""
    return bytes(_END_BYTES)


def open_archive(path: Path) -> BinaryIO:
    """Open an archive file for reading. Errors: InputError when it is none by its first bytes."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            what = "a folder" if path.is_dir() else "not a regular file"
            raise _not_archive(path, what)
        file = path.open("rb")
    except OSError as error:
        raise InputError(
            f"cannot read the archive: {error.strerror}",
            where=path.name,
            expected="a NAME-VERSION.replay file",
            next_step="check the path and its permissions",
        ) from None
    try:
        _check_first_block(path, file.read(BLOCK_BYTES))
    except BaseException:
        file.close()
        raise
    return file


def read_layout(file: BinaryIO, *, limit: int | None = None) -> tuple[Member, ...]:
    """Read every header (or the first `limit`) and check headers, paddings and the end of the file.

    Errors: DamagedError naming the member and its byte offset; LimitError for sizes past the end of the file.
    """
    total = os.fstat(file.fileno()).st_size
    members: list[Member] = []
    at = 0
    while True:
        block = _read_at(file, at, BLOCK_BYTES)
        if members and (at + _END_BYTES == total or not block.strip(b"\0")):
            _check_end(file, at, total)
            return tuple(members)
        member = _parse_header(block, at, members)
        end = member.offset + member.size
        if end + len(padding(member.size)) > total:
            raise DamagedError(
                f"{member.name} with its padding ends at byte {end + len(padding(member.size))}, "
                f"but the file has {total} bytes",
                where=member.name,
                expected="the whole file",
                next_step="get the file again; it was cut",
            )
        if _read_at(file, end, len(padding(member.size))).strip(b"\0"):
            raise DamagedError(f"padding at byte {end} is not zero", where=member.name, expected="zero bytes")
        members.append(member)
        if limit is not None and len(members) == limit:
            return tuple(members)
        if len(members) > MAX_MEMBERS:
            raise LimitError("too many members", where=member.name, expected=f"at most {MAX_MEMBERS}")
        at = end + len(padding(member.size))


def read_bytes(file: BinaryIO, member: Member, *, limit: int) -> bytes:
    """Read a whole small member. Errors: LimitError when it is larger than its bound."""
    if member.size > limit:
        raise LimitError(
            f"{member.name} has {member.size} bytes", where=member.name, expected=f"at most {limit} bytes"
        )
    return _read_at(file, member.offset, member.size)


def member_sha256(file: BinaryIO, member: Member) -> str:
    """SHA-256 of a member's bytes as they lie in the tar, as hex."""
    hasher = hashlib.sha256()
    file.seek(member.offset)
    left = member.size
    while left:
        data = file.read(min(left, _CHUNK_BYTES))
        if not data:
            raise DamagedError("the file was cut while it was read", where=member.name)
        hasher.update(data)
        left -= len(data)
    return hasher.hexdigest()


def _read_at(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    data = file.read(size)
    if len(data) != size:
        raise DamagedError(
            f"the file ends at byte {at + len(data)}",
            where=f"byte {at}",
            expected=f"{size - len(data)} more bytes",
            next_step="get the file again; it was cut",
        )
    return data


def _check_first_block(path: Path, block: bytes) -> None:
    if not block:
        raise _not_archive(path, "an empty file")
    magic, at = _LMDB_MAGIC
    if block[at : at + len(magic)] == magic:
        raise _not_archive(path, "an LMDB data file; stores from outside are never opened")
    if not block.startswith(b"README.txt\0") and block[257:262] != b"ustar":
        raise _not_archive(path, "not a tar file")


def _not_archive(path: Path, what: str) -> InputError:
    return InputError(
        f"{what}",
        where=path.name,
        expected="a frozen archive (NAME-VERSION.replay)",
        next_step="make one with: replay import BENCHMARK SOURCE -o NAME.replay",
    )


def _parse_header(block: bytes, at: int, before: list[Member]) -> Member:
    text = block[:100].partition(b"\0")[0].decode("utf-8", "replace")
    where = f"member {len(before) + 1} at byte {at}, its name reads {text!r}"
    digits = block[124:135]
    size = int(digits, 8) if re.fullmatch(rb"[0-7]{11}", digits) else 0
    expected = make_header(text, size) if len(text.encode()) <= 100 else b""
    if block != expected:
        raise DamagedError(
            f"the tar header is not one of ours: {_first_field(block, expected)} differs",
            where=where,
            expected="a plain file member with zero times and owners, mode 0644",
            next_step="get the file again; nothing was unpacked",
        )
    if not _MEMBER_NAME.fullmatch(text):
        raise DamagedError(
            "a member that no archive has",
            where=where,
            expected="README.txt, manifest.json, SHA256SUMS or TABLE.jsonl.zst",
            next_step="get the file again; nothing was unpacked",
        )
    if any(member.name == text for member in before):
        raise DamagedError("a member that is there twice", where=where, expected="each member once")
    return Member(name=text, offset=at + BLOCK_BYTES, size=size)


def _first_field(block: bytes, expected: bytes) -> str:
    """Name the field of the first differing byte, the checksum last: it follows from the others."""
    differing = [at for at in range(min(len(block), len(expected))) if block[at] != expected[at]]
    names = [[name for start, name in _FIELDS if start <= at][-1] for at in differing]
    return next((name for name in names if name != "checksum"), names[0] if names else "name")


def _check_end(file: BinaryIO, at: int, total: int) -> None:
    if total < at + _END_BYTES:
        raise DamagedError("the file ends inside its end marker", where=f"end of file, byte {total}")
    if total > at + _END_BYTES:
        raise DamagedError(
            f"{total - at - _END_BYTES} bytes after the end of the archive",
            where=f"end of file, byte {at + _END_BYTES}",
            expected="two zero blocks and nothing after",
        )
    if _read_at(file, at, _END_BYTES).strip(b"\0"):
        raise DamagedError("the end marker is not zero", where=f"end of file, byte {at}")
