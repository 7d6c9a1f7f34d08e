"""A store as those read it who only want answers: what was recorded beside them stays unread."""

from __future__ import annotations

from collections.abc import Iterator

from replay.core.types import Key, Snapshot, SnapshotKind
from replay.store.layers import LayeredStore

__all__ = ["AnswersOnly"]


class AnswersOnly:
    """Reads of a layered store whose snapshots come without request, aliases and meta: half the work."""

    def __init__(self, store: LayeredStore) -> None:
        """Read from this store, which the caller keeps owning."""
        self._store = store

    def get(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """Answer number `sequence` of a key, or None. Errors: DamagedError, as the store."""
        return self._store.get_answer(key, sequence)

    def count(self, key: Key) -> int:
        """How many answers `get` can give for a key."""
        return self._store.count(key)

    def scope(self, kind: SnapshotKind, scope: str) -> Iterator[Key]:
        """Keys of one kind in a scope, sorted, each once."""
        return self._store.scope(kind, scope)
