"""Thawing: an archive -> a sealed store, every byte proven on the way, there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from replay.store.archive.manifest import FACTS_NAME, ArchiveManifest, facts_of
from replay.store.archive.reader import ArchiveReader
from replay.store.archive.rows import SNAPSHOT_TABLES
from replay.store.preparing import Prepared, prepare
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
    """Prepare snapshots for the store; what was proven canonical is not encoded again."""
    for name in SNAPSHOT_TABLES:
        for row in archive.checked_rows(name):
            if row.snapshot is not None:
                yield prepare(row.snapshot, request=row.request, meta=row.meta)
