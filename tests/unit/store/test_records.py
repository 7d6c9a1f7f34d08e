"""Envelopes, their bounds, and bodies made of raw bytes."""

from __future__ import annotations

import hashlib

import pytest
import zstandard

from replay.core.errors import DamagedError, LimitError, NewerFormatError
from replay.store.records import (
    MAX_VALUE_BYTES,
    Dictionary,
    ObjectDecoder,
    ObjectEncoder,
    decode_body,
    decode_object,
    encode_body,
    encode_object,
    object_digest,
    train_dictionary,
)

NASTY = b"\xef\xbb\xbfone\r\ntwo\x00three\n"
TEXT = b'{"status": "ok", "items": [1, 2, 3]}' * 20


def make_envelope(frame: bytes, plain: bytes = TEXT, name: bytes = bytes(8)) -> bytes:
    """An envelope around any frame at all."""
    return b"RPO\x01" + object_digest(plain) + name + frame


@pytest.mark.parametrize("plain", [b"", b"x", NASTY, TEXT, bytes(range(256)) * 10])
def test_round_trip(plain: bytes) -> None:
    """What was wrapped comes out byte for byte."""
    assert plain == decode_object(encode_object(plain), {})


def test_digest_is_of_the_plain_bytes() -> None:
    """The envelope carries the SHA-256 of the plain bytes, compressed or not."""
    expected = hashlib.sha256(TEXT).digest()
    assert expected == encode_object(TEXT)[4:36] == encode_object(TEXT, compressed=False)[4:36]


def test_compresses_only_when_shorter() -> None:
    """A value that does not shrink is kept as it is."""
    assert 44 + 3 == len(encode_object(b"abc"))
    assert len(encode_object(TEXT)) < len(TEXT)


def test_dictionary_round_trip() -> None:
    """A value compressed with a dictionary needs that dictionary and nothing else."""
    dictionary = train_dictionary([TEXT[:40]])
    envelope = encode_object(TEXT, dictionary=dictionary)
    assert decode_object(envelope, {dictionary.id: dictionary}) == TEXT


def test_unknown_dictionary_is_refused() -> None:
    """An envelope that names a dictionary we do not have is damage, and the known ones are listed."""
    used, known = Dictionary(b"used" * 99), Dictionary(b"known" * 99)
    envelope = encode_object(TEXT, dictionary=used)
    with pytest.raises(DamagedError, match=f"unknown dictionary {used.id.hex()}.*one of {known.id.hex()}"):
        decode_object(envelope, {known.id: known})


@pytest.mark.parametrize("position", [4, 20, 35, 44, 60, -1])
def test_flipped_bit_is_found(position: int) -> None:
    """A flipped bit in digest or frame is never handed out as content."""
    envelope = bytearray(encode_object(TEXT))
    envelope[position] ^= 4
    with pytest.raises((DamagedError, LimitError)):
        decode_object(bytes(envelope), {})


@pytest.mark.parametrize("size", [0, 3, 43])
def test_short_envelope_is_refused(size: int) -> None:
    """Bytes that cannot hold a header are not an object."""
    with pytest.raises(DamagedError, match="not an object"):
        decode_object(encode_object(TEXT)[:size], {})


def test_cut_frame_is_refused() -> None:
    """A frame that ends too early is damage."""
    with pytest.raises(DamagedError, match="cannot be read"):
        decode_object(encode_object(TEXT)[:-5], {})


def test_bytes_after_the_frame_are_refused() -> None:
    """Nothing may follow the frame."""
    with pytest.raises(DamagedError, match="cannot be read"):
        decode_object(encode_object(TEXT) + b"tail", {})


def test_newer_envelope_is_refused() -> None:
    """A later version is named as such, not as damage."""
    envelope = bytearray(encode_object(TEXT))
    envelope[3] = 2
    with pytest.raises(NewerFormatError, match=r"version 2.*expected version 1"):
        decode_object(bytes(envelope), {})


def test_bomb_is_refused_before_memory_is_taken() -> None:
    """A frame that claims gigabytes is refused by its header."""
    huge = zstandard.ZstdCompressor(write_content_size=True).compress(bytes(MAX_VALUE_BYTES + 1))
    with pytest.raises(LimitError, match=f"claims {MAX_VALUE_BYTES + 1} bytes"):
        decode_object(make_envelope(huge), {})


def test_frame_without_size_is_refused() -> None:
    """A frame that does not say how long its content is cannot be bounded."""
    silent = zstandard.ZstdCompressor(write_content_size=False).compress(TEXT)
    with pytest.raises(DamagedError, match="does not state its size"):
        decode_object(make_envelope(silent), {})


def test_wide_window_is_refused() -> None:
    """A window over the cap is refused even when the content is short."""
    header = b"\x28\xb5\x2f\xfd" + bytes([0x40, 0xA8]) + (1000).to_bytes(2, "little")
    with pytest.raises(LimitError, match="window of"):
        decode_object(make_envelope(header + bytes(20)), {})


def test_largest_value_is_kept_and_the_next_refused() -> None:
    """The cap is 16 MiB exactly."""
    largest = bytes(MAX_VALUE_BYTES)
    assert largest == decode_object(encode_object(largest), {})
    with pytest.raises(LimitError, match=f"value of {MAX_VALUE_BYTES + 1} bytes.*at most {MAX_VALUE_BYTES}"):
        encode_object(largest + b"x")


def test_one_decoder_reads_many() -> None:
    """A decoder kept for many envelopes gives what a fresh one gives, also after a damaged one."""
    dictionary = train_dictionary([TEXT])
    decoder = ObjectDecoder({dictionary.id: dictionary})
    with pytest.raises(DamagedError):
        decoder.decode(encode_object(TEXT)[:-1])
    plains = [TEXT, NASTY, TEXT[::-1]]
    assert plains == [decoder.decode(ObjectEncoder(dictionary).encode(plain)) for plain in plains]


def test_text_body_keeps_line_ends_and_marks() -> None:
    """CRLF, a byte order mark and NUL are text and come back byte for byte."""
    body, media = encode_body(NASTY)
    assert (media, NASTY) == ("text", decode_body(body, media))


def test_body_that_is_not_utf8_is_base64() -> None:
    """Bytes that are not UTF-8 travel as base64 and come back byte for byte."""
    raw = b"\xff\xfe broken \xc3"
    assert encode_body(raw) == ("//4gYnJva2VuIMM=", "bytes")
    assert raw == decode_body("//4gYnJva2VuIMM=", "bytes")


@pytest.mark.parametrize("body", ["?", "abc", "YQ==\n", "\u00e9"])
def test_bad_base64_is_damage(body: str) -> None:
    """A `bytes` body that is not strict base64 is refused."""
    with pytest.raises(DamagedError, match="not base64"):
        decode_body(body, "bytes")
