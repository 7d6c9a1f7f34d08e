"""Builders of snapshots and stores for tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from replay.core.types import Key, Snapshot, SnapshotKind
from replay.store.snapshots import SnapshotStore

__all__ = ["make_key", "make_sealed", "make_snapshot", "make_store"]


def make_key(name: object) -> Key:
    """A key that is told by its name only."""
    return Key("sha256:" + hashlib.sha256(str(name).encode()).hexdigest())


def make_snapshot(name: object = "a", **changes: Any) -> Snapshot:
    """A snapshot under `make_key(name)` with small, telling content."""
    facts: dict[str, Any] = {
        "kind": SnapshotKind.API,
        "key": make_key(name),
        "scope": "Weather/forecast/now",
        "request": {"tool": "now", "arguments": {"city": str(name)}},
        "body": f'{{"city": "{name}", "sky": "clear"}}',
    }
    return Snapshot(**{**facts, **changes})


def make_store(folder: Path, snapshots: Iterable[Snapshot] = (), name: str = "store") -> SnapshotStore:
    """A writable store that holds these snapshots."""
    store = SnapshotStore.create(folder / name)
    store.put_many(snapshots)
    return store


def make_sealed(folder: Path, snapshots: Iterable[Snapshot] = (), name: str = "sealed") -> SnapshotStore:
    """A sealed store that holds these snapshots, open for reading."""
    with make_store(folder, snapshots, f"{name}-source") as store:
        store.seal(folder / name)
    return SnapshotStore.open_sealed(folder / name)
