"""The file `store.json` that makes a folder a store, and the look at `data.mdb` before LMDB may open it.

Owns format and engine versions. LMDB trusts the file it maps, so a folder without our marker, with another
engine's file, or with a file that is cut or garbled at its start is refused here in one line. The content of
a sealed file is proved by fsck; stores never travel, they are rebuilt from archives.
"""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import Final

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.errors import CanonicalError, DamagedError, FormatError, NewerFormatError, StoreError
from replay.core.types import Record
from replay.store.records import encode_object

__all__ = [
    "DATA_NAME",
    "FORMAT_VERSION",
    "MARKER_NAME",
    "Marker",
    "check_data_file",
    "file_digest",
    "format_rows",
    "read_marker",
    "sync_folder",
    "write_marker",
]

MARKER_NAME: Final = "store.json"
DATA_NAME: Final = "data.mdb"
FORMAT_VERSION: Final = 1
"""Raised when a row, a database or a code changes its meaning."""

PRODUCT: Final = "replay-store"
ENGINE: Final = "lmdb 0.9, data format 1"
"""The pinned engine: py-lmdb 3 also bundles 1.0, whose files 0.9 cannot read, and the reverse."""

_MARKER_LIMIT: Final = 64 * 1024
_MAGIC: Final = 0xBEEFC0DE
_DATA_VERSION: Final = 1
_META_PAGE: Final = struct.Struct("=Q2xH4xIIQQI")
"""Page number, flags; magic, data version, map address, map size, page size (MDB_page, MDB_meta of 0.9)."""
_META_TAIL: Final = struct.Struct("=QQ")
"""Last page used, transaction number; at offset 136 of a meta page."""
_TAIL_OFFSET: Final = 136
_META_FLAG: Final = 0x08
_CHUNK_BYTES: Final = 1 << 20


class Marker(Record, frozen=True, kw_only=True):
    """Content of `store.json`."""

    product: str = PRODUCT
    format_version: int = FORMAT_VERSION
    engine: str = ENGINE
    sealed: bool = False
    size_bytes: int = 0
    """Exact size of a sealed data file; 0 while the store is writable."""
    digest: str = ""
    """`sha256:` + hex over the bytes of a sealed data file; empty while the store is writable."""


def format_rows() -> list[tuple[bytes, bytes]]:
    """Rows of the `meta` database that say the same inside the data file: the two belong together."""
    facts = (("engine", ENGINE), ("format", FORMAT_VERSION))
    return [(name.encode(), encode_object(canonical_bytes(value), compressed=False)) for name, value in facts]


def write_marker(folder: Path, marker: Marker) -> None:
    """Write `store.json` durably into a folder that is not in use yet."""
    path = folder / MARKER_NAME
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(descriptor, canonical_bytes(msgspec.to_builtins(marker)) + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_marker(folder: Path) -> Marker:
    """Read `store.json`.

    Errors: StoreError when there is no store; FormatError when the folder is another program's or another
    engine's; NewerFormatError for a later format; DamagedError when the marker cannot be read.
    """
    path = folder / MARKER_NAME
    try:
        with path.open("rb") as stream:
            text = stream.read(_MARKER_LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        raise _absent(folder) from None
    except OSError as error:
        raise StoreError(
            f"store marker cannot be read: {error.strerror}",
            where=str(path),
            next_step="check the folder's rights",
        ) from None
    facts = _decode(text, path)
    _check_version(facts, path)
    try:
        return msgspec.convert(facts, Marker)
    except msgspec.ValidationError as error:
        raise _damaged_marker(path, str(error)) from None


def check_data_file(folder: Path, marker: Marker) -> None:
    """Look at size and both meta pages of `data.mdb` without LMDB.

    Errors: DamagedError when the file is missing, cut, or not LMDB; FormatError for another engine's format.
    """
    path = folder / DATA_NAME
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            head = stream.read(_TAIL_OFFSET + _META_TAIL.size)
            page_bytes = _check_meta_page(head, path, number=0)
            stream.seek(page_bytes)
            second = stream.read(_TAIL_OFFSET + _META_TAIL.size)
    except OSError as error:
        raise _damaged(path, f"data file cannot be read: {error.strerror}") from None
    if _check_meta_page(second, path, number=1) != page_bytes:
        raise _damaged(path, "the two meta pages name different page sizes")
    # The committed state is the newer of the two meta pages, as in LMDB itself.
    last_page, _ = max(
        (_META_TAIL.unpack_from(page, _TAIL_OFFSET) for page in (head, second)), key=lambda t: t[1]
    )
    if size % page_bytes or (last_page + 1) * page_bytes > size:
        raise _damaged(
            path, f"data file of {size} bytes is cut: {last_page + 1} pages of {page_bytes} were written"
        )
    if marker.sealed and size != marker.size_bytes:
        raise _damaged(path, f"sealed data file has {size} bytes, its marker says {marker.size_bytes}")


def file_digest(path: Path) -> str:
    """Digest of a file's bytes: `sha256:` + hex."""
    state = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            state.update(chunk)
    return f"sha256:{state.hexdigest()}"


def sync_folder(folder: Path) -> None:
    """Make names that were put into a folder durable. Errors: OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_meta_page(head: bytes, path: Path, *, number: int) -> int:
    if len(head) < _TAIL_OFFSET + _META_TAIL.size:
        raise _damaged(path, "data file ends inside its meta pages")
    page, flags, magic, version, _, _, page_bytes = _META_PAGE.unpack_from(head)
    if magic != _MAGIC:
        raise _damaged(path, f"meta page {number} is not an LMDB meta page")
    if version != _DATA_VERSION:
        raise FormatError(
            f"LMDB data format {version}",
            where=str(path),
            expected=f"data format {_DATA_VERSION} ({ENGINE})",
            next_step="thaw the archive again with this version",
        )
    if page != number or flags != _META_FLAG:
        raise _damaged(path, f"meta page {number} has page number {page} and flags {flags:#x}")
    if not 512 <= page_bytes <= 65536 or page_bytes & (page_bytes - 1):
        raise _damaged(path, f"meta page {number} names a page size of {page_bytes}")
    return int(page_bytes)


def _check_version(facts: dict[str, object], path: Path) -> None:
    if facts.get("product") != PRODUCT:
        raise FormatError(
            f"not a replay store: product {facts.get('product')!r}", where=str(path), expected=repr(PRODUCT)
        )
    version = facts.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise NewerFormatError(
            f"store format version {version}",
            where=str(path),
            expected=f"version {FORMAT_VERSION}",
            next_step="upgrade replay-bench, or thaw the archive again with this version",
        )
    if version != FORMAT_VERSION or facts.get("engine") != ENGINE:
        raise FormatError(
            f"store of format {version!r}, engine {facts.get('engine')!r}",
            where=str(path),
            expected=f"format {FORMAT_VERSION}, engine {ENGINE!r}",
            next_step="thaw the archive again with this version",
        )


def _decode(text: bytes, path: Path) -> dict[str, object]:
    try:
        facts = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, CanonicalError) as error:
        raise _damaged_marker(path, str(error)) from None
    if not isinstance(facts, dict):
        raise _damaged_marker(path, f"it holds {type(facts).__name__}")
    return facts


def _absent(folder: Path) -> StoreError:
    return StoreError(
        "no store here",
        where=str(folder),
        expected=f"a folder with {MARKER_NAME}; a foreign {DATA_NAME} is never opened",
        next_step="thaw an archive into this folder, or create a store",
    )


def _damaged_marker(path: Path, why: str) -> DamagedError:
    return DamagedError(
        f"store marker cannot be read: {why}", where=str(path), next_step="thaw the archive again"
    )


def _damaged(path: Path, why: str) -> DamagedError:
    return DamagedError(
        why,
        where=str(path),
        expected="a whole LMDB file written by this program",
        next_step="delete the store and thaw its archive again",
    )
