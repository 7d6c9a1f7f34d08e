"""Sealing: rows in order become an immutable store that is there whole or not at all.

Two ways lead here with the same bytes as result: a writable store that is sealed, and rows that come sorted
from an archive (`build_sealed`) without a writable store in between.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import lmdb

from replay.core.canonical import canonical_bytes
from replay.core.determinism import temporary_name
from replay.core.errors import StoreError
from replay.core.types import Json
from replay.store.building import Builder
from replay.store.entries import BODY, HEAD, Place, split_row_name, unpack_entry
from replay.store.environment import Environment
from replay.store.marker import DATA_NAME, Marker, file_digest, format_rows, sync_folder, write_marker
from replay.store.opening import Access, open_lmdb
from replay.store.preparing import Prepared, head_aliases
from replay.store.records import ObjectEncoder, encode_object, object_digest
from replay.store.view import META_PREFIX, View, table_prefix

__all__ = ["build_sealed", "meta_rows", "seal_environment"]


def build_sealed(
    target: Path,
    *,
    answers: Iterable[Prepared],
    tables: Iterable[tuple[str, Iterable[tuple[str, bytes]]]],
    meta: Mapping[str, Json],
) -> None:
    """Build a sealed store from rows in order, in one pass and in bounded memory.

    Shape:   answers sorted by (kind, key, sequence), tables by name, their rows by id; each once.
    Errors:  InputError when something is out of order; StoreError when the target exists or the disk refuses;
             whatever the iterators raise. Nothing is left behind then.
    """
    with _sealed(target) as builder:
        for one in answers:
            builder.add(one)
        encode = ObjectEncoder().encode
        for name, rows in tables:
            prefix = table_prefix(name)
            builder.add_rows("tables", ((prefix + row.encode(), encode(plain)) for row, plain in rows))
        builder.add_rows("meta", [*format_rows(), *meta_rows(meta)])


def seal_environment(source: Environment, target: Path) -> None:
    """Write a sealed copy of an open store to `target` in one step.

    Errors: StoreError when the target exists or the disk refuses; nothing is left behind then.
    """
    with _sealed(target) as builder:
        source.read(_fill, builder)


def meta_rows(values: Mapping[str, Json]) -> list[tuple[bytes, bytes]]:
    """Rows that facts about a store are kept in, sorted. Errors: CanonicalError, LimitError."""
    return [
        (META_PREFIX + name.encode(), encode_object(canonical_bytes(value)))
        for name, value in sorted(values.items())
    ]


@contextmanager
def _sealed(target: Path) -> Iterator[Builder]:
    """Give a builder whose result replaces `target` when the block ends well."""
    work = target.with_name(temporary_name(target.name))
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
        builder = Builder(work / "build")
        try:
            yield builder
            builder.finish()
        finally:
            builder.close()
        _compact(work)
        work.replace(target)
        sync_folder(target.parent)
    except (OSError, lmdb.Error) as error:
        raise StoreError(
            f"store cannot be sealed: {error}",
            where=str(target),
            expected="a folder that this user may write to, on a disk with space",
            next_step="free space or choose another folder; what it was made from is untouched",
        ) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _fill(view: View, builder: Builder) -> None:
    """Hand everything the view sees to the builder."""
    names: dict[int, str] = {}
    for row, value in view.rows(view.index):
        builder.add(_prepare_row(view, split_row_name(row), value, names))
    builder.add_rows("tables", view.rows(view.tables))
    builder.add_rows("meta", view.rows(view.meta))


def _prepare_row(view: View, place: Place, value: bytes, names: dict[int, str]) -> Prepared:
    entry = unpack_entry(value)
    body = view.parts.part(entry.body, place.kind, BODY)
    head = view.parts.part(entry.head, place.kind, HEAD)
    if entry.scope not in names:
        names[entry.scope] = view.scope_name(entry.scope)
    return Prepared(
        place.kind,
        place.raw,
        place.sequence,
        entry.traits,
        names[entry.scope],
        body,
        object_digest(body),
        head,
        object_digest(head),
        head_aliases(head),
    )


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
    sync_folder(work)
