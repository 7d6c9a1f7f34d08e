"""The files of the served stores, watched: reading a mapped file that was cut short ends a process."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from replay.core.errors import DamagedError
from replay.store.marker import DATA_NAME

__all__ = ["StoreWatch"]


class StoreWatch:
    """Sees whether sealed stores are as long as they were; a context manager. Safe to share."""

    def __init__(self, stores: Iterable[str]) -> None:
        """Watch these store folders."""
        self._stack = ExitStack()
        self._files: list[tuple[int, int, str]] = []
        for store in stores:
            # The file that was opened, not the one that may lie at its place later.
            opened = os.open(Path(store) / DATA_NAME, os.O_RDONLY)
            self._stack.callback(os.close, opened)
            self._files.append((opened, os.fstat(opened).st_size, store))

    def check(self) -> None:
        """Look, which takes about a microsecond a store. Raises DamagedError for one that was cut short."""
        for opened, size, store in self._files:
            if os.fstat(opened).st_size < size:
                raise DamagedError(
                    "store is damaged: its file was cut short while it was served",
                    where=store,
                    next_step="restart the server; a store that is not whole is built again from its archive",
                )

    def __enter__(self) -> Self:
        """Return the watch."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the files."""
        self._stack.close()
