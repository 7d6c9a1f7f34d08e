"""A store without some of its answers: what models said, or what was recorded of some tools.

A view, not a copy: whoever reads through it finds the hidden answers under none of their keys and in none of
their scopes, as if they had never been recorded.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from replay.core.types import Key, Provenance, Snapshot, SnapshotKind
from replay.store.pending import SnapshotReader

__all__ = ["HidingStore", "is_made_by_model", "is_recorded_of"]

_MADE: Final = frozenset({Provenance.GENERATED, Provenance.SIMULATED})


class HidingStore:
    """Reads everything of a store but what is hidden."""

    def __init__(self, base: SnapshotReader, is_hidden: Callable[[Snapshot], bool]) -> None:
        """Hide the answers for which `is_hidden` is true; all answers of one key are of one kind."""
        self._base = base
        self._is_hidden = is_hidden

    def get(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """Return one answer that is not hidden, or None."""
        found = self._base.get(key, sequence)
        return None if found is None or self._is_hidden(found) else found

    def count(self, key: Key) -> int:
        """Return how many answers are found under this key."""
        return 0 if self.get(key) is None else self._base.count(key)

    def scope(self, kind: SnapshotKind, scope: str) -> Iterator[Key]:
        """Iterate over the keys of a scope that lead to an answer, sorted, each once."""
        return (key for key in self._base.scope(kind, scope) if self.get(key) is not None)


def is_made_by_model(snapshot: Snapshot) -> bool:
    """Tell whether a local model made this completion, API answer or verdict."""
    return snapshot.provenance in _MADE


def is_recorded_of(tools: Sequence[str]) -> Callable[[Snapshot], bool]:
    """Return what tells recorded API answers of the tools that one of the globs names."""

    def tell(snapshot: Snapshot) -> bool:
        # What a simulator made up is filed under its own name, and is no record of an API.
        is_record = snapshot.kind is SnapshotKind.API and snapshot.provenance is not Provenance.SIMULATED
        return is_record and any(fnmatch.fnmatchcase(snapshot.scope, glob) for glob in tools)

    return tell
