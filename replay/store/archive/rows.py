"""Lines of an archive's tables: one canonical JSON object a row, in strictly rising order of id.

A row of a plain table is `{"id":ID,"record":RECORD}`; a row of a snapshot table is the snapshot itself with
all its fields, and its id is `KEY#SEQUENCE`. A line is accepted only when it is byte for byte what this
module would write, and a snapshot only when its key is the digest of the request it carries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import Final

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.errors import CanonicalError, DamagedError, InputError, InternalError, LimitError
from replay.core.types import Digest, Key, Origin, Provenance, Snapshot, SnapshotKind, SnapshotStatus
from replay.store.archive.canonicity import check_canonical

__all__ = [
    "KEY",
    "MAX_ID_BYTES",
    "MAX_LINE_BYTES",
    "MAX_RECORD_BYTES",
    "MEDIA",
    "SEQUENCES",
    "SNAPSHOT_TABLES",
    "TABLE_NAME",
    "Row",
    "SnapshotLine",
    "decode_line",
    "encode_row",
    "encode_snapshot",
    "record_digest",
    "snapshot_id",
]

MAX_RECORD_BYTES: Final = 16 << 20
"""The store's bound of one value; a line adds its id to it."""
MAX_ID_BYTES: Final = 440
"""The store's bound of a row id."""
MAX_LINE_BYTES: Final = MAX_RECORD_BYTES + 6 * MAX_ID_BYTES + 64
"""An id may be escaped sixfold; the rest is the envelope."""

TABLE_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
SNAPSHOT_TABLES: Final = {f"snapshots-{kind.value}": kind for kind in SnapshotKind}

KEY: Final = re.compile(r"sha256:[0-9a-f]{64}")
MEDIA: Final = frozenset({"json", "text", "bytes"})
SEQUENCES: Final = range(2**31)
_KEY_TAGS: Final[Mapping[str, bytes]] = {kind: f"{kind.value}\x00".encode() for kind in SnapshotKind}
_ALIAS_TAG: Final = b"api-alias\x00"
"""Tag of core.keys.alias_key: an answer that only an alias reaches is stored under that key."""


class _TableLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A line of a plain table, fields in canonical order."""

    id: str
    record: msgspec.Raw


class SnapshotLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A line of a snapshot table, fields in canonical order and all of them there."""

    aliases: tuple[Key, ...]
    body: str
    key: Key
    kind: SnapshotKind
    media: str
    meta: msgspec.Raw
    origin: Origin | None
    provenance: Provenance
    request: msgspec.Raw
    scope: str
    sequence: int
    status: SnapshotStatus


class Row(msgspec.Struct, frozen=True, gc=False):
    """One checked row. One is made for each row that is read: what is not asked for is not built."""

    order: tuple[str, int]
    """What rows are sorted by: id and 0, or key and sequence."""
    id: str
    record: bytes
    """Canonical bytes of the record; of the whole line in a snapshot table."""
    parts: SnapshotLine | None = None
    """The fields of a snapshot as its line has them; None in a plain table."""
    request: bytes = b""
    """Canonical bytes of the snapshot's request."""
    meta: bytes = b""
    """Canonical bytes of the snapshot's meta."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of this row. Errors: InternalError in a plain table."""
        if self.parts is None:
            raise InternalError(f"row {self.id!r} of a plain table was taken for a snapshot")
        fields = {name: getattr(self.parts, name) for name in Snapshot.__struct_fields__}
        fields["request"] = check_canonical(self.request)
        fields["meta"] = check_canonical(self.meta)
        return Snapshot(**fields)


_encode: Final = msgspec.json.Encoder().encode
_decode_table_line: Final = msgspec.json.Decoder(_TableLine).decode
_decode_snapshot_line: Final = msgspec.json.Decoder(SnapshotLine).decode


def snapshot_id(key: str, sequence: int) -> str:
    """Name a snapshot inside its table."""
    return f"{key}#{sequence}"


def record_digest(record: bytes) -> Digest:
    """Digest of a row's canonical record: plain SHA-256 of the bytes."""
    return Digest("sha256:" + sha256(record).hexdigest())


def encode_row(row_id: str, record: bytes, *, table: str) -> tuple[Row, bytes]:
    """Check one row of a plain table and build its line. Errors: InputError or LimitError naming the row."""
    where = f"table {table}, row {row_id!r}"
    try:
        size = len(row_id.encode())
    except UnicodeEncodeError:
        size = 0
    if not 1 <= size <= MAX_ID_BYTES:
        raise InputError(
            "a row id that cannot be stored", where=where, expected=f"1 to {MAX_ID_BYTES} bytes of UTF-8"
        )
    if len(record) > MAX_RECORD_BYTES:
        raise _too_long(len(record), where)
    try:
        check_canonical(record)
    except CanonicalError as error:
        raise InputError(f"the record is {error.what}", where=where, expected=error.expected) from None
    return Row((row_id, 0), row_id, record), b'{"id":%b,"record":%b}' % (_encode(row_id), record)


def encode_snapshot(snapshot: Snapshot) -> tuple[Row, bytes]:
    """Check one snapshot and build its line. Errors: InputError or LimitError naming key and scope."""
    where = f"snapshot {snapshot_id(snapshot.key, snapshot.sequence)}, scope {snapshot.scope!r}"
    try:
        request, meta = canonical_bytes(snapshot.request), canonical_bytes(snapshot.meta)
        fields = {name: getattr(snapshot, name) for name in SnapshotLine.__struct_fields__}
        fields |= {"request": msgspec.Raw(request), "meta": msgspec.Raw(meta)}
        parts = SnapshotLine(**fields)
        line = _encode(parts)
    except CanonicalError as error:
        raise InputError(f"a snapshot that cannot be hashed: {error}", where=where) from None
    except UnicodeEncodeError:
        raise InputError("a snapshot with a lone surrogate in its text", where=where) from None
    if len(line) > MAX_RECORD_BYTES:
        raise _too_long(len(line), where)
    fault = _snapshot_fault(parts, request)
    if fault:
        raise InputError(fault, where=where, expected="a snapshot whose key is the digest of its request")
    return _snapshot_row(parts, line, request, meta), line


def decode_line(table: str) -> Callable[[bytes, int], Row]:
    """Choose how lines of this table are read; the result takes a line and the number of its row.

    Errors: (of the result) DamagedError naming the row and what is wrong with it.
    """
    kind = SNAPSHOT_TABLES.get(table)
    if kind is None:
        return partial(_decode_table_row, table)
    return partial(_decode_snapshot_row, kind)


def _decode_table_row(table: str, line: bytes, number: int) -> Row:
    try:
        row = _decode_table_line(line)
        record = bytes(row.record)
        _check_same(_encode(row), line)
        check_canonical(record)
    except (msgspec.DecodeError, RecursionError, CanonicalError) as error:
        raise _not_a_row(error, _place(table, number), '{"id":ID,"record":RECORD}') from None
    if not row.id or len(row.id.encode()) > MAX_ID_BYTES:
        raise LimitError(
            "a row id out of bounds", where=_place(table, number), expected=f"1 to {MAX_ID_BYTES} bytes"
        )
    return Row((row.id, 0), row.id, record)


def _decode_snapshot_row(kind: SnapshotKind, line: bytes, number: int) -> Row:
    try:
        parts = _decode_snapshot_line(line)
        # Encoding again settles names, order, spaces and escapes of everything but the two raw values.
        _check_same(_encode(parts), line)
        request, meta = bytes(parts.request), bytes(parts.meta)
        check_canonical(request)
        if meta != b"null":
            check_canonical(meta)
    except (msgspec.DecodeError, RecursionError, CanonicalError) as error:
        raise _not_a_row(
            error, _place(f"snapshots-{kind.value}", number), "a snapshot with all of its fields"
        ) from None
    right_kind = parts.kind is kind
    fault = _snapshot_fault(parts, request) if right_kind else f"a snapshot of kind {parts.kind.value}"
    if fault:
        raise DamagedError(fault, where=_place(f"snapshots-{kind.value}", number))
    return _snapshot_row(parts, line, request, meta)


def _snapshot_row(parts: SnapshotLine, line: bytes, request: bytes, meta: bytes) -> Row:
    key, sequence = parts.key, parts.sequence
    return Row((key, sequence), f"{key}#{sequence}", line, parts, request, meta)


def _snapshot_fault(parts: SnapshotLine, request: bytes) -> str:
    """Say what is wrong with a snapshot whose canonical request this is, or nothing."""
    if parts.sequence not in SEQUENCES:
        return f"sequence {parts.sequence} is out of bounds"
    if parts.media not in MEDIA:
        return f"media {parts.media!r} is unknown (known: {', '.join(sorted(MEDIA))})"
    if parts.aliases and not all(map(KEY.fullmatch, parts.aliases)):
        return f"an alias of {parts.aliases} is not a key"
    if parts.key != _key(_KEY_TAGS[parts.kind], request):
        aliased = parts.kind is SnapshotKind.API and parts.key == _key(_ALIAS_TAG, request)
        if not aliased:
            return f"the key {parts.key} is not the digest of the request"
    return ""


def _key(tag: bytes, request: bytes) -> str:
    """Key of a canonical request, as core.keys has it, without encoding the request again."""
    return "sha256:" + sha256(tag + request).hexdigest()


def _check_same(written: bytes, line: bytes) -> None:
    if written != line:
        raise CanonicalError("not canonical JSON (RFC 8785: sorted names, no spaces)")


def _place(table: str, number: int) -> str:
    return f"{table}.jsonl.zst, row {number}"


def _not_a_row(error: Exception, where: str, expected: str) -> DamagedError:
    what = error.what if isinstance(error, CanonicalError) else str(error)
    return DamagedError(f"not a row: {what}", where=where, expected=expected)


def _too_long(size: int, where: str) -> LimitError:
    return LimitError(
        f"a record of {size} bytes",
        where=where,
        expected=f"at most {MAX_RECORD_BYTES} bytes",
        next_step="cut the answer or leave it out by name before freezing",
    )
