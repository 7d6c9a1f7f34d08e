"""Lines of an archive's tables: one canonical JSON object a row, in strictly rising order of id.

A row of a plain table is `{"id":ID,"record":RECORD}`; a row of a snapshot table is the snapshot itself, all of
its fields written, and its id is `KEY#SEQUENCE`. A line is accepted only when it is byte for byte what this
module would write, and a snapshot only when its key is the digest of the request it carries.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import CanonicalError, DamagedError, InputError, LimitError
from replay.core.types import Json, Key, Record, Snapshot, SnapshotKind

__all__ = [
    "MAX_ID_BYTES",
    "MAX_LINE_BYTES",
    "MAX_RECORD_BYTES",
    "SNAPSHOT_TABLES",
    "TABLE_NAME",
    "Row",
    "decode_line",
    "encode_row",
    "encode_snapshot",
    "snapshot_id",
]

MAX_RECORD_BYTES: Final = 16 << 20
"""The store's bound of one value; a line adds its id to it."""
MAX_ID_BYTES: Final = 1024
MAX_LINE_BYTES: Final = MAX_RECORD_BYTES + 6 * MAX_ID_BYTES + 64
"""An id may be escaped sixfold; the rest is the envelope."""

TABLE_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
SNAPSHOT_TABLES: Final = {f"snapshots-{kind.value}": kind for kind in SnapshotKind}

_KEY: Final = re.compile(r"sha256:[0-9a-f]{64}")
_MEDIA: Final = frozenset({"json", "text", "bytes"})
_MAX_SEQUENCE: Final = 2**31
_ALIAS_TAG: Final = "api-alias"
"""Tag of core.keys.alias_key: an answer reachable by an alias only is stored under that key."""


class Row(NamedTuple):
    """One checked row."""

    order: tuple[str, int]
    """What rows are sorted by: id and 0, or key and sequence."""
    id: str
    record: bytes
    """Canonical bytes of the record; of the whole line in a snapshot table."""
    snapshot: Snapshot | None


class _TableLine(Record, frozen=True, kw_only=True):
    id: str
    record: msgspec.Raw


class _RequestOf(msgspec.Struct):
    request: msgspec.Raw


_decode_table_line: Final = msgspec.json.Decoder(_TableLine).decode
_decode_snapshot: Final = msgspec.json.Decoder(Snapshot).decode
_decode_request: Final = msgspec.json.Decoder(_RequestOf).decode
_decode_any: Final = msgspec.json.Decoder().decode
_SNAPSHOT_FIELDS: Final = tuple(sorted(Snapshot.__struct_fields__))


def snapshot_id(key: str, sequence: int) -> str:
    """Name a snapshot inside its table."""
    return f"{key}#{sequence}"


def encode_row(row_id: str, record: bytes, *, table: str) -> tuple[Row, bytes]:
    """Check one row of a plain table and build its line. Errors: InputError or LimitError naming the row."""
    where = f"table {table}, row {row_id!r}"
    if not row_id or len(row_id.encode("utf-8", "surrogatepass")) > MAX_ID_BYTES:
        raise InputError(
            "a row id that cannot be stored", where=where, expected=f"1 to {MAX_ID_BYTES} bytes of text"
        )
    if len(record) > MAX_RECORD_BYTES:
        raise _too_long(len(record), where)
    _check_canonical(record, where, InputError)
    line = b'{"id":%b,"record":%b}' % (canonical_bytes(row_id), record)
    return Row((row_id, 0), row_id, record, None), line


def encode_snapshot(snapshot: Snapshot) -> tuple[Row, bytes]:
    """Check one snapshot and build its line. Errors: InputError or LimitError naming key and scope."""
    where = f"snapshot {snapshot.key}#{snapshot.sequence}, scope {snapshot.scope!r}"
    try:
        line = canonical_bytes(msgspec.to_builtins(snapshot))
    except CanonicalError as error:
        raise InputError(f"a snapshot that cannot be hashed: {error}", where=where) from None
    if len(line) > MAX_RECORD_BYTES:
        raise _too_long(len(line), where)
    fault = _snapshot_fault(snapshot, line)
    if fault:
        raise InputError(fault, where=where, expected="a snapshot whose key is the digest of its request")
    return _snapshot_row(snapshot, line), line


def decode_line(table: str) -> Callable[[bytes, str], Row]:
    """Choose how lines of this table are read; the result takes a line and where it stands.

    Errors: (of the result) DamagedError naming the row and what is wrong with it.
    """
    kind = SNAPSHOT_TABLES.get(table)
    if kind is None:
        return _decode_table_row

    def decode(line: bytes, where: str) -> Row:
        return _decode_snapshot_row(line, where, kind)

    return decode


def _decode_table_row(line: bytes, where: str) -> Row:
    value = _check_canonical(line, where, DamagedError)
    if type(value) is not dict or value.keys() != {"id", "record"} or type(value["id"]) is not str:
        raise DamagedError(
            "a row that is not {id, record}", where=where, expected='{"id":ID,"record":RECORD}'
        )
    row_id = value["id"]
    if not row_id or len(row_id.encode()) > MAX_ID_BYTES:
        raise LimitError("a row id out of bounds", where=where, expected=f"1 to {MAX_ID_BYTES} bytes")
    return Row((row_id, 0), row_id, bytes(_decode_table_line(line).record), None)


def _decode_snapshot_row(line: bytes, where: str, kind: SnapshotKind) -> Row:
    value = _check_canonical(line, where, DamagedError)
    try:
        snapshot = _decode_snapshot(line)
    except msgspec.ValidationError as error:
        raise DamagedError(f"not a snapshot: {error}", where=where) from None
    if tuple(value) != _SNAPSHOT_FIELDS:
        raise DamagedError(
            "a snapshot without all of its fields", where=where, expected=str(_SNAPSHOT_FIELDS)
        )
    if snapshot.kind is not kind:
        raise DamagedError(f"a snapshot of kind {snapshot.kind.value}", where=where, expected=kind.value)
    fault = _snapshot_fault(snapshot, line)
    if fault:
        raise DamagedError(fault, where=where)
    return _snapshot_row(snapshot, line)


def _snapshot_row(snapshot: Snapshot, line: bytes) -> Row:
    order = (str(snapshot.key), snapshot.sequence)
    return Row(order, snapshot_id(snapshot.key, snapshot.sequence), line, snapshot)


def _snapshot_fault(snapshot: Snapshot, line: bytes) -> str:
    """Say what is wrong with a snapshot whose canonical line this is, or nothing."""
    if not 0 <= snapshot.sequence < _MAX_SEQUENCE:
        return f"sequence {snapshot.sequence} is out of bounds"
    if snapshot.media not in _MEDIA:
        return f"media {snapshot.media!r} is unknown (known: {', '.join(sorted(_MEDIA))})"
    request = bytes(_decode_request(line).request)
    kind = snapshot.kind.value
    if snapshot.key != _digest(kind, request):
        aliased = snapshot.kind is SnapshotKind.API and snapshot.key == _digest(_ALIAS_TAG, request)
        if not aliased:
            return f"the key {snapshot.key} is not the digest of the request"
    if not all(map(_KEY.fullmatch, snapshot.aliases)):
        return f"an alias of {snapshot.aliases} is not a key"
    return ""


def _digest(tag: str, canonical: bytes) -> Key:
    """Digest of canonical bytes under a tag, as core.canonical has it, without encoding them again."""
    return Key("sha256:" + hashlib.sha256(b"%b\x00%b" % (tag.encode(), canonical)).hexdigest())


def _check_canonical(text: bytes, where: str, error_class: type[InputError | DamagedError]) -> Json:
    """Decode text and prove it canonical: what the value encodes to is the text itself."""
    try:
        value = _decode_any(text)
        if canonical_bytes(value) == text:
            return value
    except (msgspec.DecodeError, RecursionError, CanonicalError):
        pass
    # The fast decoder refuses or bends some valid JSON (very long integers, duplicate names); the strict one
    # decides and gives the reason.
    try:
        value = parse_json(text, where=where)
        if canonical_bytes(value) == text:
            return value
    except CanonicalError as error:
        raise error_class(f"not one JSON value: {error.what}", where=where) from None
    raise error_class("not canonical JSON", where=where, expected="RFC 8785: sorted names, no spaces")


def _too_long(size: int, where: str) -> LimitError:
    return LimitError(
        f"a record of {size} bytes",
        where=where,
        expected=f"at most {MAX_RECORD_BYTES} bytes",
        next_step="cut the answer or leave it out by name before freezing",
    )
