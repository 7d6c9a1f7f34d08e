"""GGUF files, read by ourselves: what a file says of itself, and the two digests that name a model.

The header is checked before the model library may see the file, which is native code that was not written
for crafted input.

The file's SHA-256 changes with every byte. The *tensor digest* is made of the sorted names, types, shapes and
SHA-256 of the tensors alone: it stays when a metadata string is edited and changes with one flipped bit of
one weight.
"""

from __future__ import annotations

import hashlib
import mmap
from pathlib import Path
from typing import Final

from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.types import Digest
from replay.llm.gguf_header import GgufFile, LongArray, TensorInfo, parse_header

__all__ = [
    "GgufFile",
    "LongArray",
    "TensorInfo",
    "file_sha256",
    "read_gguf",
    "tensor_digest",
    "tensor_digests",
]

_CHUNK_BYTES: Final = 1 << 20


def read_gguf(path: Path) -> GgufFile:
    """Read and check the header of a GGUF file; its weights are not read.

    Errors:  InputError that names the place in the file and what is wrong there.
    """
    with _map(path) as data:
        return parse_header(data, path.name)


def file_sha256(path: Path) -> str:
    """Hash a whole file: 64 hex digits. Errors: InputError when it cannot be read."""
    state = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                state.update(chunk)
    except OSError as error:
        raise _unreadable(path, error) from None
    return state.hexdigest()


def tensor_digests(path: Path) -> dict[str, Digest]:
    """Hash every tensor by itself, sorted by name: which one differs can then be said.

    Errors:  InputError as read_gguf.
    """
    with _map(path) as data:
        tensors = parse_header(data, path.name).tensors
        return {
            tensor.name: digest(
                "tensor", [tensor.name, tensor.type, list(tensor.shape), _hash_range(data, tensor)]
            )
            for tensor in sorted(tensors, key=lambda tensor: tensor.name.encode())
        }


def tensor_digest(path: Path) -> Digest:
    """Digest the weights alone: names, types, shapes and bytes, whatever the metadata says.

    Errors:  InputError as read_gguf.
    """
    return digest("tensors", list(tensor_digests(path).values()))


def _hash_range(data: mmap.mmap, tensor: TensorInfo) -> str:
    state = hashlib.sha256()
    with memoryview(data) as view:
        end = tensor.offset + tensor.size_bytes
        for start in range(tensor.offset, end, _CHUNK_BYTES):
            with view[start : min(start + _CHUNK_BYTES, end)] as chunk:
                state.update(chunk)
    return state.hexdigest()


def _map(path: Path) -> mmap.mmap:
    if not path.is_file():  # opening a pipe would wait for ever
        what = "not a file" if path.exists() else "no such file"
        raise InputError(f"{what}: {path.name}", where=path.name, expected="a GGUF model")
    try:
        if not path.stat().st_size:
            raise InputError(
                f"{path.name} is empty", where=path.name, expected="a GGUF model", next_step="copy it again"
            )
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot read {path.name}: {error.strerror}", where=path.name, expected="a GGUF file that can be read"
    )
