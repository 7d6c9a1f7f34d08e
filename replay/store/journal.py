"""What live upstreams said, on disk the moment it came: a killed run loses nothing that was paid for.

One file an answer, in a folder of the run. A place (key and number of the repeat) is asked for by one thread
of one process at a time, so workers that need the same answer ask once and get the same.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from replay.core.canonical import canonical_bytes, digest, parse_json
from replay.core.determinism import temporary_name
from replay.core.errors import CanonicalError, DamagedError, StoreError
from replay.core.types import Json, Key
from replay.store.marker import sync_folder

__all__ = ["Journal"]

_LOCKS: Final = 256
"""Lock files: places share them, which makes a few wait that need not."""


class Journal:
    """A folder of answers. Safe to share between threads and processes."""

    def __init__(self, folder: Path) -> None:
        """Keep answers in this folder, which is made when the first one comes."""
        self._folder = folder

    @contextmanager
    def holding(self, key: Key) -> Iterator[None]:
        """Be the only one who asks for this key, here and in other processes.

        Errors:  StoreError when the folder cannot be written.
        """
        try:
            (self._folder / "locks").mkdir(parents=True, exist_ok=True)
            number = int(key[-4:], 16) % _LOCKS
            lock = os.open(self._folder / "locks" / f"{number:02x}", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def read(self, key: Key, sequence: int) -> Json:
        """Return what was said, or None. Raises DamagedError for a file that is not what was written."""
        path = self._path(key, sequence)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            held = parse_json(text)
            is_whole = held["digest"] == digest("journal", held["said"])
        except (CanonicalError, TypeError, KeyError):
            is_whole = False
        if not is_whole:
            raise DamagedError(
                "a kept answer is damaged", where=path.name, next_step="delete the file; it is asked again"
            )
        return held["said"]

    def write(self, key: Key, sequence: int, said: Json) -> None:
        """Keep an answer durably; what is there already stays. Errors: StoreError when it cannot be."""
        path = self._path(key, sequence)
        document = canonical_bytes({"digest": digest("journal", said), "said": said})
        temporary = path.with_name(temporary_name(path.name))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_durably(temporary, document)
            with contextlib.suppress(FileExistsError):
                os.link(temporary, path)
            sync_folder(path.parent)
        except OSError as error:
            raise self._unwritable(error) from None
        finally:
            temporary.unlink(missing_ok=True)

    def _path(self, key: Key, sequence: int) -> Path:
        name = key.removeprefix("sha256:")
        return self._folder / name[:2] / f"{name}-{sequence}.json"

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(
            f"answers of live upstreams cannot be kept: {error.strerror}",
            where=str(self._folder),
            next_step="make room; the same command goes on where it stopped",
        )


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
