"""The writer lock: one process at a time may write a store.

The lock is the kernel's (flock): it ends with its process however that dies; a left-over file means nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import Final

from replay.core.errors import StoreError

__all__ = ["LOCK_NAME", "WriterLock", "reserve_reader_table"]

LOCK_NAME: Final = "writer.lock"

READER_TABLE_NAME: Final = "lock.mdb"
READER_TABLE_BYTES: Final = 68 * 1024
"""LMDB's own file for 1,024 readers takes 64 bytes each and a header."""


def reserve_reader_table(folder: Path) -> None:
    """Take the disk space of LMDB's reader table before LMDB maps it. To be called by the writer.

    LMDB makes the file sparse; on a full disk the first touch of the map would then end the process.
    Errors: OSError when there is no space.
    """
    descriptor = os.open(folder / READER_TABLE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        held = os.fstat(descriptor).st_size
        if held < READER_TABLE_BYTES:
            written = os.pwrite(descriptor, bytes(READER_TABLE_BYTES - held), held)
            if held + written < READER_TABLE_BYTES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


class WriterLock:
    """Held from construction to `release`."""

    def __init__(self, folder: Path) -> None:
        """Take the lock. Errors: StoreError naming the holder when it is taken, or why it cannot be made."""
        path = folder / LOCK_NAME
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(
                f"store cannot be opened for writing: {error.strerror}",
                where=str(folder),
                expected="a folder that this user may write to",
                next_step="seal the store to read it from here, or open it elsewhere",
            ) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = self._holder()
            os.close(self._descriptor)
            raise StoreError(
                f"store is being written by {holder}",
                where=str(folder),
                expected="one writer at a time",
                next_step="wait for it to finish or stop it; parallel runs write one overlay each",
            ) from None
        with contextlib.suppress(OSError):
            # The number only serves the message above; a full disk must not stop a reader of it.
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Give the lock back, also when a forked child still holds the file."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)

    def forget(self) -> None:
        """Close a forked child's handle; the parent keeps the lock."""
        os.close(self._descriptor)

    def _holder(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            number = int(os.pread(self._descriptor, 32, 0))
            return "this very process (already open)" if number == os.getpid() else f"process {number}"
        return "another process"
