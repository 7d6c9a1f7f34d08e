"""One row of the index: its name, and what is known of a snapshot packed into a few bytes.

Name of a row: 1 byte kind, 32 bytes key, and 4 bytes sequence (big endian) from the second answer on, so rows
sort by (kind, key, sequence). Its value:

    1 byte   codecs of the body (bits 0-1) and of the head (bits 2-3)
    2 bytes  provenance, status, origin, media as numbers, little endian
    4 bytes  number of the scope, little endian
    body     stored elsewhere: 32-byte digest of an object
             held here:        first 16 bytes of the digest, 2 bytes length, bytes
    head     stored elsewhere: 32-byte digest of an object
             held here:        first 16 bytes of the digest, bytes up to the end

The head is the canonical JSON of `[request, aliases, meta]`. Body and head are separate so that answering a
call never touches the request it answers. Frames held here go without the 4 magic bytes all frames share.
Half a digest is enough for a part that has no other name; identity of content lives in archives, with whole
digests. Owns the layout only: no database, no compression.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from replay.core.errors import DamagedError, InputError
from replay.core.types import Key, Origin, Provenance, Snapshot, SnapshotKind, SnapshotStatus

__all__ = [
    "BODY",
    "CHECK_BYTES",
    "DICTIONARY",
    "ELSEWHERE",
    "HEAD",
    "INLINE_LIMIT",
    "KINDS",
    "MAX_SEQUENCE",
    "PLAIN",
    "ZSTD",
    "Entry",
    "Part",
    "Place",
    "PlainPart",
    "pack_entry",
    "pack_sequence",
    "raw_key",
    "row_name",
    "split_row_name",
    "text_key",
    "traits_of",
    "unpack_entry",
]

BODY: Final = 0
HEAD: Final = 1
"""The two parts of a snapshot; each kind has a dictionary for each."""

ELSEWHERE: Final = 0
PLAIN: Final = 1
ZSTD: Final = 2
DICTIONARY: Final = 3
"""Codecs of a part: an object elsewhere; held here plain, as a frame, or as a frame with a dictionary."""

CHECK_BYTES: Final = 16
INLINE_LIMIT: Final = 512
"""Largest part held in the row: rows stay below the 2 KiB at which LMDB gives a value pages of its own."""

KINDS: Final = tuple(SnapshotKind)
_PROVENANCES: Final = (
    Provenance.RECORDED,
    Provenance.IMPORTED,
    Provenance.SIMULATED,
    Provenance.GENERATED,
    Provenance.WORLD,
    Provenance.SCRIPTED,
)
_STATUSES: Final = (SnapshotStatus.OK, SnapshotStatus.EMPTY, SnapshotStatus.ERROR, SnapshotStatus.NOT_JSON)
_ORIGINS: Final = (None, Origin.REAL, Origin.SIMULATED, Origin.UNKNOWN)
_MEDIA: Final = ("json", "text", "bytes")
"""Positions in these tuples are stored: append only, and raise the format version when full."""

_FIXED: Final = struct.Struct("<BHI")
_LENGTH: Final = struct.Struct("<H")
_SEQUENCE: Final = struct.Struct(">I")
_KEY_PREFIX: Final = "sha256:"
_KEY_CHARACTERS: Final = len(_KEY_PREFIX) + 64
MAX_SEQUENCE: Final = 2**32 - 1


class Place(NamedTuple):
    """Where an answer is: number of its kind, raw key, sequence."""

    kind: int
    raw: bytes
    sequence: int


class Part(NamedTuple):
    """Body or head as it lies in the row."""

    codec: int
    check: bytes
    """Digest of the plain bytes: 32 bytes when the part lies elsewhere, CHECK_BYTES when it is held here."""
    data: bytes
    """Empty when the part lies elsewhere."""


PlainPart = tuple[int, bytes, bytes]
"""A part without the names of its fields, where millions are made."""


class Entry(NamedTuple):
    """One unpacked row."""

    traits: int
    scope: int
    body: Part
    head: Part

    @property
    def provenance(self) -> Provenance:
        """Where the answer came from."""
        return _PROVENANCES[self.traits & 7]

    @property
    def status(self) -> SnapshotStatus:
        """State of the answer."""
        return _STATUSES[self.traits >> 3 & 3]

    @property
    def origin(self) -> Origin | None:
        """What the answer was upstream."""
        return _ORIGINS[self.traits >> 5 & 3]

    @property
    def media(self) -> str:
        """How the body is to be read."""
        return _MEDIA[self.traits >> 7 & 3]


def traits_of(snapshot: Snapshot) -> int:
    """Pack provenance, status, origin and media. Errors: InputError for an unknown media."""
    if snapshot.media not in _MEDIA:
        raise InputError(
            f"unknown media {snapshot.media!r}",
            where=f"snapshot {snapshot.key}",
            expected=f"one of {', '.join(_MEDIA)}",
        )
    return (
        _PROVENANCES.index(snapshot.provenance)
        | _STATUSES.index(snapshot.status) << 3
        | _ORIGINS.index(snapshot.origin) << 5
        | _MEDIA.index(snapshot.media) << 7
    )


def pack_entry(traits: int, scope: int, body: PlainPart, head: PlainPart) -> bytes:
    """Lay a row out; the parameters are the fields of an Entry."""
    body_codec, body_check, body_data = body
    head_codec, head_check, head_data = head
    fixed = _FIXED.pack(body_codec | head_codec << 2, traits, scope)
    if body_codec == ELSEWHERE:
        return b"".join((fixed, body_check, head_check, head_data))
    return b"".join((fixed, body_check, _LENGTH.pack(len(body_data)), body_data, head_check, head_data))


def unpack_entry(value: bytes) -> Entry:
    """Read a row. Errors: DamagedError when it is shorter than it says or holds an unknown number."""
    try:
        codecs, traits, scope = _FIXED.unpack_from(value)
        body, at = _unpack_body(value, codecs & 3)
        head_codec = codecs >> 2 & 3
        size = 32 if head_codec == ELSEWHERE else CHECK_BYTES
        head = Part(head_codec, value[at : at + size], value[at + size :])
    except struct.error:
        raise _damaged(value) from None
    whole = len(head.check) == size and (head_codec != ELSEWHERE or not head.data)
    if not whole or codecs >> 4 or not _has_known_traits(traits):
        raise _damaged(value)
    return Entry(traits, scope, body, head)


def raw_key(key: str) -> bytes:
    """Turn a key into its 32 bytes. Errors: InputError when it is not `sha256:` and 64 lower-case hex."""
    if len(key) == _KEY_CHARACTERS and key.startswith(_KEY_PREFIX):
        try:
            raw = bytes.fromhex(key[7:])
        except ValueError:
            raw = b""
        # fromhex also takes blanks and upper case: the first give fewer bytes, the second is asked for.
        if len(raw) == 32 and key.islower():
            return raw
    raise InputError(f"not a key: {key!r}"[:200], expected="sha256: and 64 lower-case hex digits")


def text_key(raw: bytes) -> Key:
    """Turn 32 bytes back into a key."""
    return Key(_KEY_PREFIX + raw.hex())


def pack_sequence(sequence: int) -> bytes:
    """Lay out the end of a row name: nothing for answer 0. Errors: InputError out of bounds."""
    if sequence == 0:
        return b""
    if not 0 < sequence <= MAX_SEQUENCE:
        raise InputError(f"sequence number {sequence}", expected=f"0 to {MAX_SEQUENCE}")
    return _SEQUENCE.pack(sequence)


def row_name(kind: int, raw: bytes, sequence: int) -> bytes:
    """Name the row of one answer."""
    return bytes((kind,)) + raw + pack_sequence(sequence)


def split_row_name(name: bytes) -> Place:
    """Read the name of a row. Errors: DamagedError for a name that no row can have."""
    if len(name) not in (33, 37) or name[0] >= len(KINDS):
        raise DamagedError(f"row name {name.hex()}", expected="kind, key, sequence", next_step="run fsck")
    return Place(name[0], name[1:33], int.from_bytes(name[33:], "big"))


def _unpack_body(value: bytes, codec: int) -> tuple[Part, int]:
    start = _FIXED.size
    if codec == ELSEWHERE:
        return Part(codec, value[start : start + 32], b""), start + 32
    at = start + CHECK_BYTES
    (length,) = _LENGTH.unpack_from(value, at)
    at += _LENGTH.size
    return Part(codec, value[start : start + CHECK_BYTES], value[at : at + length]), at + length


def _has_known_traits(traits: int) -> bool:
    return traits & 7 < len(_PROVENANCES) and traits >> 7 & 3 < len(_MEDIA) and not traits >> 9


def _damaged(value: bytes) -> DamagedError:
    return DamagedError(
        f"index entry of {len(value)} bytes cannot be read",
        expected="the layout of this format version",
        next_step="run fsck; rebuild the store from its archive",
    )
