"""Building a sealed store in one pass from rows that come in order.

Rows are written in the order of their names, so pages are full and the bytes depend on the content alone.
Parts are compressed with dictionaries trained on the first rows of each kind: keys are digests, so the first
rows are as good a sample as any. A short body with one owner lies in its row, so a hit needs one lookup; a
body with several owners is stored once as an object.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import lmdb

from replay.core.errors import InputError
from replay.store.dictionaries import Dictionary, make_compressor, train_dictionary
from replay.store.entries import (
    BODY,
    CHECK_BYTES,
    DICTIONARY,
    ELSEWHERE,
    HEAD,
    INLINE_LIMIT,
    PLAIN,
    ZSTD,
    PlainPart,
    pack_entry,
    row_name,
    unpack_entry,
)
from replay.store.preparing import Prepared
from replay.store.records import FRAME_MAGIC, ObjectEncoder
from replay.store.view import DATABASES, DUPSORT, MEMBER_BYTES, member_scope, scope_hash

__all__ = ["Builder"]

_DICTIONARY_BYTES: Final = 16384
_SAMPLES: Final = 2000
_SAMPLE_BYTES: Final = 8192
"""Longer parts compress well on their own and would crowd short ones out."""
_WAITING_BYTES: Final = 32 * 1024 * 1024
_MIN_SAMPLES: Final = 64
_COMMIT_ROWS: Final = 20_000
_COMMIT_BYTES: Final = 64 * 1024 * 1024
_ROOM_BYTES: Final = 512 * 1024 * 1024
"""Free map before each transaction: far more than one can write (address space, not disk)."""
_ALWAYS_HELD: Final = 32 - CHECK_BYTES - 2
"""A part this short takes no more room in its row than the name of an object."""
_LONGEST_TRIED: Final = 64 * INLINE_LIMIT
_MEMBERS: Final = 64
"""Members of a scope in one row."""
_REMEMBERED: Final = 500_000
"""Distinct short bodies whose first owner is remembered; the bound on memory, about 100 MB."""
_MAGIC_BYTES: Final = len(FRAME_MAGIC)


class Builder:
    """Writes a fresh environment. Rows of answers and of tables must come in the order of their names."""

    def __init__(self, folder: Path) -> None:
        """Open a fresh environment in an empty folder. Errors: lmdb.Error when the disk refuses."""
        self._env = lmdb.open(
            str(folder), lib_version=0, map_size=_ROOM_BYTES, max_dbs=len(DATABASES), sync=False, lock=False
        )
        self._handles = {
            name: self._env.open_db(name.encode(), dupsort=name in DUPSORT) for name in DATABASES
        }
        self._transaction: Any = self._env.begin(write=True)
        self._pending_rows = 0
        self._pending_bytes = 0
        self._kind = -1
        self._waiting: list[Prepared] | None = None
        self._waiting_bytes = 0
        self._scopes: dict[str, int] = {}
        self._members: dict[tuple[int, int], bytearray] = {}
        self._owners: dict[bytes, bytes] = {}
        self._dictionaries: dict[int, Dictionary] = {}
        self._codecs: list[tuple[int, Any]] = []
        self._encoders: list[ObjectEncoder] = []

    def add(self, one: Prepared) -> None:
        """Add one answer. Errors: InputError when it does not come after the one before."""
        if one.kind != self._kind:
            self._start_kind(one.kind)
        if self._waiting is None:
            self._write(one)
            return
        self._waiting.append(one)
        self._waiting_bytes += one.size_bytes
        if len(self._waiting) >= _SAMPLES or self._waiting_bytes >= _WAITING_BYTES:
            self._train()

    def add_rows(self, database: str, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Add finished rows to `tables` or `meta`. Errors: InputError when one is out of order."""
        handle = self._handles[database]
        for name, value in rows:
            if not self._transaction.put(name, value, db=handle, append=True):
                raise _out_of_order(database, name)
            self._step(len(value))

    def finish(self) -> None:
        """Write what is still held back, flush and close."""
        if self._waiting is not None:
            self._train()
        rows: dict[bytes, bytes] = {}
        for name, number in self._scopes.items():
            encoded = name.encode("utf-8")
            packed = number.to_bytes(4, "big")
            rows[scope_hash(name)] = packed + encoded
            rows[b"n" + packed] = encoded
        self.add_rows("scopes", sorted(rows.items()))
        for (kind, number), joined in sorted(self._members.items()):
            self.add_rows("members", _member_rows(member_scope(kind, number), joined))
        self._transaction.commit()
        self._env.sync(True)  # noqa: FBT003 (py-lmdb names it `force`, positionally)
        self.close()

    def close(self) -> None:
        """Give the files back; nothing uncommitted is kept."""
        self._env.close()

    def _start_kind(self, kind: int) -> None:
        if self._waiting is not None:
            self._train()
        if kind < self._kind:
            raise _out_of_order("index", bytes((kind,)))
        self._kind = kind
        self._waiting = []
        self._waiting_bytes = 0

    def _train(self) -> None:
        """Make the dictionaries of the current kind from the rows that waited for them, then write those."""
        waiting, self._waiting = self._waiting or [], None
        self._dictionaries = {}
        for which, parts in ((BODY, [one.body for one in waiting]), (HEAD, [one.head for one in waiting])):
            samples = [part for part in parts if 0 < len(part) <= _SAMPLE_BYTES]
            if len(samples) >= _MIN_SAMPLES:
                size = max(256, min(_DICTIONARY_BYTES, sum(map(len, samples)) // 8))
                dictionary = train_dictionary(samples, size_bytes=size)
                self._dictionaries[which] = dictionary
                row = (bytes((self._kind, which)), dictionary.digest + dictionary.data)
                self.add_rows("dictionaries", [row])
        self._codecs = [
            (DICTIONARY, self._dictionaries[which].compressor().compress)
            if which in self._dictionaries
            else (ZSTD, make_compressor().compress)
            for which in (BODY, HEAD)
        ]
        self._encoders = [ObjectEncoder(self._dictionaries.get(which)) for which in (BODY, HEAD)]
        for one in waiting:
            self._write(one)

    def _write(self, one: Prepared) -> None:
        kind, raw, sequence, traits, scope, body, body_digest, head, head_digest, aliases = one
        name = row_name(kind, raw, sequence)
        number = self._scopes.setdefault(scope, len(self._scopes))
        body_part = self._pack_body(body, body_digest, name)
        head_part = self._pack(head, head_digest, HEAD) or self._put_object(head, head_digest, HEAD)
        packed = pack_entry(traits, number, body_part, head_part)
        if not self._transaction.put(name, packed, db=self._handles["index"], append=True):
            raise _out_of_order("index", name)
        members = self._members.get((kind, number))
        if members is None:
            members = self._members[kind, number] = bytearray()
        if members[-MEMBER_BYTES:] != raw[:MEMBER_BYTES]:
            members += raw[:MEMBER_BYTES]
        for alias in aliases:
            self._transaction.put(alias, name, dupdata=False, db=self._handles["aliases"])
        self._step(len(body) + len(head))

    def _pack_body(self, body: bytes, digest: bytes, name: bytes) -> PlainPart:
        """Hold a short body in its row unless another row has the same one."""
        part = self._pack(body, digest, BODY)
        if part is None:
            return self._put_object(body, digest, BODY)
        if len(part[2]) <= _ALWAYS_HELD:
            return part
        first = self._owners.get(part[1])
        if first is None:
            if len(self._owners) < _REMEMBERED:
                self._owners[part[1]] = name
            return part
        shared = self._put_object(body, digest, BODY)
        if first:
            held = unpack_entry(self._transaction.get(first, db=self._handles["index"]))
            moved = pack_entry(held.traits, held.scope, shared, held.head)
            self._transaction.put(first, moved, db=self._handles["index"])
            self._owners[part[1]] = b""
        return shared

    def _pack(self, plain: bytes, digest: bytes, which: int) -> PlainPart | None:
        """Form of a part that is held in its row, or None when it is too long for that."""
        size = len(plain)
        if size > _LONGEST_TRIED:
            return None
        codec, compress = self._codecs[which]
        data = compress(plain)[_MAGIC_BYTES:]
        if len(data) >= size:
            codec, data = PLAIN, plain
        return (codec, digest[:CHECK_BYTES], data) if len(data) <= INLINE_LIMIT else None

    def _put_object(self, plain: bytes, digest: bytes, which: int) -> PlainPart:
        if self._transaction.get(digest, db=self._handles["objects"]) is None:
            envelope = self._encoders[which].encode(plain, digest)
            self._transaction.put(digest, envelope, db=self._handles["objects"])
        return ELSEWHERE, digest, b""

    def _step(self, size_bytes: int) -> None:
        """Count a row; commit now and then, and grow the map while no transaction is open."""
        self._pending_rows += 1
        self._pending_bytes += size_bytes
        if self._pending_rows < _COMMIT_ROWS and self._pending_bytes < _COMMIT_BYTES:
            return
        self._transaction.commit()
        facts = self._env.info()
        used = (facts["last_pgno"] + 1) * self._env.stat()["psize"]
        if facts["map_size"] - used < _ROOM_BYTES:
            self._env.set_mapsize(facts["map_size"] * 2)
        self._transaction = self._env.begin(write=True)
        self._pending_rows = self._pending_bytes = 0


def _member_rows(scope: bytes, joined: bytearray) -> Iterable[tuple[bytes, bytes]]:
    step = _MEMBERS * MEMBER_BYTES
    for at in range(0, len(joined), step):
        chunk = bytes(joined[at : at + step])
        yield scope + chunk[:MEMBER_BYTES], chunk[MEMBER_BYTES:]


def _out_of_order(database: str, name: bytes) -> InputError:
    return InputError(
        f"row {name.hex()} does not come after the one before it",
        where=f"database {database}",
        expected="rows in rising order, each once",
    )
