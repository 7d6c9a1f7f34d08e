"""The snapshot store: recorded answers by key and number, on LMDB (DESIGN section 6).

A store is a folder: `store.json`, `data.mdb`, and locks while it is writable. Stores are rebuildable;
archives are what travels. Rows are only ever added, never changed, so a reader is never wrong. How rows look
is in `entries`, how they are read in `view`, written in `writing`, sealed in `sealing`, checked in `fsck`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from replay.core.errors import InputError
from replay.core.types import Json, Key, Snapshot, SnapshotKind
from replay.store.dictionaries import Dictionary
from replay.store.entries import KINDS, Place, raw_key, split_row_name, text_key, unpack_entry
from replay.store.environment import Environment
from replay.store.fsck import Finding, check_store
from replay.store.opening import Access, create_files
from replay.store.preparing import prepare, prepare_batches
from replay.store.records import ObjectDecoder, ObjectEncoder, check_size
from replay.store.sealing import meta_rows, seal_environment
from replay.store.view import View, table_prefix
from replay.store.writing import PutOutcome, Writer

__all__ = ["Finding", "PutOutcome", "SnapshotStore"]

_BATCH_COUNT: Final = 2000
_BATCH_BYTES: Final = 16 * 1024 * 1024
"""One durable commit of put_many and put_table."""
_SCAN_ROWS: Final = 256
_TABLE_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
_ID_BYTES: Final = 440
"""LMDB keys hold 511 bytes; the table's name is one part of them."""


class SnapshotStore:
    """An open store. Safe to share between threads; to be opened anew in another process."""

    def __init__(self, path: Path, access: Access) -> None:
        """Open a store folder; the class methods say how."""
        self.path = path
        self._environment = Environment(path, access)
        self._writer = Writer(self._environment)

    @classmethod
    def create(cls, path: Path, *, meta: Mapping[str, Json] | None = None) -> Self:
        """Create an empty writable store. Errors: StoreError when the place is taken or cannot be written."""
        create_files(path)
        store = cls(path, Access.WRITER)
        try:
            store.set_meta(meta or {})
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open_writable(cls, path: Path) -> Self:
        """Open for writing. Errors: StoreError when it is sealed, locked by another writer or read-only."""
        return cls(path, Access.WRITER)

    @classmethod
    def open_sealed(cls, path: Path) -> Self:
        """Open a sealed store: no lock file, no writing, in a time that does not depend on its size."""
        return cls(path, Access.SEALED)

    @classmethod
    def open_reader(cls, path: Path) -> Self:
        """Open a writable store for reading beside its writer, which may be another process."""
        return cls(path, Access.READER)

    @property
    def is_sealed(self) -> bool:
        """True when the store can never change."""
        return self._environment.is_sealed

    # ---- reads -----------------------------------------------------------------------------------------

    def get(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """Answer number `sequence` of a key, or None; a key without answers of its own may be an alias.

        Errors: DamagedError when what is stored is not what was recorded; never a miss for that.
        """
        return self._environment.read(View.snapshot, raw_key(key), sequence)

    def get_body(self, key: Key, sequence: int = 0) -> bytes | None:
        """Body bytes of what `get` would give, without touching the request: the hot path."""
        return self._environment.read(View.body, raw_key(key), sequence)

    def get_answer(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """What `get` would give without its request, aliases and meta, which are not read at all."""
        return self._environment.read(View.answer, raw_key(key), sequence)

    def count(self, key: Key) -> int:
        """How many answers `get` can give for a key."""
        return len(self.places(key))

    def own(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """Like `get`, but never by an alias: what layers are put together from."""
        return self._environment.read(View.own_snapshot, raw_key(key), sequence)

    def own_answer(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """Like `get_answer`, but never by an alias."""
        return self._environment.read(View.own_answer, raw_key(key), sequence)

    def own_body(self, key: Key, sequence: int = 0) -> bytes | None:
        """Like `get_body`, but never by an alias."""
        return self._environment.read(View.own_body, raw_key(key), sequence)

    def places(self, key: Key) -> list[Place]:
        """Where a key leads to: its own answers or, without any, those of its alias; sorted."""
        return self._environment.read(_places, raw_key(key))

    def scope(self, kind: SnapshotKind, scope: str) -> Iterator[Key]:
        """Keys of one kind in a scope, sorted, each once."""
        for raw in self._environment.read(View.scope_keys, kind, scope):
            yield text_key(raw)

    def scopes(self, kind: SnapshotKind) -> tuple[str, ...]:
        """Names of the scopes that hold a kind, sorted."""
        return tuple(self._environment.read(View.scope_names, kind))

    def scan(self, kind: SnapshotKind | None = None) -> Iterator[Snapshot]:
        """All snapshots sorted by (kind, key, sequence); rows put meanwhile may or may not be among them."""
        for one in KINDS if kind is None else (kind,):
            start = code = bytes((KINDS.index(one),))
            while True:
                start, found = self._environment.read(_scan_step, code, start)
                yield from found
                if not start:
                    break

    def table(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Rows of a table sorted by id; none when there is no such table."""
        prefix = table_prefix(_check_table(name))
        start = prefix
        decode = ObjectDecoder({}).decode
        while True:
            rows = self._environment.read(View.table_rows, name, start, _SCAN_ROWS)
            for row_name, envelope in rows:
                yield row_name[len(prefix) :].decode(), decode(envelope)
            if len(rows) < _SCAN_ROWS:
                return
            start = rows[-1][0] + b"\x00"

    def row(self, name: str, identity: str) -> bytes | None:
        """One row of a table, or None."""
        if not identity or len(identity.encode()) > _ID_BYTES:
            return None
        return self._environment.read(View.table_row, _check_table(name), identity)

    def tables(self) -> tuple[str, ...]:
        """Names of all tables that have rows, sorted."""
        return self._environment.read(View.table_names)

    @property
    def meta(self) -> Mapping[str, Json]:
        """What `create` and `set_meta` stored."""
        return self._environment.read(View.user_meta)

    @property
    def dictionaries(self) -> tuple[Dictionary, ...]:
        """Compression dictionaries of this store, sorted by digest; only sealed stores have any."""
        found = self._environment.read(_dictionaries)
        return tuple(sorted(found, key=lambda dictionary: dictionary.digest))

    # ---- writes ----------------------------------------------------------------------------------------

    def put(self, snapshot: Snapshot) -> PutOutcome:
        """Put one snapshot durably unless its (key, sequence) is taken; aliases and scope go with it.

        Errors: LimitError, CanonicalError, InputError before anything is written; StoreError when the disk
        refuses, and then nothing was written either.
        """
        return self._writer.put((prepare(snapshot),))[0][0]

    def put_many(self, snapshots: Iterable[Snapshot]) -> Counter[PutOutcome]:
        """Put snapshots in durable batches and count the outcomes.

        A batch is written whole or not at all; after an error the batches before it are kept.
        """
        outcomes: Counter[PutOutcome] = Counter()
        for batch in prepare_batches(snapshots, count=_BATCH_COUNT, size_bytes=_BATCH_BYTES):
            outcomes.update(outcome for outcome, _ in self._writer.put(batch))
        return outcomes

    def append(self, snapshot: Snapshot, *, start: int = 0) -> int:
        """Record one more answer to a key; its own sequence is not looked at. Returns the number it got.

        An answer equal to the last one is not recorded again. Numbers begin at `start`, which a layered store
        sets to the count of frozen answers.
        """
        return self._writer.put((prepare(snapshot),), start=start)[0][1]

    def put_table(self, name: str, rows: Iterable[tuple[str, bytes]]) -> None:
        """Add rows (id, bytes) to a table in durable batches; equal rows may be put again.

        Errors: InputError for a bad name or id, or an id that holds other bytes; LimitError over 16 MiB.
        """
        prefix = table_prefix(_check_table(name))
        encode = ObjectEncoder().encode
        batch: list[tuple[bytes, bytes]] = []
        held = 0
        for identity, plain in rows:
            where = f"table {name}, row {identity!r}"[:200]
            encoded = identity.encode()
            if not 0 < len(encoded) <= _ID_BYTES:
                raise InputError("bad row id", where=where, expected=f"1 to {_ID_BYTES} bytes of UTF-8")
            check_size(plain, where=where)
            batch.append((prefix + encoded, encode(plain)))
            held += len(plain)
            if len(batch) >= _BATCH_COUNT or held >= _BATCH_BYTES:
                self._environment.write(_put_rows, batch)
                batch, held = [], 0
        self._environment.write(_put_rows, batch)

    def set_meta(self, values: Mapping[str, Json]) -> None:
        """Store facts about the store by name; a name that is there gets the new value."""
        rows = meta_rows(values)
        self._environment.write(_put_meta, rows)

    # ---- whole store -----------------------------------------------------------------------------------

    def seal(self, target: Path) -> None:
        """Write a sealed copy: packed, exact size, mode 0444, there whole or not at all.

        The same content gives the same bytes, whatever the order it was put in.
        Errors: StoreError when the target exists or cannot be written.
        """
        seal_environment(self._environment, target)

    def fsck(self) -> tuple[Finding, ...]:
        """Re-hash every object and resolve every row; the findings are named, none means sound."""
        return check_store(self._environment)

    def close(self) -> None:
        """Close; a second time does nothing."""
        self._environment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _places(view: View, raw: bytes) -> list[Place]:
    return view.places(raw) or view.alias_places(raw)


def _scan_step(view: View, kind: bytes, start: bytes) -> tuple[bytes, list[Snapshot]]:
    """Snapshots of the next rows of a kind, and where to go on; empty when there are no more."""
    rows = view.rows_from(start, kind, _SCAN_ROWS)
    found = [view.assemble(split_row_name(name), unpack_entry(value)) for name, value in rows]
    return (rows[-1][0] + b"\x00" if len(rows) == _SCAN_ROWS else b""), found


def _dictionaries(view: View) -> tuple[Dictionary, ...]:
    return tuple(view.parts.dictionaries().values())


def _put_rows(view: View, rows: list[tuple[bytes, bytes]]) -> None:
    for name, envelope in rows:
        held = view.transaction.get(name, db=view.tables)
        if held is None:
            view.transaction.put(name, envelope, db=view.tables)
        elif view.parts.decode(held) != view.parts.decode(envelope):
            table, _, identity = name.partition(b"\x00")
            raise InputError(
                f"row {identity.decode()!r} already holds other bytes",
                where=f"table {table.decode()}",
                expected="one content for each id",
                next_step="find out which of the two is right; nothing of this batch was written",
            )


def _put_meta(view: View, rows: list[tuple[bytes, bytes]]) -> None:
    for name, envelope in rows:
        view.transaction.put(name, envelope, db=view.meta)


def _check_table(name: str) -> str:
    if _TABLE_NAME.fullmatch(name) is None:
        raise InputError(f"bad table name {name!r}", expected="a lower-case name of at most 32 characters")
    return name
