"""Puts: what one snapshot becomes in the databases, and many threads' puts in one commit.

Row, object, scope and aliases of a snapshot are written in one transaction: there is no state in between.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Sequence
from typing import Final

from replay.core.errors import InputError, ReplayError, StoreError
from replay.store.entries import (
    BODY,
    CHECK_BYTES,
    ELSEWHERE,
    HEAD,
    INLINE_LIMIT,
    MAX_SEQUENCE,
    PLAIN,
    ZSTD,
    Entry,
    Part,
    pack_entry,
    row_name,
    unpack_entry,
)
from replay.store.environment import Environment
from replay.store.preparing import Prepared
from replay.store.records import FRAME_MAGIC, ObjectEncoder, compress, encode_object
from replay.store.view import MEMBER_BYTES, View, member_scope, scope_hash

__all__ = ["PutOutcome", "Writer"]

_PLAIN_LIMIT: Final = 1024
"""Objects up to here stay uncompressed while the store is writable; sealing packs them with a dictionary."""


class PutOutcome(enum.StrEnum):
    """What a put did."""

    NEW = "new"
    SAME = "same"
    """Equal content was there already; nothing was written."""
    CONFLICT = "conflict"
    """Other content was there already; nothing was written."""


class _Waiting:
    """One thread's puts on their way into a commit."""

    def __init__(self, prepared: Sequence[Prepared], start: int | None) -> None:
        self.prepared = prepared
        self.start = start
        self.outcomes: list[tuple[PutOutcome, int]] = []
        self.error: ReplayError | None = None
        self.done = False


class _Session:
    """What the puts of one transaction share."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.scopes: dict[str, int] = {}
        self.encoder = ObjectEncoder()


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

        With `start` each is appended: it gets the next number of its key, at least `start`, unless it equals
        the last answer.
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
        except BaseException:
            for waiting in batch:
                waiting.error = StoreError("put was interrupted", next_step="put the snapshot again")
            raise
        else:
            for waiting, outcomes in zip(batch, results, strict=True):
                waiting.outcomes = outcomes
        finally:
            for waiting in batch:
                waiting.done = True


def _put_batch(view: View, batch: list[_Waiting]) -> list[list[tuple[PutOutcome, int]]]:
    session = _Session(view)
    return [
        [
            _put(session, one) if waiting.start is None else _append(session, one, waiting.start)
            for one in waiting.prepared
        ]
        for waiting in batch
    ]


def _append(session: _Session, one: Prepared, start: int) -> tuple[PutOutcome, int]:
    known = session.view.sequences(one.kind, one.raw)
    if known:
        outcome, _ = _put(session, one._replace(sequence=known[-1]))
        if outcome is PutOutcome.SAME:
            return outcome, known[-1]
    following = max(start, known[-1] + 1 if known else 0)
    if following > MAX_SEQUENCE:
        raise InputError(f"more than {MAX_SEQUENCE} answers under one key", where=one.raw.hex())
    return _put(session, one._replace(sequence=following))


def _put(session: _Session, one: Prepared) -> tuple[PutOutcome, int]:
    """Put one snapshot unless its place is taken."""
    view, scopes = session.view, session.scopes
    name = row_name(one.kind, one.raw, one.sequence)
    put = view.transaction.put
    held = view.transaction.get(name)
    if held is not None:
        same = _is_same(view, unpack_entry(held), one)
        return (PutOutcome.SAME if same else PutOutcome.CONFLICT), one.sequence
    number = scopes.get(one.scope)
    if number is None:
        number = scopes[one.scope] = _scope_number(view, one.scope)
    _put_object(session, one.body_digest, one.body)
    body = Part(ELSEWHERE, one.body_digest, b"")
    put(name, pack_entry(one.traits, number, body, _head_part(session, one)))
    put(member_scope(one.kind, number) + one.raw[:MEMBER_BYTES], b"", db=view.members)
    for alias in one.aliases:
        put(alias, name, dupdata=False, db=view.aliases)
    return PutOutcome.NEW, one.sequence


def _put_object(session: _Session, digest: bytes, plain: bytes) -> None:
    """Store bytes under their digest, once."""
    view = session.view
    if view.transaction.get(digest, db=view.objects) is None:
        short = len(plain) <= _PLAIN_LIMIT
        envelope = encode_object(plain, compressed=False) if short else session.encoder.encode(plain, digest)
        view.transaction.put(digest, envelope, db=view.objects)


def _head_part(session: _Session, one: Prepared) -> Part:
    if len(one.head) <= INLINE_LIMIT:
        return Part(PLAIN, one.head_digest[:CHECK_BYTES], one.head)
    frame = compress(one.head)[len(FRAME_MAGIC) :]
    if len(frame) <= INLINE_LIMIT:
        return Part(ZSTD, one.head_digest[:CHECK_BYTES], frame)
    _put_object(session, one.head_digest, one.head)
    return Part(ELSEWHERE, one.head_digest, b"")


def _is_same(view: View, held: Entry, one: Prepared) -> bool:
    return (
        held.traits == one.traits
        and view.scope_name(held.scope) == one.scope
        and view.parts.part(held.body, one.kind, BODY) == one.body
        and view.parts.part(held.head, one.kind, HEAD) == one.head
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
