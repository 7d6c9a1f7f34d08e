"""Snapshots made during one episode, before they are merged into the overlay.

A run keeps its results independent of the number of workers by giving each episode a pending overlay of its
own: what the episode records is visible to itself at once, and to nobody else until the run writes it, in
plan order. This module also names the two sides of a store that readers and writers of answers need.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Protocol

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.types import Key, Snapshot, SnapshotKind

__all__ = ["BodyReader", "PendingOverlay", "SnapshotReader", "SnapshotWriter"]


class BodyReader(Protocol):
    """What those need of a store who only want what was answered."""

    def get_body(self, key: Key, sequence: int = 0) -> bytes | None:
        """Return the body of one answer, or None. Raises DamagedError as `SnapshotReader.get`."""
        ...

    def count(self, key: Key) -> int:
        """Return how many answers are recorded under this key."""
        ...


class SnapshotReader(Protocol):
    """What readers of answers need of a store."""

    def get(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """Return one answer, or None. Raises DamagedError when its bytes do not agree with their digest."""
        ...

    def count(self, key: Key) -> int:
        """Return how many answers are recorded under this key."""
        ...

    def scope(self, kind: SnapshotKind, scope: str) -> Iterator[Key]:
        """Iterate over the keys of one tool, model or rubric, sorted, each once."""
        ...


class SnapshotWriter(SnapshotReader, Protocol):
    """What recorders of answers need of a store."""

    def put(self, snapshot: Snapshot) -> str:
        """Write one answer if its (key, sequence) is free: `new`, `same` or `conflict` (nothing written)."""
        ...


class PendingOverlay:
    """An in-memory overlay over a store that is only read; safe to use from many threads."""

    def __init__(self, base: SnapshotReader) -> None:
        """Start empty over `base`."""
        self._base = base
        self._own: dict[tuple[Key, int], Snapshot] = {}
        self._aliases: dict[Key, Key] = {}
        self._lock = threading.Lock()

    def get(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """Return one answer: the base's first, then what was put here."""
        found = self._base.get(key, sequence)
        if found is not None:
            return found
        with self._lock:
            return self._own.get((self._aliases.get(key, key), sequence))

    def count(self, key: Key) -> int:
        """Return how many answers base and overlay hold together under this key."""
        total = self._base.count(key)
        with self._lock:
            primary = self._aliases.get(key, key)
            while (primary, total) in self._own:
                total += 1
        return total

    def scope(self, kind: SnapshotKind, scope: str) -> Iterator[Key]:
        """Iterate over the keys of a scope in both, sorted, each once."""
        with self._lock:
            own = {snap.key for snap in self._own.values() if snap.kind is kind and snap.scope == scope}
        return iter(sorted(own | set(self._base.scope(kind, scope))))

    def put(self, snapshot: Snapshot) -> str:
        """Keep one answer if its (key, sequence) is free in base and overlay."""
        with self._lock:
            place = (snapshot.key, snapshot.sequence)
            held = self._base.get(*place) or self._own.get(place)
            if held is not None:
                return "same" if _content(held) == _content(snapshot) else "conflict"
            self._own[place] = snapshot
            for alias in snapshot.aliases:
                self._aliases.setdefault(alias, snapshot.key)
            return "new"

    def drain(self) -> tuple[Snapshot, ...]:
        """Return everything put since the last drain, sorted by key and sequence, and start empty again."""
        with self._lock:
            taken = tuple(self._own[place] for place in sorted(self._own))
            self._own.clear()
            self._aliases.clear()
        return taken


def _content(snapshot: Snapshot) -> bytes:
    return canonical_bytes(msgspec.to_builtins(snapshot))
