"""One snapshot, checked and encoded before any transaction begins: a refused value leaves no trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.errors import CanonicalError
from replay.core.types import Json, Key, Snapshot
from replay.store.entries import KINDS, pack_sequence, raw_key, traits_of
from replay.store.records import MAX_VALUE_BYTES, check_size, object_digest

__all__ = ["Prepared", "decode_head", "head_aliases", "prepare", "prepare_batches"]

_decode_head: Final = msgspec.json.Decoder(tuple[Json, tuple[Key, ...], Json]).decode
_decode_aliases: Final = msgspec.json.Decoder(tuple[msgspec.Raw, tuple[str, ...], msgspec.Raw]).decode


class Prepared(NamedTuple):
    """A snapshot in the form that rows are made of."""

    kind: int
    raw: bytes
    sequence: int
    traits: int
    scope: str
    body: bytes
    body_digest: bytes
    head: bytes
    """Canonical JSON of `[request, aliases, meta]`."""
    head_digest: bytes
    aliases: tuple[bytes, ...]

    @property
    def size_bytes(self) -> int:
        """Plain bytes held."""
        return len(self.body) + len(self.head)


def prepare(snapshot: Snapshot, *, request: bytes | None = None, meta: bytes | None = None) -> Prepared:
    """Check and encode one snapshot.

    `request` and `meta` may be given as canonical bytes by a caller that has proved them.
    Errors: LimitError over 16 MiB, CanonicalError for what cannot be hashed honestly, InputError for a bad
    key, sequence or media; each names the key.
    """
    raw = raw_key(snapshot.key)
    pack_sequence(snapshot.sequence)
    aliases = tuple(map(raw_key, snapshot.aliases))
    try:
        body = snapshot.body.encode("utf-8")
        snapshot.scope.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CanonicalError(
            f"text holds a lone surrogate at character {error.start}",
            where=_name(snapshot),
            expected="text that has a UTF-8 form, or media 'bytes'",
        ) from None
    if request is None:
        request = _canonical(snapshot.request, snapshot, "request")
    if meta is None:
        meta = b"null" if snapshot.meta is None else _canonical(snapshot.meta, snapshot, "meta")
    head = b"[%b,%b,%b]" % (request, canonical_bytes(list(snapshot.aliases)) if aliases else b"[]", meta)
    if len(body) > MAX_VALUE_BYTES or len(head) > MAX_VALUE_BYTES:
        check_size(body, where=f"{_name(snapshot)}, body")
        check_size(head, where=f"{_name(snapshot)}, request and meta")
    return Prepared(
        KINDS.index(snapshot.kind),
        raw,
        snapshot.sequence,
        traits_of(snapshot),
        snapshot.scope,
        body,
        object_digest(body),
        head,
        object_digest(head),
        aliases,
    )


def decode_head(head: bytes) -> tuple[Json, tuple[Key, ...], Json]:
    """Read (request, aliases, meta) from a head that was proved. Errors: MsgspecError when it is not one.

    A proved head was written by `prepare`, so it is canonical and needs no strict reading a second time.
    """
    return _decode_head(head)


def head_aliases(head: bytes) -> tuple[bytes, ...]:
    """Raw alias keys named in a proved head. Errors: MsgspecError when it is not one."""
    return tuple(map(raw_key, _decode_aliases(head)[1]))


def prepare_batches(
    snapshots: Iterable[Snapshot], *, count: int, size_bytes: int
) -> Iterator[list[Prepared]]:
    """Prepare snapshots in batches bounded by count and bytes."""
    batch: list[Prepared] = []
    held = 0
    for snapshot in snapshots:
        one = prepare(snapshot)
        batch.append(one)
        held += one.size_bytes
        if len(batch) >= count or held >= size_bytes:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _canonical(value: Json, snapshot: Snapshot, field: str) -> bytes:
    try:
        return canonical_bytes(value)
    except CanonicalError as error:
        where = f"{_name(snapshot)}, {field} at {error.where}"
        raise CanonicalError(error.what, where=where, expected=error.expected) from None


def _name(snapshot: Snapshot) -> str:
    return f"snapshot {snapshot.key} answer {snapshot.sequence}, scope {snapshot.scope!r}"[:300]
