"""Files that appear whole or not at all: written beside their place, synced, renamed."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from replay.core.errors import InputError, StoreError
from replay.store.marker import sync_folder

__all__ = ["open_spool", "write_whole"]

_CHUNK_BYTES: Final = 1 << 20
_MODE: Final = 0o644


@contextmanager
def write_whole(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Give a file to write; when the block ends well it stands at `path`, else nothing has changed.

    Writing the bytes that are already there changes nothing either.
    Errors: InputError when other bytes are there and `overwrite` is false; StoreError when the disk is full,
    read-only or gone.
    """
    if path.is_dir():
        raise InputError("a folder is in the way", where=path.name, expected="a file name to write")
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
        temporary = Path(name)
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), _MODE)
            os.fsync(file.fileno())
        if path.exists() and not overwrite:
            _check_same(path, temporary)
        else:
            temporary.replace(path)
            temporary = None
            sync_folder(path.parent)
    except OSError as error:
        raise _not_written(path, error) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def open_spool(path: Path) -> Iterator[BinaryIO]:
    """Give a nameless temporary file in the folder of `path`; it is gone when the block ends."""
    try:
        with tempfile.TemporaryFile(dir=path.parent) as file:
            yield file
    except OSError as error:
        raise _not_written(path, error) from None


def _check_same(path: Path, temporary: Path) -> None:
    with path.open("rb") as old, temporary.open("rb") as new:
        while True:
            ours, theirs = old.read(_CHUNK_BYTES), new.read(_CHUNK_BYTES)
            if ours != theirs:
                raise InputError(
                    "a file with other content is already there",
                    where=path.name,
                    expected="a free name, or the same bytes",
                    next_step="choose another name or version, or pass --overwrite",
                )
            if not ours:
                return


def _not_written(path: Path, error: OSError) -> StoreError:
    steps = {
        errno.ENOSPC: "free some space and run it again; nothing was left behind",
        errno.EROFS: "choose a folder that can be written",
        errno.EACCES: "choose a folder that can be written",
        errno.ENOENT: "make the folder first",
    }
    return StoreError(
        f"cannot write {path.name}: {error.strerror}",
        where=str(path.parent),
        expected="a writable folder with room",
        next_step=steps.get(error.errno or 0, "check the disk and run it again; nothing was left behind"),
    )
