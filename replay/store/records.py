"""Envelope of one object at rest: magic, version, digest of the plain bytes, dictionary, zstd frame.

Owns compression and its bounds. A frame is looked at before memory is taken for it: its content size must be
stated and under the cap, its window small, its dictionary known. Identity is always the SHA-256 of the plain
bytes; compressed bytes may change with the library and are never hashed. Knows no files.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Final

import zstandard

from replay.core.errors import DamagedError, LimitError, NewerFormatError
from replay.store.dictionaries import Dictionary, make_compressor, train_dictionary

__all__ = [
    "FRAME_MAGIC",
    "MAX_VALUE_BYTES",
    "Dictionary",
    "ObjectDecoder",
    "ObjectEncoder",
    "check_size",
    "compress",
    "decode_body",
    "decode_object",
    "decompress",
    "encode_body",
    "encode_object",
    "object_digest",
    "train_dictionary",
]

MAX_VALUE_BYTES: Final = 16 * 1024 * 1024
"""Largest plain value that is stored or accepted: no answer or transcript of the benchmarks comes near."""

ENVELOPE_VERSION: Final = 1
FRAME_MAGIC: Final = zstandard.FRAME_HEADER

_MAGIC: Final = b"RPO"
_HEADER_BYTES: Final = 3 + 1 + 32 + 8
_NO_DICTIONARY: Final = bytes(8)
_RAW: Final = b"rawbytes"


def check_size(plain: bytes, *, where: str) -> None:
    """Refuse a value over the cap. Errors: LimitError naming the value."""
    if len(plain) > MAX_VALUE_BYTES:
        raise LimitError(
            f"value of {len(plain)} bytes is too large",
            where=where,
            expected=f"at most {MAX_VALUE_BYTES} bytes",
            next_step="shorten or split the answer before it is stored; nothing was written",
        )


def object_digest(plain: bytes) -> bytes:
    """Digest of the exact plain bytes: the name of an object."""
    return hashlib.sha256(plain).digest()


def compress(plain: bytes, dictionary: Dictionary | None = None) -> bytes:
    """Compress into one frame that states its content size."""
    compressor = make_compressor() if dictionary is None else dictionary.compressor()
    return compressor.compress(plain)


def decompress(frame: bytes, decompressor: zstandard.ZstdDecompressor, *, where: str = "") -> bytes:
    """Decompress one frame after its stated size and window were found within bounds.

    Errors: DamagedError for a frame that is cut, garbled or silent about its size; LimitError for one that
    claims more than the cap.
    """
    try:
        facts = zstandard.get_frame_parameters(frame)
        if facts.content_size > MAX_VALUE_BYTES or facts.window_size > MAX_VALUE_BYTES:
            raise _oversized(facts.content_size, facts.window_size, where)
        return decompressor.decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise DamagedError(
            f"compressed bytes cannot be read: {error}",
            where=where,
            expected="one complete zstd frame",
            next_step="run fsck; rebuild the store from its archive",
        ) from None


class ObjectEncoder:
    """Wraps many values; keeps its compressor, which costs ten times what one value does. For one thread."""

    def __init__(self, dictionary: Dictionary | None = None) -> None:
        """Compress with a dictionary, or without."""
        self._name = _NO_DICTIONARY if dictionary is None else dictionary.id
        self._compressor = make_compressor() if dictionary is None else dictionary.compressor()

    def encode(self, plain: bytes, digest: bytes | None = None) -> bytes:
        """Wrap plain bytes, compressed when that is shorter; `digest` is theirs when it is known already.

        Errors: LimitError over MAX_VALUE_BYTES.
        """
        check_size(plain, where="object")
        frame, name = self._compressor.compress(plain), self._name
        if len(frame) >= len(plain):
            frame, name = plain, _RAW
        return _wrap(object_digest(plain) if digest is None else digest, name, frame)


class ObjectDecoder:
    """Unwraps many envelopes; keeps its decompressors. For one thread."""

    def __init__(self, dictionaries: Mapping[bytes, Dictionary]) -> None:
        """Know these dictionaries by `Dictionary.id`."""
        self._dictionaries = dictionaries
        self._decompressors: dict[bytes, zstandard.ZstdDecompressor] = {}

    def decode(self, envelope: bytes) -> bytes:
        """Unwrap an envelope and prove the plain bytes. Errors: as `decode_object`."""
        if len(envelope) < _HEADER_BYTES or envelope[:3] != _MAGIC:
            raise DamagedError("not an object of this store", expected="an envelope that starts with RPO")
        if envelope[3] != ENVELOPE_VERSION:
            raise _newer(envelope[3])
        digest, name, plain = envelope[4:36], envelope[36:44], envelope[44:]
        if name == _RAW:
            check_size(plain, where=f"object {digest.hex()}")
        else:
            plain = decompress(plain, self._decompressor(name, digest), where=f"object {digest.hex()}")
        if object_digest(plain) != digest:
            raise DamagedError(
                "content differs from its digest",
                where=f"object {digest.hex()}",
                expected="bytes with that SHA-256",
                next_step="rebuild the store from its archive",
            )
        return plain

    def _decompressor(self, name: bytes, digest: bytes) -> zstandard.ZstdDecompressor:
        known = self._decompressors.get(name)
        if known is not None:
            return known
        if name == _NO_DICTIONARY:
            made = zstandard.ZstdDecompressor()
        elif name in self._dictionaries:
            made = self._dictionaries[name].decompressor()
        else:
            raise _unknown_dictionary(name, self._dictionaries, f"object {digest.hex()}")
        self._decompressors[name] = made
        return made


def encode_object(plain: bytes, *, dictionary: Dictionary | None = None, compressed: bool = True) -> bytes:
    """Wrap plain bytes in an envelope, compressed when that is wanted and shorter.

    Errors: LimitError over MAX_VALUE_BYTES.
    """
    if compressed:
        return ObjectEncoder(dictionary).encode(plain)
    check_size(plain, where="object")
    return _wrap(object_digest(plain), _RAW, plain)


def decode_object(envelope: bytes, dictionaries: Mapping[bytes, Dictionary]) -> bytes:
    """Unwrap an envelope and prove the plain bytes.

    Shape:   `dictionaries` maps `Dictionary.id` to the dictionary.
    Errors:  DamagedError when bytes and digest disagree or the dictionary is unknown; NewerFormatError for a
             later envelope version; LimitError for a value or a frame over the cap.
    """
    return ObjectDecoder(dictionaries).decode(envelope)


def encode_body(raw: bytes) -> tuple[str, str]:
    """Turn raw answer bytes into (body, media) of a snapshot: text as it stands, base64 when not UTF-8.

    CRLF, byte order marks and NUL are kept. JSON answers are the caller's to mark as `json`.
    """
    try:
        return raw.decode("utf-8"), "text"
    except UnicodeDecodeError:
        return base64.b64encode(raw).decode("ascii"), "bytes"


def decode_body(body: str, media: str) -> bytes:
    """Give the raw answer bytes back. Errors: DamagedError when `bytes` is not strict base64."""
    if media != "bytes":
        return body.encode("utf-8")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DamagedError(
            f"body is not base64: {error}", where="snapshot body", expected="base64 because media is 'bytes'"
        ) from None


def _wrap(digest: bytes, name: bytes, frame: bytes) -> bytes:
    return b"".join((_MAGIC, bytes((ENVELOPE_VERSION,)), digest, name, frame))


def _oversized(content: int, window: int, where: str) -> LimitError | DamagedError:
    if content == zstandard.CONTENTSIZE_UNKNOWN:
        return DamagedError("frame does not state its size", where=where, expected="a stated content size")
    return LimitError(
        f"frame claims {content} bytes and a window of {window}",
        where=where,
        expected=f"at most {MAX_VALUE_BYTES} bytes",
        next_step="do not use this file; fetch the archive again",
    )


def _newer(version: int) -> NewerFormatError:
    return NewerFormatError(
        f"object envelope version {version}",
        expected=f"version {ENVELOPE_VERSION}",
        next_step="upgrade replay-bench, or rebuild the store from its archive",
    )


def _unknown_dictionary(name: bytes, known: Mapping[bytes, Dictionary], where: str) -> DamagedError:
    return DamagedError(
        f"compressed with unknown dictionary {name.hex()}",
        where=where,
        expected="one of " + (", ".join(sorted(key.hex() for key in known)) or "no dictionary at all"),
        next_step="rebuild the store from its archive",
    )
