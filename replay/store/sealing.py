"""Sealing: a writable store becomes an immutable, packed one.

Rows are written in the order of their keys, so pages are full and the bytes depend on the content alone. Parts are
compressed with a dictionary trained on the store's own answers; a body with one owner moves into its row, so a hit
needs one lookup; a body with several owners stays stored once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import lmdb
import zstandard

from replay.core.errors import StoreError
from replay.store.dictionaries import Dictionary, train_dictionary
from replay.store.entries import (
    CHECK_BYTES,
    DICTIONARY,
    ELSEWHERE,
    INLINE_LIMIT,
    KINDS,
    PLAIN,
    ZSTD,
    Entry,
    Part,
    pack_entry,
    unpack_entry,
)
from replay.store.environment import Access, Environment, open_lmdb
from replay.store.marker import DATA_NAME, Marker, file_digest, write_marker
from replay.store.records import LEVEL, encode_object, object_digest
from replay.store.view import BODY, DATABASES, DUPSORT, HEAD, View, member_name, scope_hash

__all__ = ["seal_environment"]

_DICTIONARY_BYTES: Final = 16384
_SAMPLE_ROWS: Final = 20_000
"""Rows looked at for samples: keys are digests, so the first rows are as good as any."""
_SAMPLES: Final = 2000
_SAMPLE_BYTES: Final = 8192
"""Longer parts compress well on their own and would crowd short ones out."""
_MIN_SAMPLES: Final = 64
_COMMIT_ROWS: Final = 20_000


def seal_environment(source: Environment, target: Path) -> None:
    """Write a sealed copy of an open store to `target` in one step.

    Errors: StoreError when the target exists or the disk refuses; nothing is left behind then.
    """
    work = target.with_name(f".{target.name}.{os.getpid()}.seal")
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise StoreError(
                "store cannot be sealed: something is there already",
                where=str(target),
                expected="a new or empty folder",
                next_step="choose another folder, or delete the old store first",
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(work, ignore_errors=True)
        (work / "build").mkdir(parents=True)
        source.read(_fill, work / "build", source.map_bytes)
        _compact(work)
        work.replace(target)
        _sync_folder(target.parent)
    except (OSError, lmdb.Error) as error:
        raise StoreError(
            f"store cannot be sealed: {error}",
            where=str(target),
            expected="a folder that this user may write to, on a disk with space",
            next_step="free space or choose another folder; the store itself is untouched",
        ) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _fill(view: View, folder: Path, map_bytes: int) -> None:
    """Write everything the view sees into a fresh environment."""
    environment = lmdb.open(
        str(folder),
        lib_version=0,
        map_size=map_bytes * 2 + (64 << 20),
        max_dbs=len(DATABASES),
        sync=False,
        lock=False,
    )
    try:
        handles = {name: environment.open_db(name.encode(), dupsort=name in DUPSORT) for name in DATABASES}
        _Packer(view, environment, handles).run()
        environment.sync(True)
    finally:
        environment.close()


def _compact(work: Path) -> None:
    """Copy the filled file to its exact size, make it read-only and mark it sealed."""
    build = work / "build"
    environment = open_lmdb(build, Access.SEALED)
    try:
        environment.copy(str(work), compact=True)
    finally:
        environment.close()
    shutil.rmtree(build)
    data = work / DATA_NAME
    descriptor = os.open(data, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    data.chmod(0o444)
    write_marker(work, Marker(sealed=True, size_bytes=data.stat().st_size, digest=file_digest(data)))
    _sync_folder(work)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _Packer:
    """One sealing: from a view into the databases of a fresh environment."""

    def __init__(self, view: View, environment: Any, handles: dict[str, Any]) -> None:
        self.view = view
        self.environment = environment
        self.handles = handles
        self.transaction = environment.begin(write=True)
        self.pending = 0
        self.dictionaries = _train(view)
        plain = zstandard.ZstdCompressor(
            level=LEVEL, write_content_size=True, write_checksum=False, write_dict_id=False
        )
        self.compressors = {
            (kind, which): (ZSTD, plain)
            if (kind, which) not in self.dictionaries
            else (DICTIONARY, self.dictionaries[kind, which].compressor(LEVEL))
            for kind in range(len(KINDS))
            for which in (BODY, HEAD)
        }

    def run(self) -> None:
        """Copy all databases."""
        for (kind, which), dictionary in sorted(self.dictionaries.items()):
            self._put("dictionaries", bytes((kind, which)), dictionary.digest + dictionary.data)
        numbers = self._copy_scopes()
        for name, value in _rows(self.view, self.view.index):
            entry = unpack_entry(value)
            kind = entry.traits & 3
            packed = entry._replace(
                scope=numbers[entry.scope],
                body=self._pack(entry.body, kind, BODY),
                head=self._pack(entry.head, kind, HEAD),
            )
            self._put("index", name, pack_entry(packed))
        for database in ("aliases", "tables", "meta"):
            for name, value in _rows(self.view, getattr(self.view, database)):
                self._put(database, name, value)
        self.transaction.commit()

    def _put(self, database: str, name: bytes, value: bytes) -> None:
        self.transaction.put(name, value, db=self.handles[database], append=True)
        self.pending += 1
        if self.pending == _COMMIT_ROWS:
            self.transaction.commit()
            self.transaction = self.environment.begin(write=True)
            self.pending = 0

    def _pack(self, part: Part, kind: int, which: int) -> Part:
        """Move a part into its row if it is short and has one owner; keep it as an object otherwise."""
        plain = self.view.part(part, kind, which)
        shared = part.codec == ELSEWHERE and self.view.is_shared(part.check)
        digest = part.check if part.codec == ELSEWHERE else object_digest(plain)
        if not shared and len(plain) <= 64 * INLINE_LIMIT:
            codec, compressor = self.compressors[kind, which]
            data = compressor.compress(plain)
            if len(data) >= len(plain):
                codec, data = PLAIN, plain
            if len(data) <= INLINE_LIMIT:
                return Part(codec, digest[:CHECK_BYTES], data)
        if self.transaction.get(digest, db=self.handles["objects"]) is None:
            envelope = encode_object(plain, dictionary=self.dictionaries.get((kind, which)))
            self.transaction.put(digest, bytes((shared,)) + envelope, db=self.handles["objects"])
        return Part(ELSEWHERE, digest, b"")

    def _copy_scopes(self) -> dict[int, int]:
        """Give scopes new numbers in the order of their names; returns old -> new."""
        names = sorted(
            (value.decode("utf-8"), int.from_bytes(row[1:5], "big"))
            for row, value in _rows(self.view, self.view.scopes)
            if row[:1] == b"n"
        )
        numbers = {old: new for new, (_, old) in enumerate(names)}
        rows = {}
        for name, old in names:
            number = numbers[old].to_bytes(4, "big")
            rows[scope_hash(name)] = number + name.encode("utf-8")
            rows[b"n" + number] = name.encode("utf-8")
        for row, value in sorted(rows.items()):
            self._put("scopes", row, value)
        for kind in range(len(KINDS)):
            for _, old in names:
                cursor = self.view.transaction.cursor(db=self.view.members)
                if cursor.set_key(member_name(kind, old)):
                    for prefix in cursor.iternext_dup():
                        self._put("members", member_name(kind, numbers[old]), prefix)
        return numbers


def _rows(view: View, database: Any) -> Iterator[tuple[bytes, bytes]]:
    return iter(view.transaction.cursor(db=database))


def _train(view: View) -> dict[tuple[int, int], Dictionary]:
    """Train a dictionary for each kind and part that has enough short samples."""
    samples: dict[tuple[int, int], list[bytes]] = {}
    for _, value in zip(
        range(_SAMPLE_ROWS), view.transaction.cursor(db=view.index).iternext(keys=False), strict=False
    ):
        entry: Entry = unpack_entry(value)
        kind = entry.traits & 3
        for which, part in ((BODY, entry.body), (HEAD, entry.head)):
            chosen = samples.setdefault((kind, which), [])
            if len(chosen) < _SAMPLES:
                plain = view.part(part, kind, which)
                if 0 < len(plain) <= _SAMPLE_BYTES:
                    chosen.append(plain)
    return {
        place: train_dictionary(
            chosen, size_bytes=max(256, min(_DICTIONARY_BYTES, sum(map(len, chosen)) // 8))
        )
        for place, chosen in samples.items()
        if len(chosen) >= _MIN_SAMPLES
    }
