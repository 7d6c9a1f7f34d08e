"""Thawing: an archive -> a sealed store, every row proven on the way, there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from replay.core.errors import DamagedError, StoreError
from replay.store.archive.manifest import FACTS_NAME, ArchiveManifest, facts_of
from replay.store.archive.reader import ArchiveReader
from replay.store.archive.rows import SNAPSHOT_TABLES
from replay.store.snapshots import PutOutcome, SnapshotStore

__all__ = ["thaw"]


def thaw(path: Path, store_path: Path) -> ArchiveManifest:
    """Build a sealed store at `store_path`; it carries the facts, so that freezing it gives `path` back.

    Errors: InputError, DamagedError, NewerFormatError or LimitError for the archive, naming member and row;
    StoreError when something is at `store_path` or the disk refuses. Nothing is left behind then.
    """
    with ArchiveReader(path) as archive, _scratch_store(store_path) as store:
        manifest = archive.manifest
        for table in manifest.tables:
            if table.name not in SNAPSHOT_TABLES:
                store.put_table(table.name, archive.rows(table.name))
        outcomes = store.put_many(archive.snapshots())
        if set(outcomes) - {PutOutcome.NEW}:
            raise DamagedError(
                f"{outcomes[PutOutcome.CONFLICT]} snapshots share key and sequence with another kind",
                where=path.name,
                expected="each key once",
            )
        store.set_meta({FACTS_NAME: msgspec.to_builtins(facts_of(manifest))})
        store.seal(store_path)
    return manifest


@contextmanager
def _scratch_store(store_path: Path) -> Iterator[SnapshotStore]:
    """Give a writable store beside the target that is gone when the block ends."""
    if store_path.exists() and (not store_path.is_dir() or any(store_path.iterdir())):
        raise StoreError(
            "something is there already",
            where=store_path.name,
            expected="a new or empty folder",
            next_step="choose another folder, or delete the old store first",
        )
    scratch = store_path.with_name(f".{store_path.name}.{os.getpid()}.thaw")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        with SnapshotStore.create(scratch) as store:
            yield store
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
