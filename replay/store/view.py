"""Reads of one consistent state: what get, count, scope, scan and tables see inside one transaction.

Owns how rows are found and how their parts become plain bytes again. Every part that is handed out was proved
against its digest. Never writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from replay.core.canonical import parse_json
from replay.core.errors import DamagedError
from replay.core.types import Json, Snapshot, SnapshotKind
from replay.store.entries import (
    BODY,
    HEAD,
    KINDS,
    Entry,
    Place,
    pack_sequence,
    split_row_name,
    text_key,
    unpack_entry,
)
from replay.store.parts import PartReader
from replay.store.preparing import decode_head

__all__ = [
    "DATABASES",
    "DUPSORT",
    "MEMBER_BYTES",
    "META_PREFIX",
    "View",
    "member_scope",
    "scope_hash",
    "table_prefix",
]

DATABASES: Final = (
    "objects",  # digest -> envelope
    "index",  # kind, key, sequence -> entry
    "scopes",  # "h" + hash of name -> number, name;  "n" + number -> name
    "members",  # kind, scope number, first bytes of a key -> first bytes of further keys
    "aliases",  # alias key -> kind, key, sequence
    "dictionaries",  # kind, part -> digest, zstd dictionary
    "tables",  # table, NUL, id -> envelope
    "meta",  # "format", "engine" and "user/" + name -> envelope
)
DUPSORT: Final = frozenset(("aliases",))
"""Several sorted values under one key. Not `dupfixed`: LMDB 0.9.36 crashes when it compacts such a file."""

MEMBER_BYTES: Final = 8
"""How much of a key a scope keeps: the row itself tells whether it belongs."""
META_PREFIX: Final = b"user/"

_NO_HEAD: Final = (None, (), None)
_KIND_PREFIXES: Final = tuple((bytes((kind,)), kind) for kind in range(len(KINDS)))


class View:
    """One transaction with its databases, decompressors and dictionaries. Belongs to one thread at a time."""

    def __init__(self, transaction: Any, handles: Mapping[str, Any], where: str) -> None:
        """Wrap a transaction whose default database is the index; `where` names the store in errors."""
        self.transaction = transaction
        self.where = where
        self.objects = handles["objects"]
        self.index = handles["index"]
        self.scopes = handles["scopes"]
        self.members = handles["members"]
        self.aliases = handles["aliases"]
        self.dictionary_rows = handles["dictionaries"]
        self.parts = PartReader(transaction, handles, where)
        self.tables = handles["tables"]
        self.meta = handles["meta"]
        self._get = transaction.get
        self._body_of = self.parts.body_of
        self._kinds = _KIND_PREFIXES
        self._scope_names: dict[int, str] = {}

    def settle_kinds(self) -> None:
        """Look only for the kinds that there are, from now on: for a view of what can never change."""
        cursor = self.transaction.cursor(db=self.index)
        self._kinds = tuple(
            (prefix, kind)
            for prefix, kind in _KIND_PREFIXES
            if cursor.set_range(prefix) and cursor.key().startswith(prefix)
        )

    def rows(self, database: Any) -> Iterator[tuple[bytes, bytes]]:
        """All rows of a database in order."""
        return iter(self.transaction.cursor(db=database))

    # ---- answers ---------------------------------------------------------------------------------------

    def body(self, raw: bytes, sequence: int) -> bytes | None:
        """Body bytes of one answer of a key or its alias: the hot path, which never touches the head."""
        name = raw if sequence == 0 else raw + pack_sequence(sequence)
        for prefix, kind in self._kinds:
            value = self._get(prefix + name)
            if value is not None:
                return self._body_of(value, kind)
        place = self._alias_place(raw, sequence)
        return None if place is None else self.own_body(place.raw, place.sequence)

    def own_body(self, raw: bytes, sequence: int) -> bytes | None:
        """Body bytes of one answer of the key itself, or None."""
        found = self._row(raw, sequence)
        return None if found is None else self._body_of(found[1], found[0])

    def snapshot(self, raw: bytes, sequence: int) -> Snapshot | None:
        """One whole answer of a key or its alias, or None."""
        return self._find(raw, sequence, with_head=True)

    def answer(self, raw: bytes, sequence: int) -> Snapshot | None:
        """What `snapshot` gives, its head unread: no request, no aliases, no meta."""
        return self._find(raw, sequence, with_head=False)

    def own_snapshot(self, raw: bytes, sequence: int) -> Snapshot | None:
        """One whole answer of the key itself, or None."""
        return self._find_own(raw, sequence, with_head=True)

    def own_answer(self, raw: bytes, sequence: int) -> Snapshot | None:
        """What `own_snapshot` gives, its head unread."""
        return self._find_own(raw, sequence, with_head=False)

    def _find(self, raw: bytes, sequence: int, *, with_head: bool) -> Snapshot | None:
        found = self._find_own(raw, sequence, with_head=with_head)
        if found is not None:
            return found
        place = self._alias_place(raw, sequence)
        return None if place is None else self._find_own(place.raw, place.sequence, with_head=with_head)

    def _find_own(self, raw: bytes, sequence: int, *, with_head: bool) -> Snapshot | None:
        found = self._row(raw, sequence)
        if found is None:
            return None
        return self.assemble(Place(found[0], raw, sequence), unpack_entry(found[1]), with_head=with_head)

    def _row(self, raw: bytes, sequence: int) -> tuple[int, bytes] | None:
        """Kind and packed entry of one answer, or None."""
        name = raw + pack_sequence(sequence)
        for prefix, kind in self._kinds:
            value = self._get(prefix + name)
            if value is not None:
                return kind, value
        return None

    def _alias_place(self, raw: bytes, sequence: int) -> Place | None:
        """Where an alias leads; a key with answers of its own is none."""
        if sequence == 0:
            # LMDB sorts the values of a key as places are sorted, and gives the first without a cursor.
            name = self._get(raw, db=self.aliases)
            place = None if name is None else split_row_name(name)
        else:
            places = self.alias_places(raw)
            place = places[sequence] if sequence < len(places) else None
        return None if place is None or self._has_rows(raw) else place

    def _has_rows(self, raw: bytes) -> bool:
        """Tell whether a key has answers of its own, whatever their sequence."""
        cursor = self.transaction.cursor(db=self.index)
        for prefix, _ in self._kinds:
            start = prefix + raw
            if cursor.set_range(start) and cursor.key().startswith(start):
                return True
        return False

    def assemble(self, place: Place, entry: Entry, *, with_head: bool = True) -> Snapshot:
        """Build the snapshot of an entry. Errors: DamagedError when a part is not as recorded."""
        try:
            body = self.parts.part(entry.body, place.kind, BODY).decode("utf-8")
            head = decode_head(self.parts.part(entry.head, place.kind, HEAD)) if with_head else _NO_HEAD
        except (ValueError, RecursionError) as error:
            raise DamagedError(
                f"answer cannot be read: {error}",
                where=f"{self.where}, key {place.raw.hex()} answer {place.sequence}",
                next_step="delete the store and thaw its archive again",
            ) from None
        request, aliases, meta = head
        return Snapshot(
            kind=KINDS[place.kind],
            key=text_key(place.raw),
            sequence=place.sequence,
            scope=self.scope_name(entry.scope),
            request=request,
            body=body,
            media=entry.media,
            status=entry.status,
            provenance=entry.provenance,
            origin=entry.origin,
            aliases=aliases,
            meta=meta,
        )

    def places(self, raw: bytes) -> list[Place]:
        """Answers recorded under a key itself, sorted by (kind, sequence)."""
        cursor = self.transaction.cursor(db=self.index)
        found: list[Place] = []
        for prefix, _ in self._kinds:
            start = prefix + raw
            if cursor.set_range(start):
                for name in cursor.iternext(values=False):
                    if not name.startswith(start):
                        break
                    found.append(split_row_name(name))
        return found

    def sequences(self, kind: int, raw: bytes) -> list[int]:
        """Sequence numbers recorded under a key of one kind, in order."""
        return [place.sequence for place in self.places(raw) if place.kind == kind]

    def alias_places(self, raw: bytes) -> list[Place]:
        """Answers that a declared alias leads to, sorted by (kind, key, sequence)."""
        cursor = self.transaction.cursor(db=self.aliases)
        if not cursor.set_key(raw):
            return []
        return sorted(split_row_name(value) for value in cursor.iternext_dup())

    def rows_from(self, start: bytes, stop: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Up to `limit` index rows from `start` on whose names begin with `stop`, in order."""
        cursor = self.transaction.cursor(db=self.index)
        found: list[tuple[bytes, bytes]] = []
        if cursor.set_range(start):
            for item in cursor.iternext():
                if len(found) == limit or not item[0].startswith(stop):
                    break
                found.append(item)
        return found

    # ---- scopes, tables, meta --------------------------------------------------------------------------

    def scope_name(self, number: int) -> str:
        """Name of a scope. Errors: DamagedError for a number that was never given."""
        name = self._scope_names.get(number)
        if name is None:
            value = self._get(b"n" + number.to_bytes(4, "big"), db=self.scopes)
            if value is None:
                raise DamagedError(f"unknown scope number {number}", where=self.where, next_step="run fsck")
            name = self._scope_names[number] = bytes(value).decode("utf-8")
        return name

    def scope_number(self, name: str) -> int | None:
        """Number of a scope, or None."""
        value = self._get(scope_hash(name), db=self.scopes)
        return None if value is None else int.from_bytes(value[:4], "big")

    def scope_names(self, kind: SnapshotKind) -> list[str]:
        """Names of the scopes that hold keys of a kind, sorted."""
        cursor = self.transaction.cursor(db=self.members)
        code = KINDS.index(kind)
        found: list[str] = []
        more = cursor.set_range(bytes((code,)))
        while more and cursor.key()[0] == code:
            number = int.from_bytes(cursor.key()[1:5], "big")
            found.append(self.scope_name(number))
            more = cursor.set_range(member_scope(code, number + 1))
        return sorted(found)

    def scope_keys(self, kind: SnapshotKind, name: str) -> list[bytes]:
        """Raw keys of one kind in a scope, sorted, each once."""
        number = self.scope_number(name)
        if number is None:
            return []
        code = KINDS.index(kind)
        rows = self.transaction.cursor(db=self.index)
        found: dict[bytes, None] = {}
        for member in self._member_prefixes(code, number):
            prefix = bytes((code,)) + member
            if not rows.set_range(prefix):
                continue
            for row, value in rows.iternext():
                if not row.startswith(prefix):
                    break
                if unpack_entry(value).scope == number:
                    found[row[1:33]] = None
        return list(found)

    def _member_prefixes(self, kind: int, number: int) -> list[bytes]:
        scope = member_scope(kind, number)
        cursor = self.transaction.cursor(db=self.members)
        found: set[bytes] = set()
        if cursor.set_range(scope):
            for name, value in cursor.iternext():
                if not name.startswith(scope):
                    break
                joined = name[len(scope) :] + value
                found.update(joined[at : at + MEMBER_BYTES] for at in range(0, len(joined), MEMBER_BYTES))
        return sorted(found)

    def table_rows(self, name: str, start: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Up to `limit` (row name, envelope) of a table from `start` on."""
        prefix = table_prefix(name)
        cursor = self.transaction.cursor(db=self.tables)
        found: list[tuple[bytes, bytes]] = []
        if cursor.set_range(start):
            for row, value in cursor.iternext():
                if len(found) == limit or not row.startswith(prefix):
                    break
                found.append((row, value))
        return found

    def table_row(self, name: str, identity: str) -> bytes | None:
        """Plain bytes of one table row, or None."""
        value = self._get(table_prefix(name) + identity.encode(), db=self.tables)
        return None if value is None else self.parts.decode(value)

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
        return {
            name[len(META_PREFIX) :].decode(): parse_json(self.parts.decode(value))
            for name, value in self.rows(self.meta)
            if name.startswith(META_PREFIX)
        }


def scope_hash(name: str) -> bytes:
    """Where the number of a scope is found: scope names may be longer than an LMDB key."""
    return b"h" + hashlib.sha256(name.encode("utf-8")).digest()[:16]


def member_scope(kind: int, number: int) -> bytes:
    """Start of all row names of a scope's members."""
    return bytes((kind,)) + number.to_bytes(4, "big")


def table_prefix(name: str) -> bytes:
    """Start of all row names of a table."""
    return name.encode() + b"\x00"
