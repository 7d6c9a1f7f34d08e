"""Freeze, thaw and verify rates, archive size against the JSON it came from, with a plain opponent.

The opponent does the least that keeps the same data: rows as JSON lines through one zstd frame, and back into
an LMDB file as they stand, nothing sorted, checked, keyed or hashed. Rates are entries a second of one core
(CPU time), the best of a few rounds, because other work on the machine only ever slows a round.
"""

from __future__ import annotations

import filecmp
import gc
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import lmdb
import msgspec
import zstandard

from replay.core.types import Snapshot
from replay.store.archive.freeze import ArchiveContent, freeze, freeze_store
from replay.store.archive.manifest import ArchiveFacts
from replay.store.archive.reader import ArchiveReader, read_manifest
from replay.store.archive.thaw import thaw
from replay.store.archive.verify import verify_archive
from replay.store.snapshots import SnapshotStore
from tests.bench.store_data import make_snapshots

__all__ = ["run"]

_ENTRIES: Final = 100_000
_ROUNDS: Final = 3
_ARCHIVE: Final = "bench.replay"
_SAMPLE: Final = 0.01
THAW_BAR: Final = 50_000
"""Entries a second and core, DESIGN section 6."""


def run(entries: int = _ENTRIES) -> dict[str, object]:
    """Measure one archive of API answers, 362 bytes on average."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = _measure_writing(entries, folder)
        gc.unfreeze()
        gc.collect()  # reading is measured as a user has it: without the input in memory
        rates, facts = _measure_reading(folder)
        with ArchiveReader(folder / _ARCHIVE) as archive:
            listing = archive.listing()
        plain, bodies = written.pop("json"), written.pop("bodies")
        return {
            "entries": entries,
            "body_bytes_average": round(bodies / entries, 1),
            **{f"{step}_per_s_core": round(entries / seconds) for step, seconds in (written | rates).items()},
            **facts,
            "thaw_bar_per_s": THAW_BAR,
            "bytes": {
                "json": plain,
                "bodies": bodies,
                "archive": listing.file_bytes,
                "archive_over_json": round(listing.file_bytes / plain, 4),
                "plain_zstd": (folder / "plain.zst").stat().st_size,
                "sealed_store": (folder / "store" / "data.mdb").stat().st_size,
            },
        }


def _measure_writing(entries: int, folder: Path) -> dict[str, float]:
    """Seconds of each step, and bytes of the input; leaves both files behind."""
    snapshots = list(make_snapshots(entries))
    gc.freeze()  # the input would otherwise be walked by every collection during the measurements
    facts = ArchiveFacts(name="bench", version="1", benchmark="stabletoolbench")
    content = ArchiveContent(facts=facts, snapshots=snapshots)
    return {
        "freeze": _best_cpu_s(lambda: freeze(content, folder / _ARCHIVE)),
        "plain_write": _best_cpu_s(lambda: _write_plain(snapshots, folder)),
        "json": sum(len(_as_json(snapshot)) + 1 for snapshot in snapshots),
        "bodies": sum(len(snapshot.body.encode()) for snapshot in snapshots),
    }


def _measure_reading(folder: Path) -> tuple[dict[str, float], dict[str, object]]:
    path, store, again = folder / _ARCHIVE, folder / "store", folder / "again.replay"

    def thawing() -> None:
        shutil.rmtree(store, ignore_errors=True)
        thaw(path, store)

    def freezing_again() -> None:
        with SnapshotStore.open_sealed(store) as opened:
            freeze_store(opened, again, overwrite=True)

    steps: dict[str, Callable[[], object]] = {
        "thaw": thawing,
        "freeze_thawed_store": freezing_again,
        "verify": lambda: verify_archive(path),
        "plain_load": lambda: _load_plain(folder),
    }
    return {name: _best_cpu_s(step) for name, step in steps.items()}, {
        "verify_sample_1_percent_ms": round(
            _best_cpu_s(lambda: verify_archive(path, sample=_SAMPLE)) * 1e3, 1
        ),
        "read_manifest_ms": round(_best_cpu_s(lambda: read_manifest(path)) * 1e3, 2),
        "freeze_of_thaw_is_same": filecmp.cmp(path, again, shallow=False),
    }


def _best_cpu_s(step: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(_ROUNDS):
        start = time.process_time()
        step()
        best = min(best, time.process_time() - start)
    return best


def _as_json(snapshot: Snapshot) -> str:
    return json.dumps(msgspec.to_builtins(snapshot))


def _write_plain(snapshots: Sequence[Snapshot], folder: Path) -> None:
    lines = "\n".join(map(_as_json, snapshots)).encode()
    (folder / "plain.zst").write_bytes(zstandard.ZstdCompressor(level=12).compress(lines))


def _load_plain(folder: Path) -> None:
    data = zstandard.ZstdDecompressor().decompress((folder / "plain.zst").read_bytes())
    target = folder / "plain.lmdb"
    shutil.rmtree(target, ignore_errors=True)
    with (
        lmdb.open(str(target), map_size=1 << 30, lib_version=0) as environment,
        environment.begin(write=True) as t,
    ):
        for line in data.split(b"\n"):
            t.put(json.loads(line)["key"].encode(), line)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(), indent=2) + "\n")
