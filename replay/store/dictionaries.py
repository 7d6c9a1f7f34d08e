"""Trained zstd dictionaries, named by the digest of their bytes.

Owns deterministic training: the same set of samples gives the same dictionary in whatever order they come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import zstandard

from replay.core.errors import InputError, LimitError

__all__ = ["MAX_DICTIONARY_BYTES", "Dictionary", "make_compressor", "train_dictionary"]

MAX_DICTIONARY_BYTES: Final = 1024 * 1024
"""Larger dictionaries are refused; trained ones have 16 KiB."""

_LEVEL: Final = 3
"""With a dictionary, level 9 saves another 4 % and takes four times as long."""
_MAX_SAMPLES: Final = 4000
_MAX_TRAINING_BYTES: Final = 2 * 1024 * 1024
"""Training time grows with the samples; more of them did not help in measurements."""
_SEGMENT_BYTES: Final = 200
_DMER_BYTES: Final = 8
"""k and d of the COVER algorithm, fixed so that no search over several threads decides them."""
_MIN_TRAINED_SAMPLES: Final = 16


class Dictionary:
    """One zstd dictionary. Immutable; compressors and decompressors made from it are one per thread."""

    def __init__(self, data: bytes) -> None:
        """Keep the bytes and name them."""
        if not data or len(data) > MAX_DICTIONARY_BYTES:
            raise LimitError(
                f"zstd dictionary of {len(data)} bytes",
                expected=f"1 to {MAX_DICTIONARY_BYTES} bytes",
                next_step="do not use this file; fetch the archive again",
            )
        self.data = data
        self.digest = hashlib.sha256(data).digest()
        """SHA-256 of the dictionary's bytes."""
        self.id = self.digest[:8]
        """What envelopes name it by."""
        self._zstd = zstandard.ZstdCompressionDict(data)

    def compressor(self) -> zstandard.ZstdCompressor:
        """Make a compressor that uses this dictionary; the envelope or row names it."""
        return make_compressor(self._zstd)

    def decompressor(self) -> zstandard.ZstdDecompressor:
        """Make a decompressor."""
        return zstandard.ZstdDecompressor(dict_data=self._zstd)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dictionary) and self.data == other.data

    def __hash__(self) -> int:
        return int.from_bytes(self.id, "big")


def make_compressor(zstd: zstandard.ZstdCompressionDict | None = None) -> zstandard.ZstdCompressor:
    """Make a compressor whose frames state their content size and nothing that can be left out."""
    return zstandard.ZstdCompressor(
        level=_LEVEL, dict_data=zstd, write_content_size=True, write_checksum=False, write_dict_id=False
    )


def train_dictionary(samples: Iterable[bytes], *, size_bytes: int = 16384) -> Dictionary:
    """Train a dictionary; the order of the samples does not matter.

    Samples are taken in the order of their digests until a bound on count and size is reached. Too few or too
    uniform samples to train on give a dictionary that simply holds them.
    Errors: InputError without any sample that has content.
    """
    if not 256 <= size_bytes <= MAX_DICTIONARY_BYTES:
        raise InputError(f"dictionary size {size_bytes}", expected=f"256 to {MAX_DICTIONARY_BYTES} bytes")
    chosen = _choose(samples)
    if not chosen:
        raise InputError("no samples to train a dictionary on", expected="at least one sample with content")
    if len(chosen) >= _MIN_TRAINED_SAMPLES:
        try:
            trained = zstandard.train_dictionary(size_bytes, chosen, k=_SEGMENT_BYTES, d=_DMER_BYTES)
        except zstandard.ZstdError:
            pass  # the library refuses samples that are too short or too alike; they still serve as content
        else:
            return Dictionary(trained.as_bytes())
    return Dictionary(b"".join(chosen)[-size_bytes:])


def _choose(samples: Iterable[bytes]) -> list[bytes | bytearray | memoryview[int]]:
    ordered = sorted({hashlib.sha256(sample).digest(): sample for sample in samples if sample}.items())
    chosen: list[bytes | bytearray | memoryview[int]] = []
    total = 0
    for _, sample in ordered[:_MAX_SAMPLES]:
        if total + len(sample) > _MAX_TRAINING_BYTES and chosen:
            break
        chosen.append(sample)
        total += len(sample)
    return chosen
