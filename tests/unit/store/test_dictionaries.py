"""Training of zstd dictionaries."""

from __future__ import annotations

import hashlib

import pytest

from replay.core.errors import InputError, LimitError
from replay.store.dictionaries import MAX_DICTIONARY_BYTES, Dictionary, train_dictionary

SAMPLES = [
    f'{{"id": {n}, "name": "item {n * 7919 % 1000}", "open": {n % 3}}}'.encode() * 3 for n in range(300)
]


def test_order_of_samples_does_not_matter() -> None:
    """The same set of samples, repeated and reversed, gives the same dictionary."""
    assert train_dictionary(SAMPLES) == train_dictionary([*SAMPLES[::-1], *SAMPLES[:50]])


def test_named_by_its_digest() -> None:
    """A dictionary is named by the SHA-256 of its bytes."""
    dictionary = train_dictionary(SAMPLES)
    assert hashlib.sha256(dictionary.data).digest() == dictionary.digest
    assert dictionary.id == dictionary.digest[:8]
    assert hash(dictionary) == hash(Dictionary(dictionary.data))


def test_helps_short_values() -> None:
    """A value like the samples gets several times shorter with the dictionary."""
    dictionary = train_dictionary(SAMPLES)
    value = SAMPLES[0].replace(b"item", b"Item")
    packed = dictionary.compressor().compress(value)
    assert len(packed) * 2 < len(value)
    assert value == dictionary.decompressor().decompress(packed)


@pytest.mark.parametrize("samples", [[b"abc"], [b"abc"] * 50, [b"%d" % n for n in range(40)]])
def test_too_little_to_train_on_still_serves(samples: list[bytes]) -> None:
    """Few or uniform samples make a dictionary that holds them."""
    assert samples[0] in train_dictionary(samples).data


def test_bounded_number_of_samples() -> None:
    """Samples beyond the bound are not looked at: the first by digest are taken."""
    many = [b"%06d" % n * 20 for n in range(4100)]
    first = sorted(many, key=lambda sample: hashlib.sha256(sample).digest())[:4000]
    assert train_dictionary(many, size_bytes=4096) == train_dictionary(first, size_bytes=4096)


@pytest.mark.parametrize("samples", [[], [b""]])
def test_nothing_to_train_on(samples: list[bytes]) -> None:
    """No content at all is an input error."""
    with pytest.raises(InputError, match="no samples"):
        train_dictionary(samples)


@pytest.mark.parametrize("size", [0, 255, MAX_DICTIONARY_BYTES + 1])
def test_size_out_of_bounds(size: int) -> None:
    """The wanted size has bounds and the message tells them."""
    with pytest.raises(InputError, match=f"dictionary size {size}.*256 to {MAX_DICTIONARY_BYTES}"):
        train_dictionary(SAMPLES, size_bytes=size)


@pytest.mark.parametrize("data", [b"", bytes(MAX_DICTIONARY_BYTES + 1)])
def test_dictionary_bytes_are_bounded(data: bytes) -> None:
    """Empty and oversized dictionaries are refused."""
    with pytest.raises(LimitError, match=f"dictionary of {len(data)} bytes"):
        Dictionary(data)
