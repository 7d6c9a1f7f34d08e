"""Puts: what one snapshot becomes in the databases, and many threads' puts in one commit.

A snapshot is checked and encoded before any transaction begins, so a value that is refused leaves no trace. Rows,
objects, scope and aliases of a snapshot are written in the same transaction: there is no state in between.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from replay.core.canonical import canonical_bytes
from replay.core.errors import CanonicalError, InputError, ReplayError
from replay.core.types import Snapshot
from replay.store.entries import (
    CHECK_BYTES,
    ELSEWHERE,
    INLINE_LIMIT,
    MAX_SEQUENCE,
    PLAIN,
    ZSTD,
    Entry,
    Part,
    index_key,
    pack_entry,
    raw_key,
    traits_of,
    unpack_entry,
)
from replay.store.environment import Environment
from replay.store.records import check_size, compress, encode_object, object_digest
from replay.store.view import BODY, HEAD, MEMBER_BYTES, View, member_name, scope_hash

__all__ = ["Prepared", "PutOutcome", "Writer", "prepare", "put_object"]

_PLAIN_LIMIT: Final = 1024
"""Objects up to here stay uncompressed while the store is writable; sealing packs them with a dictionary."""
_LEVEL: Final = 3


class PutOutcome(enum.StrEnum):
    """What a put did."""

    NEW = "new"
    SAME = "same"
    """Equal content was there already; nothing was written."""
    CONFLICT = "conflict"
    """Other content was there already; nothing was written."""


class Prepared(NamedTuple):
    """A snapshot, checked and encoded."""

    raw: bytes
    sequence: int
    traits: int
    scope: str
    body: bytes
    body_digest: bytes
    head: bytes
    head_digest: bytes
    aliases: tuple[bytes, ...]


class _Waiting:
    """One thread's puts on their way into a commit."""

    def __init__(self, prepared: Sequence[Prepared], start: int | None) -> None:
        self.prepared = prepared
        self.start = start
        self.outcomes: list[tuple[PutOutcome, int]] = []
        self.error: ReplayError | None = None
        self.done = False


def prepare(snapshot: Snapshot) -> Prepared:
    """Check and encode one snapshot.

    Errors: LimitError over 16 MiB, CanonicalError for what cannot be hashed honestly, InputError for a bad key,
    sequence or media; each names the key.
    """
    where = f"snapshot {snapshot.key} answer {snapshot.sequence}"
    raw = raw_key(snapshot.key)
    index_key(raw, snapshot.sequence)
    try:
        body = snapshot.body.encode("utf-8")
        snapshot.scope.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CanonicalError(
            f"text holds a lone surrogate at character {error.start}",
            where=where,
            expected="text that has a UTF-8 form, or media 'bytes'",
        ) from None
    check_size(body, where=f"{where}, body")
    head = canonical_bytes([snapshot.request, list(snapshot.aliases), snapshot.meta])
    check_size(head, where=f"{where}, request and meta")
    return Prepared(
        raw,
        snapshot.sequence,
        traits_of(snapshot),
        snapshot.scope,
        body,
        object_digest(body),
        head,
        object_digest(head),
        tuple(raw_key(alias) for alias in snapshot.aliases),
    )


class Writer:
    """Writes prepared snapshots; puts that wait for one another share a commit."""

    def __init__(self, environment: Environment) -> None:
        """Write into an environment that was opened for writing."""
        self._environment = environment
        self._queue: list[_Waiting] = []
        self._queue_guard = threading.Lock()
        self._commit_guard = threading.Lock()

    def put(self, prepared: Sequence[Prepared], *, start: int | None = None) -> list[tuple[PutOutcome, int]]:
        """Put all of them in one durable commit; (outcome, sequence) each.

        With `start` each is appended: it gets the next number of its key, at least `start`, unless it equals the
        last answer.
        """
        waiting = _Waiting(prepared, start)
        with self._queue_guard:
            self._queue.append(waiting)
        with self._commit_guard:
            if not waiting.done:
                with self._queue_guard:
                    batch, self._queue = self._queue, []
                self._commit(batch)
        if waiting.error is not None:
            raise waiting.error
        return waiting.outcomes

    def _commit(self, batch: list[_Waiting]) -> None:
        try:
            results = self._environment.write(_put_batch, batch)
        except ReplayError as error:
            for waiting in batch:
                waiting.error = error
        else:
            for waiting, outcomes in zip(batch, results, strict=True):
                waiting.outcomes = outcomes
        finally:
            for waiting in batch:
                waiting.done = True


def _put_batch(view: View, batch: list[_Waiting]) -> list[list[tuple[PutOutcome, int]]]:
    scopes: dict[str, int] = {}
    return [
        [
            put_prepared(view, one, scopes)
            if waiting.start is None
            else _append(view, one, waiting.start, scopes)
            for one in waiting.prepared
        ]
        for waiting in batch
    ]


def _append(view: View, one: Prepared, start: int, scopes: dict[str, int]) -> tuple[PutOutcome, int]:
    known = view.sequences(one.raw)
    if known:
        outcome, _ = put_prepared(view, one._replace(sequence=known[-1]), scopes)
        if outcome is PutOutcome.SAME:
            return outcome, known[-1]
    following = max(start, known[-1] + 1 if known else 0)
    if following > MAX_SEQUENCE:
        raise InputError(f"more than {MAX_SEQUENCE} answers under one key", where=one.raw.hex())
    return put_prepared(view, one._replace(sequence=following), scopes)


def put_prepared(view: View, one: Prepared, scopes: dict[str, int]) -> tuple[PutOutcome, int]:
    """Put one snapshot unless its place is taken; `scopes` caches numbers within the transaction."""
    name = index_key(one.raw, one.sequence)
    transaction = view.transaction
    held = transaction.get(name, db=view.index)
    if held is not None:
        same = _is_same(view, unpack_entry(held), one)
        return (PutOutcome.SAME if same else PutOutcome.CONFLICT), one.sequence
    number = scopes.get(one.scope)
    if number is None:
        number = scopes[one.scope] = _scope_number(view, one.scope)
    put_object(view, one.body_digest, one.body)
    entry = Entry(one.traits, number, Part(ELSEWHERE, one.body_digest, b""), _head_part(view, one))
    transaction.put(name, pack_entry(entry), db=view.index)
    transaction.put(
        member_name(one.traits & 3, number), one.raw[:MEMBER_BYTES], dupdata=False, db=view.members
    )
    target = one.raw + one.sequence.to_bytes(4, "big")
    for alias in one.aliases:
        transaction.put(alias, target, dupdata=False, db=view.aliases)
    return PutOutcome.NEW, one.sequence


def put_object(view: View, digest: bytes, plain: bytes) -> None:
    """Store bytes under their digest, once; a second owner is noted so that sealing keeps them apart."""
    held = view.transaction.get(digest, db=view.objects)
    if held is None:
        level = None if len(plain) <= _PLAIN_LIMIT else _LEVEL
        view.transaction.put(digest, b"\x00" + encode_object(plain, level=level), db=view.objects)
    elif held[0] == 0 and len(plain) <= _PLAIN_LIMIT:
        view.transaction.put(digest, b"\x01" + held[1:], db=view.objects)


def _head_part(view: View, one: Prepared) -> Part:
    if len(one.head) <= INLINE_LIMIT:
        return Part(PLAIN, one.head_digest[:CHECK_BYTES], one.head)
    frame = compress(one.head, level=_LEVEL)
    if len(frame) <= INLINE_LIMIT:
        return Part(ZSTD, one.head_digest[:CHECK_BYTES], frame)
    put_object(view, one.head_digest, one.head)
    return Part(ELSEWHERE, one.head_digest, b"")


def _is_same(view: View, held: Entry, one: Prepared) -> bool:
    return (
        held.traits == one.traits
        and view.scope_name(held.scope) == one.scope
        and view.part(held.body, held.traits & 3, BODY) == one.body
        and view.part(held.head, held.traits & 3, HEAD) == one.head
    )


def _scope_number(view: View, name: str) -> int:
    known = view.scope_number(name)
    if known is not None:
        return known
    cursor = view.transaction.cursor(db=view.scopes)
    # "n" sorts after "h", so the last row is the highest number given so far.
    last = cursor.key() if cursor.last() else b"h"
    number = int.from_bytes(last[1:5], "big") + 1 if last[:1] == b"n" else 0
    encoded = name.encode("utf-8")
    view.transaction.put(scope_hash(name), number.to_bytes(4, "big") + encoded, db=view.scopes)
    view.transaction.put(b"n" + number.to_bytes(4, "big"), encoded, db=view.scopes)
    return number


def batches(snapshots: Iterable[Snapshot], *, count: int, size_bytes: int) -> Iterable[list[Prepared]]:
    """Prepare snapshots in batches bounded by count and bytes."""
    batch: list[Prepared] = []
    held = 0
    for snapshot in snapshots:
        one = prepare(snapshot)
        batch.append(one)
        held += len(one.body) + len(one.head)
        if len(batch) >= count or held >= size_bytes:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
