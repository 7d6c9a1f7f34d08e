"""Overlays around a run: the one it writes, the one of an earlier run that it reads, and both read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from replay.core.canonical import canonical_bytes, digest
from replay.core.errors import InputError
from replay.core.types import Digest, Record, Snapshot
from replay.engine.rundir.reading import Run
from replay.store.layers import LayeredStore
from replay.store.snapshots import SnapshotStore
from replay.wiring.library import Library

__all__ = ["OVERLAY", "OverlaySink", "digest_overlay", "open_answers_of", "open_sink", "put_makers"]

OVERLAY: Final = "overlay"
"""Folder inside a run directory that holds what the run recorded, and the name of an overlay that was read
among a run's archives."""


class OverlaySink:
    """Writes new snapshots to a run's own overlay, which is made when the first one comes."""

    def __init__(self, path: Path) -> None:
        """Write to this folder, a new one or that of the same run before it was stopped."""
        self._path = path
        self._store: SnapshotStore | None = None
        self.outcomes: Counter[str] = Counter()
        """Snapshots by what became of them: new, same, or conflict (another answer was there and is kept)."""

    def write(self, snapshots: tuple[Snapshot, ...]) -> None:
        """Write snapshots durably; writing the same again changes nothing."""
        if self._store is None:
            exists = self._path.exists()
            self._store = (
                SnapshotStore.open_writable(self._path) if exists else SnapshotStore.create(self._path)
            )
        for outcome, count in self._store.put_many(snapshots).items():
            self.outcomes[outcome.value] += count

    def describe(self, tables: Mapping[str, Iterable[Record]]) -> None:
        """Say who made what is in the overlay: rows with names, for archives that are frozen from it."""
        if self._store is None and not self._path.exists():
            return
        if self._store is None:
            self._store = SnapshotStore.open_writable(self._path)
        put_makers(self._store, tables)

    def close(self) -> None:
        """Close the store, if there is one."""
        if self._store is not None:
            self._store.close()


def put_makers(store: SnapshotStore, tables: Mapping[str, Iterable[Record]]) -> None:
    """Put rows with names into the tables of a store."""
    for table, records in tables.items():
        rows = [msgspec.to_builtins(record) for record in records]
        store.put_table(table, [(row["name"], canonical_bytes(row)) for row in rows])


@contextmanager
def open_sink(run_path: Path) -> Iterator[OverlaySink]:
    """Open the overlay of a run directory for writing."""
    sink = OverlaySink(run_path / OVERLAY)
    try:
        yield sink
    finally:
        sink.close()


def digest_overlay(path: Path) -> Digest:
    """Digest of everything an overlay holds, whatever the order it was written in."""
    with SnapshotStore.open_reader(path) as store:
        return digest("overlay", [digest("snapshot", msgspec.to_builtins(snap)) for snap in store.scan()])


@contextmanager
def open_answers_of(run: Run, library: Library, *, overlay: Path | None = None) -> Iterator[LayeredStore]:
    """Open all that a run's answers came from: its archive, the overlay it read, and the one it wrote.

    Errors:  InputError when the run read an overlay that is not named, or when another one is named.
    """
    wanted = run.manifest.inputs.archives.get(OVERLAY)
    with ExitStack() as stack:
        frozen = list(library.store.frozen)
        if wanted is not None:
            frozen.append(stack.enter_context(SnapshotStore.open_reader(_check_overlay(overlay, wanted))))
        own = Path(run.path) / OVERLAY
        written = stack.enter_context(SnapshotStore.open_reader(own)) if own.is_dir() else None
        yield LayeredStore(frozen, written)


def _check_overlay(overlay: Path | None, wanted: str) -> Path:
    if overlay is not None and digest_overlay(overlay) == wanted:
        return overlay
    raise InputError(
        "the run also read the overlay of an earlier run" if overlay is None else "this is another overlay",
        where="" if overlay is None else str(overlay),
        expected=f"the overlay with digest {wanted}",
        next_step="name it with --overlay",
    )
