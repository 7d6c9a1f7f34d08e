"""Thawing: an archive -> a sealed store, every byte proven on the way, there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from replay.core.canonical import canonical_bytes
from replay.store.archive.manifest import FACTS_NAME, ArchiveManifest, facts_of
from replay.store.archive.reader import ArchiveReader
from replay.store.archive.rows import SNAPSHOT_TABLES
from replay.store.entries import KINDS, raw_key, traits_of
from replay.store.preparing import Prepared
from replay.store.sealing import build_sealed

__all__ = ["thaw"]


def thaw(path: Path, store_path: Path) -> ArchiveManifest:
    """Build a sealed store at `store_path`; it carries the facts, so that freezing it gives `path` back.

    A layer gives a store of its own rows; stores are laid over each other as archives are.
    Errors: InputError, DamagedError, NewerFormatError or LimitError for the archive, naming member and row;
    StoreError when something is at `store_path` or the disk refuses. Nothing is left behind then.
    """
    with ArchiveReader(path) as archive:
        manifest = archive.manifest
        plain = [table.name for table in manifest.tables if table.name not in SNAPSHOT_TABLES]
        build_sealed(
            store_path,
            answers=_answers(archive),
            tables=((name, archive.rows(name)) for name in plain),
            meta={FACTS_NAME: msgspec.to_builtins(facts_of(manifest))},
        )
    return manifest


def _answers(archive: ArchiveReader) -> Iterator[Prepared]:
    """Bring snapshots into the store's form.

    A row was checked to its last byte, so nothing is checked twice: this is the store's `prepare` without its
    checks, at a third of the cost.
    """
    for name, kind in SNAPSHOT_TABLES.items():
        code = KINDS.index(kind)
        before: tuple[object, ...] = ()
        traits = 0
        for row in archive.checked_rows(name):
            parts = row.parts
            assert parts is not None  # rows of snapshot tables have them
            place = (parts.provenance, parts.status, parts.origin, parts.media)
            if place != before:  # most rows are like the one before them
                before, traits = place, traits_of(row.snapshot)
            body = parts.body.encode()
            aliases = canonical_bytes(parts.aliases) if parts.aliases else b"[]"
            head = b"".join((b"[", row.request, b",", aliases, b",", row.meta, b"]"))
            yield Prepared(
                code,
                bytes.fromhex(parts.key[7:]),
                parts.sequence,
                traits,
                parts.scope,
                body,
                sha256(body).digest(),
                head,
                sha256(head).digest(),
                tuple(map(raw_key, parts.aliases)) if parts.aliases else (),
            )
