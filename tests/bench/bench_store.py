"""The store against a bare LMDB get, diskcache, sqlite3 and a cache of JSON files, all in one run.

Rates are the best of rounds that take turns over the same shuffled calls, so that a busy machine slows all
alike; times to open are medians. `request_to_bytes` includes making the key from the request, decompression
and proof of the bytes; the others get a finished key and return what they stored.
"""

from __future__ import annotations

import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import diskcache
import lmdb

from replay.core.keys import call_key
from replay.core.types import CallRequest, Key, Snapshot
from replay.store.preparing import prepare
from replay.store.sealing import build_sealed
from replay.store.snapshots import SnapshotStore
from tests.bench.store_data import make_calls, make_snapshots

__all__ = ["run"]

ENTRIES = 100_000
LOOKUPS = 48_000
ROUNDS = 12
FILE_LOOKUPS = 30
"""The cache of JSON files takes milliseconds a lookup."""

Rows = Sequence[tuple[bytes, bytes]]


def run(entries: int = ENTRIES) -> dict[str, Any]:
    """Measure; sizes in bytes, times in milliseconds, rates per second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        snapshots = sorted(make_snapshots(entries), key=lambda one: one.key)
        calls = list(make_calls(min(LOOKUPS, entries)))
        random.Random(3).shuffle(calls)  # noqa: S311 (a measurement plan)
        requests = [request for request, _ in calls]
        figures = {
            "entries": entries,
            "answer_bytes_mean": round(statistics.fmean(len(one.body) for one in snapshots), 1),
            "build": _measure_build(folder, snapshots),
            "open_ms": _measure_open(folder, snapshots),
            "per_second": _measure_rates(folder, snapshots, requests),
            "recording_per_second": _measure_recording(folder, snapshots),
        }
        figures["bars"] = _judge(figures)
        return figures


def _measure_build(folder: Path, snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    started = time.perf_counter()
    build_sealed(folder / "sealed", answers=map(prepare, snapshots), tables=(), meta={})
    taken = time.perf_counter() - started
    build_sealed(folder / "tenth", answers=map(prepare, snapshots[::10]), tables=(), meta={})
    plain = sum(len(one.body) for one in snapshots)
    size = (folder / "sealed" / "data.mdb").stat().st_size
    return {
        "per_second": round(len(snapshots) / taken),
        "size_bytes": size,
        "bytes_per_entry": round(size / len(snapshots), 1),
        "answer_bytes": plain,
    }


def _measure_open(folder: Path, snapshots: Sequence[Snapshot]) -> dict[str, float]:
    """Median time to open and to answer the first call, whole store and a tenth of it."""
    figures = {}
    for name in ("sealed", "tenth"):
        opened, answered = [], []
        for _ in range(21):
            started = time.perf_counter()
            store = SnapshotStore.open_sealed(folder / name)
            opened.append(time.perf_counter() - started)
            store.get_body(snapshots[0].key)
            answered.append(time.perf_counter() - started)
            store.close()
        figures[name] = round(statistics.median(opened) * 1e3, 3)
        figures[f"{name}_with_first_answer"] = round(statistics.median(answered) * 1e3, 3)
    return figures


def _measure_rates(
    folder: Path, snapshots: Sequence[Snapshot], requests: Sequence[CallRequest]
) -> dict[str, int]:
    """Calls per second of ours and of the others; rounds take turns."""
    rows = [(bytes.fromhex(one.key[7:]), one.body.encode()) for one in snapshots]
    keys: list[Key] = [call_key(request) for request in requests]
    raw_keys = [bytes.fromhex(key[7:]) for key in keys]
    question = "select body from answers where key = ?"
    with (
        SnapshotStore.open_sealed(folder / "sealed") as store,
        _make_bare(folder, rows) as environment,
        environment.begin() as transaction,
        _make_diskcache(folder, rows) as cache,
        closing(_make_sqlite(folder, rows)) as database,
    ):
        rates = _take_turns(
            {
                "request_to_bytes": (lambda one: store.get_body(call_key(one)), requests),
                "key_to_bytes": (store.get_body, keys),
                "key_to_snapshot": (store.get, keys),
                "request_to_key": (call_key, requests),
                "bare_lmdb_get": (transaction.get, raw_keys),
                "sqlite3": (lambda key: database.execute(question, (key,)).fetchone()[0], raw_keys),
                "diskcache": (cache.get, raw_keys),
            }
        )
    return {**rates, "json_files": _measure_files(folder, snapshots)}


def _make_bare(folder: Path, rows: Rows) -> lmdb.Environment:
    environment = lmdb.open(str(folder / "bare"), map_size=1 << 30, lib_version=0, sync=False)
    with environment.begin(write=True) as transaction:
        transaction.cursor().putmulti(rows, append=True)
    return environment


def _make_diskcache(folder: Path, rows: Rows) -> Any:
    cache = diskcache.Cache(str(folder / "diskcache"), eviction_policy="none")
    with cache.transact():
        for key, body in rows:
            cache[key] = body
    return cache


def _make_sqlite(folder: Path, rows: Rows) -> sqlite3.Connection:
    database = sqlite3.connect(folder / "sqlite3.db")
    database.execute("create table answers (key blob primary key, body blob) without rowid")
    database.executemany("insert into answers values (?, ?)", rows)
    database.commit()
    return database


def _measure_files(folder: Path, snapshots: Sequence[Snapshot]) -> int:
    """A file for each tool with all its answers, read anew for each lookup, as tool servers do."""
    files: dict[str, dict[str, str]] = {}
    for one in snapshots:
        files.setdefault(one.scope, {})[str(one.request["arguments"])] = one.body
    folder = folder / "files"
    folder.mkdir()
    for number, scope in enumerate(sorted(files)):
        (folder / f"{number}.json").write_text(json.dumps(files[scope]))
        files[scope] = {"path": str(folder / f"{number}.json")}

    def look_up(one: Snapshot) -> str:
        answers: dict[str, str] = json.loads(Path(files[one.scope]["path"]).read_text())
        return answers[str(one.request["arguments"])]

    chosen = snapshots[:: max(1, len(snapshots) // FILE_LOOKUPS)]
    started = time.perf_counter()
    for one in chosen:
        look_up(one)
    return round(len(chosen) / (time.perf_counter() - started))


def _measure_recording(folder: Path, snapshots: Sequence[Snapshot]) -> dict[str, int]:
    """Durable puts into a writable store: in batches, and one commit each."""
    with SnapshotStore.create(folder / "overlay") as store:
        started = time.perf_counter()
        store.put_many(snapshots[2000:22_000])
        batched = len(snapshots[2000:22_000]) / max(time.perf_counter() - started, 1e-9)
        started = time.perf_counter()
        for one in snapshots[:500]:
            store.append(one)
        single = 500 / (time.perf_counter() - started)
    return {"in_batches": round(batched), "one_by_one": round(single)}


def _take_turns(contenders: Mapping[str, tuple[Callable[[Any], object], Sequence[Any]]]) -> dict[str, int]:
    """Best rate of each over rounds that take turns; every round has other items, the same for all."""
    best = dict.fromkeys(contenders, 0.0)
    for number in range(ROUNDS):
        for name, (function, items) in contenders.items():
            part = items[number::ROUNDS]
            started = time.perf_counter()
            for item in part:
                function(item)
            best[name] = max(best[name], len(part) / (time.perf_counter() - started))
    return {name: round(rate) for name, rate in best.items()}


def _judge(figures: dict[str, Any]) -> dict[str, Any]:
    """The bars of DESIGN section 6 and whether this run meets them."""
    rate, bare = figures["per_second"]["request_to_bytes"], figures["per_second"]["bare_lmdb_get"]
    return {
        "open under 5 ms": figures["open_ms"]["sealed"] < 5,
        "open independent of size (under 2x from a tenth)": figures["open_ms"]["sealed"]
        < 2 * figures["open_ms"]["tenth"],
        "request to bytes at least 60,000 a second": rate >= 60_000,
        "slower than a bare LMDB get by": round(bare / rate, 1),
        "within 15 times of a bare LMDB get": bare <= 15 * rate,
        "under 20 MB for 100,000 answers": figures["build"]["bytes_per_entry"] * 100_000 < 20_000_000,
    }
