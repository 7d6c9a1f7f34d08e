"""The published sequence of hard doubles, generated here instead of stored (100 million lines upstream).

Source: cyberphone/json-canonicalization, testdata/README.md: fixed values, then 2,000 in series from the
smallest normal double, then SHA-256 of its own output, little-endian doubles, zeros and non-finite left out.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator

from tests.support.data import GOLDEN

__all__ = ["PUBLISHED_DIGESTS", "double_from_bits", "generate_published_bits", "read_number_vectors"]

PUBLISHED_DIGESTS = {
    1_000: "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687",
    10_000: "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892",
    100_000: "22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7",
    1_000_000: "49415fee2c56c77864931bd3624faad425c3c577d6d74e89a83bc725506dad16",
}
"""SHA-256 of the first N lines `hex bits,text` as their authors published them."""


def double_from_bits(bits: int) -> float:
    """Return the double with these 64 bits."""
    value: float = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    return value


def generate_published_bits() -> Iterator[int]:
    """Yield the published sequence without end."""
    fixed = (GOLDEN / "jcs" / "es6-fixed-bits.txt").read_text("ascii").split()
    yield from (int(line, 16) for line in fixed)
    yield from range(0x0010000000000000, 0x0010000000000000 + 2000)
    block = bytes(32)
    while True:
        block = hashlib.sha256(block).digest()
        for (value,) in struct.iter_unpack("<d", block):
            if value != 0 and math.isfinite(value):
                yield int.from_bytes(struct.pack(">d", value), "big")


def read_number_vectors(name: str) -> list[tuple[int, str]]:
    """Read pairs of bits and expected text from a golden file."""
    lines = (GOLDEN / name).read_text("ascii").splitlines()
    return [(int(bits, 16), text) for bits, text in (line.split(",") for line in lines)]
