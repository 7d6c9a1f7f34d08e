"""GGUF files byte by byte, right and wrong ones, for tests of the reader; none is a model that runs."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["METADATA", "TENSORS", "Entry", "Tensor", "gguf_bytes", "string", "write_gguf"]

_SCALARS = {
    "u8": (0, "B"),
    "u32": (4, "I"),
    "i32": (5, "i"),
    "f32": (6, "f"),
    "bool": (7, "?"),
    "u64": (10, "Q"),
}


class Entry(NamedTuple):
    """One metadata entry: type is a scalar's name, `string`, or one of them in brackets for an array."""

    key: str
    type: str
    value: Any


class Tensor(NamedTuple):
    """One tensor: its type's number, shape and bytes; `offset` overrides where it is said to lie."""

    name: str
    type: int
    shape: Sequence[int]
    data: bytes
    offset: int | None = None


METADATA = (
    Entry("general.architecture", "string", "llama"),
    Entry("general.name", "string", "Tiny"),
    Entry("llama.context_length", "u32", 64),
    Entry("llama.rope.freq_base", "f32", 0.5),
    Entry("tokenizer.ggml.add_bos_token", "bool", True),
    Entry("tokenizer.ggml.tokens", "[string]", [f"t{number}" for number in range(100)]),
    Entry("tokenizer.ggml.scores", "[f32]", [1.0] * 70),
    Entry("general.tags", "[string]", ["a", "b"]),
    Entry("llama.short", "[i32]", [1, -2]),
)
"""A bit of everything."""

TENSORS = (
    Tensor("b.weight", 0, (4, 2), bytes(range(32))),
    Tensor("a.weight", 8, (32,), bytes(range(34))),
)
"""F32 of 4 x 2 and one block of Q8_0, in the order that is not the order of their names."""


def gguf_bytes(
    metadata: Iterable[Entry] = METADATA,
    tensors: Sequence[Tensor] = TENSORS,
    *,
    alignment: int = 32,
    counts: tuple[int, int] | None = None,
    head: bytes = b"GGUF\x03\x00\x00\x00",
) -> bytes:
    """Build a file; `counts` overrides how many tensors and entries it announces."""
    entries = list(metadata)
    announced = counts or (len(tensors), len(entries))
    out = head + struct.pack("<QQ", *announced) + b"".join(map(_entry, entries))
    body = b""
    for tensor in tensors:
        body += bytes(-len(body) % alignment)
        offset = len(body) if tensor.offset is None else tensor.offset
        out += string(tensor.name) + struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        out += struct.pack("<IQ", tensor.type, offset)
        body += tensor.data
    return out + bytes(-len(out) % alignment) + body


def write_gguf(path: Path, metadata: Iterable[Entry] = METADATA, tensors: Sequence[Tensor] = TENSORS) -> Path:
    """Write such a file."""
    path.write_bytes(gguf_bytes(metadata, tensors))
    return path


def string(text: str | bytes) -> bytes:
    """Encode a string as GGUF does: length, then bytes."""
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def _entry(entry: Entry) -> bytes:
    if entry.type.startswith("["):
        kind = entry.type.strip("[]")
        number = 8 if kind == "string" else _SCALARS[kind][0]
        head = struct.pack("<IIQ", 9, number, len(entry.value))
        return string(entry.key) + head + b"".join(_value(kind, value) for value in entry.value)
    number = 8 if entry.type == "string" else _SCALARS[entry.type][0]
    return string(entry.key) + struct.pack("<I", number) + _value(entry.type, entry.value)


def _value(kind: str, value: Any) -> bytes:
    return string(value) if kind == "string" else struct.pack("<" + _SCALARS[kind][1], value)
