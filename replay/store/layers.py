"""Stores in layers: frozen ones in order, then an overlay, read as one.

Sequence numbers are absolute: a key with n frozen answers continues at n in the overlay. Where two layers
hold the same (key, sequence) the earlier layer answers, so no overlay can change what is frozen.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from replay.core.errors import StoreError
from replay.core.types import Key, Snapshot, SnapshotKind
from replay.store.entries import KINDS, Place, raw_key, text_key
from replay.store.preparing import prepare
from replay.store.writing import PutOutcome

if TYPE_CHECKING:
    from replay.store.snapshots import SnapshotStore

__all__ = ["LayeredStore"]

T = TypeVar("T")


class LayeredStore:
    """Reads through all layers; writes go to the overlay."""

    def __init__(self, frozen: Sequence[SnapshotStore], overlay: SnapshotStore | None = None) -> None:
        """Stack open stores; the caller keeps owning them."""
        self.frozen = tuple(frozen)
        self.overlay = overlay
        self.layers = self.frozen if overlay is None else (*self.frozen, overlay)

    def get(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """Answer number `sequence` of a key over all layers, or None."""
        for layer in self.layers:
            found = layer.own(key, sequence)
            if found is not None:
                return found
        target = self._alias_target(key, sequence)
        return None if target is None else self._first(target)

    def get_answer(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """What `get` would give without its request, aliases and meta, which are not read at all."""
        if len(self.layers) == 1:
            return self.layers[0].get_answer(key, sequence)
        for layer in self.layers:
            found = layer.own_answer(key, sequence)
            if found is not None:
                return found
        target = self._alias_target(key, sequence)
        if target is None:
            return None
        answers = (layer.own_answer(*target) for layer in self.layers)
        return next((answer for answer in answers if answer is not None), None)

    def get_body(self, key: Key, sequence: int = 0) -> bytes | None:
        """Body bytes of what `get` would give."""
        if len(self.layers) == 1:
            return self.layers[0].get_body(key, sequence)
        for layer in self.layers:
            found = layer.own_body(key, sequence)
            if found is not None:
                return found
        target = self._alias_target(key, sequence)
        if target is None:
            return None
        bodies = (layer.own_body(*target) for layer in self.layers)
        return next((body for body in bodies if body is not None), None)

    def count(self, key: Key) -> int:
        """How many answers `get` can give for a key."""
        return len(self.places(key))

    def places(self, key: Key) -> list[Place]:
        """Where a key leads to over all layers: its own answers or, without any, those of its alias."""
        raw = raw_key(key)
        found = {place for layer in self.layers for place in layer.places(key)}
        return sorted(place for place in found if place.raw == raw) or sorted(found)

    def scope(self, kind: SnapshotKind, scope: str) -> Iterator[Key]:
        """Keys of one kind in a scope, sorted, each once."""
        for key, _ in groupby(heapq.merge(*(layer.scope(kind, scope) for layer in self.layers))):
            yield key

    def scopes(self, kind: SnapshotKind) -> tuple[str, ...]:
        """Names of the scopes that hold a kind, sorted."""
        return tuple(sorted({name for layer in self.layers for name in layer.scopes(kind)}))

    def scan(self, kind: SnapshotKind | None = None) -> Iterator[Snapshot]:
        """All snapshots sorted by (kind, key, sequence); the earlier layer's where two have one place."""
        for one in KINDS if kind is None else (kind,):
            merged = heapq.merge(*(layer.scan(one) for layer in self.layers), key=_place)
            for _, same in groupby(merged, key=_place):
                yield next(same)

    def table(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Rows of a table sorted by id; the earlier layer's where two have one id."""
        merged = heapq.merge(*(layer.table(name) for layer in self.layers), key=_identity)
        for _, same in groupby(merged, key=_identity):
            yield next(same)

    def row(self, name: str, identity: str) -> bytes | None:
        """One row of a table, or None."""
        for layer in self.layers:
            found = layer.row(name, identity)
            if found is not None:
                return found
        return None

    def tables(self) -> tuple[str, ...]:
        """Names of all tables that have rows, sorted."""
        return tuple(sorted({name for layer in self.layers for name in layer.tables()}))

    def put(self, snapshot: Snapshot) -> PutOutcome:
        """Put one snapshot into the overlay unless its place is taken in any layer."""
        overlay = self._writable()
        for layer in self.frozen:
            held = layer.own(snapshot.key, snapshot.sequence)
            if held is not None:
                same = prepare(held) == prepare(snapshot)
                return PutOutcome.SAME if same else PutOutcome.CONFLICT
        return overlay.put(snapshot)

    def put_many(self, snapshots: Iterable[Snapshot]) -> Counter[PutOutcome]:
        """Put snapshots one after another and count the outcomes."""
        return Counter(self.put(snapshot) for snapshot in snapshots)

    def append(self, snapshot: Snapshot) -> int:
        """Record one more answer in the overlay, after all frozen ones, unless it equals the last."""
        overlay = self._writable()
        raw = raw_key(snapshot.key)
        frozen = [place for layer in self.frozen for place in layer.places(snapshot.key) if place.raw == raw]
        last = max((place.sequence for place in frozen), default=-1)
        if last >= 0 and not any(place.raw == raw for place in overlay.places(snapshot.key)):
            held = self.get(snapshot.key, last)
            wanted = prepare(snapshot)._replace(sequence=last)
            if held is not None and prepare(held) == wanted:
                return last
        return overlay.append(snapshot, start=last + 1)

    def _alias_target(self, key: Key, sequence: int) -> tuple[Key, int] | None:
        places = self.places(key)
        if sequence >= len(places) or places[0].raw == raw_key(key):
            return None
        return text_key(places[sequence].raw), places[sequence].sequence

    def _first(self, target: tuple[Key, int]) -> Snapshot | None:
        found = (layer.own(*target) for layer in self.layers)
        return next((snapshot for snapshot in found if snapshot is not None), None)

    def _writable(self) -> SnapshotStore:
        if self.overlay is None:
            raise StoreError(
                "there is no overlay to write to",
                expected="a run that records",
                next_step="run with --mode replay or --mode record",
            )
        return self.overlay


def _place(snapshot: Snapshot) -> tuple[str, int]:
    return snapshot.key, snapshot.sequence


def _identity(row: tuple[str, bytes]) -> str:
    return row[0]
