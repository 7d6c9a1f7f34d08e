"""Layout of index rows."""

from __future__ import annotations

import itertools

import pytest

from replay.core.errors import DamagedError, InputError
from replay.core.types import Origin, Provenance, SnapshotStatus
from replay.store.entries import (
    DICTIONARY,
    ELSEWHERE,
    KINDS,
    MAX_SEQUENCE,
    PLAIN,
    ZSTD,
    Entry,
    Part,
    Place,
    pack_entry,
    raw_key,
    row_name,
    split_row_name,
    text_key,
    traits_of,
    unpack_entry,
)
from tests.support.snapshots import make_key, make_snapshot

RAW = bytes(range(32))


def make_parts() -> list[Part]:
    """A part in each form."""
    return [
        Part(ELSEWHERE, RAW, b""),
        *(Part(codec, RAW[:16], b"data") for codec in (PLAIN, ZSTD, DICTIONARY)),
    ]


@pytest.mark.parametrize(("body", "head"), list(itertools.product(make_parts(), repeat=2)))
def test_round_trip(body: Part, head: Part) -> None:
    """Every combination of part forms comes back as it was."""
    entry = Entry(2 << 7 | 3 << 3 | 5, 123_456, body, head)
    assert entry == unpack_entry(pack_entry(*entry))


def test_traits_round_trip() -> None:
    """Provenance, status, origin and media of every combination come back."""
    for provenance, status, origin, media in itertools.product(
        Provenance, SnapshotStatus, (None, *Origin), ("json", "text", "bytes")
    ):
        snapshot = make_snapshot(provenance=provenance, status=status, origin=origin, media=media)
        entry = Entry(traits_of(snapshot), 0, *make_parts()[:2])
        assert (provenance, status, origin, media) == (
            entry.provenance,
            entry.status,
            entry.origin,
            entry.media,
        )


def test_unknown_media_is_refused() -> None:
    """A media that cannot be stored is named with the known ones."""
    with pytest.raises(InputError, match=r"unknown media 'html'.*json, text, bytes"):
        traits_of(make_snapshot(media="html"))


@pytest.mark.parametrize("size", range(7 + 32))
def test_short_rows_are_damage(size: int) -> None:
    """A row cut anywhere is refused."""
    packed = pack_entry(0, 0, *make_parts()[:2])
    with pytest.raises(DamagedError, match="cannot be read"):
        unpack_entry(packed[:size])


@pytest.mark.parametrize("traits", [7, 6, 3 << 7, 1 << 9])
def test_unknown_traits_are_damage(traits: int) -> None:
    """Numbers that mean nothing are refused, not guessed."""
    with pytest.raises(DamagedError, match="cannot be read"):
        unpack_entry(pack_entry(traits, 0, *make_parts()[:2]))


def test_names_sort_by_kind_key_sequence() -> None:
    """Byte order of row names is the order of (kind, key, sequence)."""
    places = [
        Place(kind, raw, sequence)
        for kind in range(len(KINDS))
        for raw in (bytes(32), RAW, b"\xff" * 32)
        for sequence in (0, 1, 255, 256, MAX_SEQUENCE)
    ]
    assert places == [split_row_name(name) for name in sorted(row_name(*place) for place in places)]


@pytest.mark.parametrize("sequence", [-1, MAX_SEQUENCE + 1])
def test_sequence_out_of_bounds(sequence: int) -> None:
    """A sequence number that has no room is an input error."""
    with pytest.raises(InputError, match=f"sequence number {sequence}"):
        row_name(0, RAW, sequence)


@pytest.mark.parametrize("name", [b"", b"\x00" + RAW[:-1], b"\x00" + RAW + b"\x01", b"\x09" + RAW])
def test_bad_names_are_damage(name: bytes) -> None:
    """A row name of another length or kind is refused."""
    with pytest.raises(DamagedError, match="row name"):
        split_row_name(name)


def test_keys_round_trip() -> None:
    """A key and its 32 bytes are two spellings of one thing."""
    assert make_key("a") == text_key(raw_key(make_key("a")))


@pytest.mark.parametrize(
    "key",
    ["", "sha256:", "sha256:" + "A" * 64, "sha256:" + "a" * 63, "sha512:" + "a" * 64, "sha256:" + " " * 64,
     "sha256:" + "ab " * 21 + "a", "sha256:" + "g" * 64, "sha256:" + "a" * 65, "SHA256:" + "a" * 64],
)  # fmt: skip
def test_other_spellings_of_keys_are_refused(key: str) -> None:
    """Upper case, blanks and other lengths are not keys."""
    with pytest.raises(InputError, match="not a key"):
        raw_key(key)
