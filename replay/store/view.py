"""Reads of one consistent state: what get, count, scope, scan and tables see inside one transaction.

Owns how rows are found and how their parts become plain bytes again. Every part that is handed out was proved
against its digest. Never writes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import zstandard

from replay.core.canonical import parse_json
from replay.core.errors import DamagedError
from replay.core.types import Json, Key, Snapshot, SnapshotKind
from replay.store.dictionaries import Dictionary
from replay.store.entries import (
    DICTIONARY,
    ELSEWHERE,
    KINDS,
    PLAIN,
    ZSTD,
    Entry,
    Part,
    index_key,
    split_index_key,
    text_key,
    unpack_entry,
)
from replay.store.records import decode_object, decompress

__all__ = ["BODY", "DATABASES", "DUPSORT", "HEAD", "View"]

DATABASES: Final = (
    "objects",  # digest -> shared flag, envelope
    "index",  # key, sequence -> entry
    "scopes",  # "h" + hash of name -> number, name;  "n" + number -> name
    "members",  # kind, scope number -> first bytes of each key
    "aliases",  # alias key -> key, sequence
    "dictionaries",  # kind, part -> digest, zstd dictionary
    "tables",  # table, NUL, id -> envelope
    "meta",  # format, engine; "user/" + name -> envelope
)
DUPSORT: Final = frozenset(("members", "aliases"))
"""Several sorted values under one key. Not `dupfixed`: LMDB 0.9.36 crashes when it copies such a file compactly."""

BODY: Final = 0
HEAD: Final = 1
"""The two parts of a snapshot; each kind has a dictionary for each."""

MEMBER_BYTES: Final = 8
"""How much of a key a scope keeps: the row itself tells whether it belongs."""
ALIAS_TARGET_BYTES: Final = 36


class View:
    """One transaction with its databases, decompressors and dictionaries."""

    def __init__(self, transaction: Any, handles: Mapping[str, Any], where: str) -> None:
        """Wrap a transaction; `where` names the store in errors."""
        self.transaction = transaction
        self.where = where
        self.objects = handles["objects"]
        self.index = handles["index"]
        self.scopes = handles["scopes"]
        self.members = handles["members"]
        self.aliases = handles["aliases"]
        self.dictionary_rows = handles["dictionaries"]
        self.tables = handles["tables"]
        self.meta = handles["meta"]
        self._get = transaction.get
        self._plain = zstandard.ZstdDecompressor()
        self._dictionaries: dict[tuple[int, int], Dictionary] | None = None
        self._decompressors: dict[tuple[int, int], zstandard.ZstdDecompressor] = {}

    # ---- rows ------------------------------------------------------------------------------------------

    def row(self, raw: bytes, sequence: int) -> bytes | None:
        """Packed entry of one answer, or None."""
        value: bytes | None = self._get(index_key(raw, sequence), db=self.index)
        return value

    def body(self, raw: bytes, sequence: int) -> bytes | None:
        """Body bytes of one answer, or None: the hot path, which never touches the head."""
        value = self._get(raw if sequence == 0 else index_key(raw, sequence), db=self.index)
        if value is None:
            return None
        entry = unpack_entry(value)
        return self.part(entry.body, entry.traits & 3, BODY)

    def snapshot(self, raw: bytes, sequence: int) -> Snapshot | None:
        """One whole answer, or None."""
        value = self.row(raw, sequence)
        return None if value is None else self.assemble(raw, sequence, unpack_entry(value))

    def assemble(self, raw: bytes, sequence: int, entry: Entry) -> Snapshot:
        """Build the snapshot of an entry. Errors: DamagedError naming the key when a part is not as recorded."""
        where = f"key {raw.hex()} answer {sequence}"
        try:
            body = self.part(entry.body, entry.traits & 3, BODY).decode("utf-8")
            request, aliases, meta = parse_json(self.part(entry.head, entry.traits & 3, HEAD))
        except (UnicodeDecodeError, ValueError, TypeError) as error:
            raise DamagedError(f"answer cannot be read: {error}", where=where, next_step="run fsck") from None
        return Snapshot(
            kind=entry.kind,
            key=text_key(raw),
            sequence=sequence,
            scope=self.scope_name(entry.scope),
            request=request,
            body=body,
            media=entry.media,
            status=entry.status,
            provenance=entry.provenance,
            origin=entry.origin,
            aliases=tuple(Key(alias) for alias in aliases),
            meta=meta,
        )

    def rows_from(self, start: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Up to `limit` rows whose names are at or after `start`, in order."""
        cursor = self.transaction.cursor(db=self.index)
        if not cursor.set_range(start):
            return []
        found: list[tuple[bytes, bytes]] = []
        for item in cursor.iternext():
            found.append(item)
            if len(found) == limit:
                break
        return found

    def sequences(self, raw: bytes) -> list[int]:
        """Sequence numbers recorded directly under a key, in order."""
        cursor = self.transaction.cursor(db=self.index)
        found: list[int] = []
        if cursor.set_range(raw):
            for name in cursor.iternext(values=False):
                if name[:32] != raw:
                    break
                found.append(split_index_key(name)[1])
        return found

    def targets(self, raw: bytes) -> list[tuple[bytes, int]]:
        """Answers that a declared alias leads to, sorted by (key, sequence)."""
        cursor = self.transaction.cursor(db=self.aliases)
        if not cursor.set_key(raw):
            return []
        return [
            (value[:32], int.from_bytes(value[32:ALIAS_TARGET_BYTES], "big"))
            for value in cursor.iternext_dup()
        ]

    # ---- parts -----------------------------------------------------------------------------------------

    def part(self, part: Part, kind: int, which: int) -> bytes:
        """Plain bytes of a body or head, proved. Errors: DamagedError, LimitError."""
        codec = part.codec
        if codec == ELSEWHERE:
            return self.object(part.check)
        if codec == PLAIN:
            plain = part.data
        elif codec == ZSTD:
            plain = decompress(part.data, self._plain, where=self.where)
        else:
            plain = decompress(part.data, self._decompressor(kind, which), where=self.where)
        if hashlib.sha256(plain).digest()[:16] != part.check:
            raise DamagedError(
                "answer differs from its digest",
                where=self.where,
                expected=f"bytes whose SHA-256 starts with {part.check.hex()}",
                next_step="delete the store and thaw its archive again",
            )
        return plain

    def object(self, digest: bytes) -> bytes:
        """Plain bytes of an object, proved. Errors: DamagedError when it is missing or differs."""
        value = self._get(digest, db=self.objects)
        if value is None:
            raise DamagedError(
                "object is missing",
                where=f"{self.where}, object {digest.hex()}",
                next_step="delete the store and thaw its archive again",
            )
        if value[5:37] != digest:
            raise DamagedError(
                "object lies under another's name", where=f"{self.where}, object {digest.hex()}"
            )
        return decode_object(value[1:], {d.id: d for d in self.dictionaries().values()})

    def is_shared(self, digest: bytes) -> bool:
        """True when an object has more than one owner."""
        value = self._get(digest, db=self.objects)
        return value is not None and value[0] == 1

    def dictionaries(self) -> dict[tuple[int, int], Dictionary]:
        """Dictionaries of this store by (kind, part). Errors: DamagedError when one differs from its digest."""
        if self._dictionaries is None:
            found: dict[tuple[int, int], Dictionary] = {}
            for name, value in self.transaction.cursor(db=self.dictionary_rows):
                dictionary = Dictionary(value[32:])
                if dictionary.digest != value[:32] or len(name) != 2:
                    raise DamagedError("dictionary differs from its digest", where=self.where)
                found[name[0], name[1]] = dictionary
            self._dictionaries = found
        return self._dictionaries

    def _decompressor(self, kind: int, which: int) -> zstandard.ZstdDecompressor:
        try:
            return self._decompressors[kind, which]
        except KeyError:
            pass
        try:
            made = self.dictionaries()[kind, which].decompressor()
        except KeyError:
            raise DamagedError(
                f"no dictionary for {KINDS[kind]} {('body', 'head')[which]}", where=self.where
            ) from None
        self._decompressors[kind, which] = made
        return made

    # ---- scopes, tables, meta --------------------------------------------------------------------------

    def scope_name(self, number: int) -> str:
        """Name of a scope. Errors: DamagedError for a number that was never given."""
        value = self._get(b"n" + number.to_bytes(4, "big"), db=self.scopes)
        if value is None:
            raise DamagedError(f"unknown scope number {number}", where=self.where, next_step="run fsck")
        return bytes(value).decode("utf-8")

    def scope_number(self, name: str) -> int | None:
        """Number of a scope, or None."""
        value = self._get(scope_hash(name), db=self.scopes)
        return None if value is None else int.from_bytes(value[:4], "big")

    def scope_names(self, kind: SnapshotKind) -> list[str]:
        """Names of the scopes that hold keys of a kind, sorted."""
        cursor = self.transaction.cursor(db=self.members)
        code = bytes((KINDS.index(kind),))
        found: list[str] = []
        more = cursor.set_range(code)
        while more and cursor.key()[:1] == code:
            found.append(self.scope_name(int.from_bytes(cursor.key()[1:5], "big")))
            more = cursor.next_nodup()
        return sorted(found)

    def scope_keys(self, kind: SnapshotKind, name: str) -> list[bytes]:
        """Raw keys of one kind in a scope, sorted, each once."""
        number = self.scope_number(name)
        if number is None:
            return []
        cursor = self.transaction.cursor(db=self.members)
        code = KINDS.index(kind)
        if not cursor.set_key(member_name(code, number)):
            return []
        rows = self.transaction.cursor(db=self.index)
        found: dict[bytes, None] = {}
        for prefix in cursor.iternext_dup():
            if not rows.set_range(prefix):
                continue
            for row_name, value in rows.iternext():
                if row_name[:MEMBER_BYTES] != prefix:
                    break
                entry = unpack_entry(value)
                if entry.scope == number and entry.traits & 3 == code:
                    found[row_name[:32]] = None
        return sorted(found)

    def table_rows(self, name: str, start: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Up to `limit` (raw name, envelope) rows of a table at or after `start`."""
        prefix = table_prefix(name)
        cursor = self.transaction.cursor(db=self.tables)
        found: list[tuple[bytes, bytes]] = []
        if cursor.set_range(start):
            for row_name, value in cursor.iternext():
                if not row_name.startswith(prefix) or len(found) == limit:
                    break
                found.append((row_name, value))
        return found

    def table_row(self, name: str, identity: str) -> bytes | None:
        """Plain bytes of one table row, or None."""
        value = self._get(table_prefix(name) + identity.encode(), db=self.tables)
        return None if value is None else decode_object(value, {})

    def table_names(self) -> tuple[str, ...]:
        """Names of all tables that have rows, sorted."""
        cursor = self.transaction.cursor(db=self.tables)
        found: list[str] = []
        more = cursor.first()
        while more:
            name = cursor.key().split(b"\x00", 1)[0]
            found.append(name.decode())
            more = cursor.set_range(name + b"\x01")
        return tuple(found)

    def user_meta(self) -> dict[str, Json]:
        """What create and set_meta stored."""
        cursor = self.transaction.cursor(db=self.meta)
        found: dict[str, Json] = {}
        if cursor.set_range(META_PREFIX):
            for name, value in cursor.iternext():
                if not name.startswith(META_PREFIX):
                    break
                found[name[len(META_PREFIX) :].decode()] = json.loads(decode_object(value, {}))
        return found


META_PREFIX: Final = b"user/"


def scope_hash(name: str) -> bytes:
    """Where the number of a scope is found: scope names may be longer than an LMDB key."""
    return b"h" + hashlib.sha256(name.encode("utf-8")).digest()[:16]


def member_name(kind: int, number: int) -> bytes:
    """Where the keys of a scope are kept."""
    return bytes((kind,)) + number.to_bytes(4, "big")


def table_prefix(name: str) -> bytes:
    """Start of all row names of a table."""
    return name.encode() + b"\x00"
