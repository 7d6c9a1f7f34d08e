"""The header of a GGUF file, parsed as hostile input: metadata and the table of tensors.

Counts, lengths, offsets and types are compared with the size of the file before anything is allocated; long
arrays (a vocabulary has 262,144 names) stay where they are and are only measured.

Source:  gguf.cpp and gguf.h of llama.cpp as vendored by llama-cpp-python 0.3.36; versions 2 and 3, little
endian, as that library loads them. Differs: gaps between tensors are allowed, empty tensors are not.
"""

from __future__ import annotations

import itertools
import mmap
import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from replay.core.errors import InputError
from replay.core.types import Json, Record
from replay.llm.ggml_types import TENSOR_TYPES

__all__ = ["GgufFile", "LongArray", "TensorInfo", "parse_header"]

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_DEFAULT_ALIGNMENT: Final = 32
_LARGEST_ALIGNMENT: Final = 1 << 20  # a power of two far beyond any page; guards the arithmetic below

_MAX_ENTRIES: Final = 65_536  # metadata keys, and tensors; real models have under 100 and under 10,000
_MAX_NAME_BYTES: Final = 65_535  # of a key, as the format's own document has it
_MAX_TENSOR_NAME_BYTES: Final = 63  # GGML_MAX_NAME less its closing zero
_MAX_STRING_BYTES: Final = 4 << 20  # a chat template has some 10,000
_MAX_STRINGS: Final = 4_000_000  # of all string arrays together; each has to be stepped over
_MAX_DIMENSIONS: Final = 4
_MAX_WEIGHTS: Final = 2**62
_SHORT_ARRAY: Final = 64  # elements up to which an array is decoded at once

_STRING: Final = 8
_ARRAY: Final = 9
_SCALARS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TYPE_NAMES: Final = {
    0: "u8", 1: "i8", 2: "u16", 3: "i16", 4: "u32", 5: "i32", 6: "f32", 7: "bool", 8: "string",
    10: "u64", 11: "i64", 12: "f64",
}  # fmt: skip


class LongArray(NamedTuple):
    """An array that was measured and left in the file."""

    type: str
    length: int


class TensorInfo(Record, frozen=True, kw_only=True):
    """One tensor: what it is and where it lies."""

    name: str
    type: str
    shape: tuple[int, ...]
    """The fastest dimension first, as in the file."""
    offset: int
    """From the start of the file."""
    size_bytes: int


class GgufFile(NamedTuple):
    """What a GGUF file says about itself."""

    version: int
    size_bytes: int
    metadata: Mapping[str, Json | LongArray]
    """Scalars, strings and arrays of up to 64 elements; longer ones as `LongArray`."""
    tensors: tuple[TensorInfo, ...]
    """In file order."""

    @property
    def architecture(self) -> str:
        """`general.architecture`; empty when the file has none."""
        return self.text("general.architecture")

    def text(self, key: str, default: str = "") -> str:
        """Return a string of the metadata; the default when it is missing or no string."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else default

    def number(self, key: str) -> int | None:
        """Return a whole number of the metadata."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def parse_header(data: mmap.mmap, name: str) -> GgufFile:
    """Parse and check the header of the mapped file `name`.

    Errors:  InputError that names the place in the file and what is wrong there.
    """
    return _Header(data, name).read()


class _Header:
    """One pass over the header of one file."""

    def __init__(self, data: mmap.mmap, name: str) -> None:
        self._data = data
        self._end = len(data)
        self._name = name
        self._at = 0
        self._strings_left = _MAX_STRINGS

    def read(self) -> GgufFile:
        version = self._read_version()
        tensor_count, key_count = self._take("QQ", "the counts")
        self._check_count(tensor_count, "tensors", least_bytes=24)
        self._check_count(key_count, "metadata keys", least_bytes=13)
        metadata: dict[str, Json | LongArray] = {}
        for number in range(key_count):
            key = self._read_string(f"metadata key {number}", _MAX_NAME_BYTES)
            if not key or key in metadata:
                raise self._wrong(f"metadata key {number} {key!r} is {'there twice' if key else 'empty'}")
            metadata[key] = self._read_value(key)
        alignment = self._alignment(metadata)
        raw = [self._read_tensor(number, alignment) for number in range(tensor_count)]
        start = -(-self._at // alignment) * alignment
        tensors = tuple(self._place(tensor, start) for tensor in raw)
        self._check_layout(tensors)
        return GgufFile(version, self._end, metadata, tensors)

    def _read_version(self) -> int:
        magic = self._data[:4]
        if magic != _MAGIC:
            raise self._wrong(f"it begins with {magic!r}, not {_MAGIC!r}: this is no GGUF file", advise=False)
        self._at = 4
        (version,) = self._take("I", "the version")
        if version not in _VERSIONS:
            big_endian = version & 0xFFFF == 0 and version != 0
            what = "it is big-endian" if big_endian else f"GGUF version {version} is not one that loads"
            raise InputError(
                f"{self._name}: {what}",
                where="byte 4",
                expected="GGUF version 2 or 3, little-endian",
                next_step="convert the model with a current llama.cpp for a little-endian machine",
            )
        return int(version)

    def _check_count(self, count: int, what: str, *, least_bytes: int) -> None:
        room = (self._end - self._at) // least_bytes
        if count > min(_MAX_ENTRIES, room):
            raise self._wrong(f"it announces {count} {what}; at most {min(_MAX_ENTRIES, room)} are possible")

    def _read_value(self, key: str) -> Json | LongArray:
        (kind,) = self._take("I", key)
        if kind == _STRING:
            return self._read_string(key, _MAX_STRING_BYTES)
        if kind == _ARRAY:
            return self._read_array(key)
        if kind not in _SCALARS:
            raise self._wrong(f"{key!r} has the unknown type {kind}")
        (value,) = self._take(_SCALARS[kind], key)
        return value

    def _read_array(self, key: str) -> Json | LongArray:
        kind, length = self._take("IQ", key)
        if kind == _STRING:
            return self._read_strings(key, length)
        if kind not in _SCALARS:
            raise self._wrong(f"the array {key!r} has elements of the unknown type {kind}")
        size = struct.calcsize(f"<{_SCALARS[kind]}")
        if length > (self._end - self._at) // size:
            raise self._wrong(f"the array {key!r} announces {length} elements, more than the file holds")
        if length <= _SHORT_ARRAY:
            return list(self._take(f"{length}{_SCALARS[kind]}", key))
        self._at += size * length
        return LongArray(_TYPE_NAMES[kind], length)

    def _read_strings(self, key: str, length: int) -> Json | LongArray:
        if length > min(self._strings_left, (self._end - self._at) // 8):
            raise self._wrong(f"the array {key!r} announces {length} strings, more than the file can hold")
        self._strings_left -= length
        if length <= _SHORT_ARRAY:
            return [self._read_string(key, _MAX_STRING_BYTES) for _ in range(length)]
        # Step over them: with a quarter of a million names this loop is the cost of reading a header.
        data, end, at, unpack = self._data, self._end, self._at, struct.Struct("<Q").unpack_from
        for number in range(length):
            if at + 8 > end:
                raise self._cut(f"string {number} of {key!r}")
            at += 8 + unpack(data, at)[0]
        if at > end:
            raise self._cut(f"the strings of {key!r}")
        self._at = at
        return LongArray(_TYPE_NAMES[_STRING], length)

    def _read_string(self, what: str, most_bytes: int) -> str:
        (length,) = self._take("Q", what)
        if length > most_bytes:
            raise self._wrong(f"the text of {what!r} is {length} bytes long, over {most_bytes}")
        if self._at + length > self._end:
            raise self._cut(f"the text of {what!r}")
        raw = self._data[self._at : self._at + length]
        self._at += length
        return raw.decode("utf-8", "replace")

    def _alignment(self, metadata: Mapping[str, Json | LongArray]) -> int:
        value: Json = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if is_number and 0 < value <= _LARGEST_ALIGNMENT and not value & (value - 1):
            return int(value)
        raise self._wrong(f"general.alignment is {value!r}, no power of two up to {_LARGEST_ALIGNMENT}")

    def _read_tensor(self, number: int, alignment: int) -> TensorInfo:
        """Read one line of the tensor table; its offset still counts from the start of the weights."""
        name = self._read_string(f"tensor {number}", _MAX_TENSOR_NAME_BYTES)
        (dimensions,) = self._take("I", f"tensor {name!r}")
        if dimensions > _MAX_DIMENSIONS:
            raise self._wrong(f"tensor {name!r} has {dimensions} dimensions, over {_MAX_DIMENSIONS}")
        shape = self._take(f"{dimensions}Q", f"tensor {name!r}")
        kind, offset = self._take("IQ", f"tensor {name!r}")
        if kind not in TENSOR_TYPES:
            raise self._wrong(f"tensor {name!r} has the unknown type {kind}")
        type_ = TENSOR_TYPES[kind]
        weights = 1
        for size in shape:
            weights *= size
        if not 0 < weights < _MAX_WEIGHTS or (shape[0] if shape else 1) % type_.block_weights:
            raise self._wrong(f"tensor {name!r} has the impossible shape {list(shape)} for {type_.name}")
        if offset % alignment:
            raise self._wrong(f"tensor {name!r} lies at {offset}, not on a multiple of {alignment}")
        size_bytes = weights // type_.block_weights * type_.block_bytes
        return TensorInfo(name=name, type=type_.name, shape=shape, offset=offset, size_bytes=size_bytes)

    def _place(self, tensor: TensorInfo, start: int) -> TensorInfo:
        offset = start + tensor.offset
        if offset + tensor.size_bytes > self._end:
            raise self._cut(f"the {tensor.size_bytes} bytes of tensor {tensor.name!r} from {offset} on")
        return msgspec.structs.replace(tensor, offset=offset)

    def _check_layout(self, tensors: tuple[TensorInfo, ...]) -> None:
        if len({tensor.name for tensor in tensors}) != len(tensors):
            names = sorted(tensor.name for tensor in tensors)
            twice = next(one for one, two in itertools.pairwise(names) if one == two)
            raise self._wrong(f"tensor {twice!r} is there twice")
        in_order = sorted(tensors, key=lambda tensor: tensor.offset)
        for before, after in itertools.pairwise(in_order):
            if before.offset + before.size_bytes > after.offset:
                raise self._wrong(f"tensors {before.name!r} and {after.name!r} overlap")

    def _take(self, layout: str, what: str) -> tuple[int, ...]:
        size = struct.calcsize(f"<{layout}")
        if self._at + size > self._end:
            raise self._cut(what)
        values = struct.unpack_from(f"<{layout}", self._data, self._at)
        self._at += size
        return values

    def _cut(self, what: str) -> InputError:
        return self._wrong(f"it is cut off: {what} would go past its {self._end} bytes")

    def _wrong(self, what: str, *, advise: bool = True) -> InputError:
        return InputError(
            f"{self._name}: {what}",
            where=f"byte {self._at}",
            expected="a whole GGUF file as llama.cpp writes it",
            next_step="copy or download the file again and compare its SHA-256" if advise else "",
        )
