"""The files of a store: how they are created, and how LMDB is told to open them.

Owns the pinned engine and every option that LMDB is opened with.
"""

from __future__ import annotations

import enum
import shutil
from pathlib import Path
from typing import Final

import lmdb

from replay.core.determinism import temporary_name
from replay.core.errors import StoreError
from replay.store.lock import reserve_reader_table
from replay.store.marker import DATA_NAME, Marker, format_rows, sync_folder, write_marker
from replay.store.view import DATABASES, DUPSORT

__all__ = ["Access", "create_files", "open_lmdb"]

_ENGINE_MAJOR: Final = 0
"""LMDB 0.9: the format that every py-lmdb reads; never left to an environment variable."""
_MAX_READERS: Final = 1024
_FIRST_MAP_BYTES: Final = 32 * 1024 * 1024


class Access(enum.StrEnum):
    """How an environment is opened."""

    SEALED = "sealed"
    READER = "reader"
    """A writable store of another process, read only."""
    WRITER = "writer"


def open_lmdb(folder: Path, access: Access) -> lmdb.Environment:
    """Open `data.mdb` with the pinned engine. Errors: StoreError when LMDB refuses."""
    path = folder / DATA_NAME
    try:
        size = path.stat().st_size if path.exists() else 0
        if access is Access.WRITER:
            reserve_reader_table(folder)
        environment = lmdb.open(
            str(folder),
            lib_version=_ENGINE_MAJOR,
            subdir=True,
            create=False,
            readonly=access is not Access.WRITER,
            lock=access is not Access.SEALED,
            map_size=size if access is Access.SEALED else max(_FIRST_MAP_BYTES, size),
            max_dbs=len(DATABASES),
            max_readers=_MAX_READERS,
            mode=0o644,
            readahead=False,
        )
        if access is not Access.SEALED:
            environment.reader_check()
    except (lmdb.Error, OSError) as error:
        twice = "already open" in str(error)
        raise StoreError(
            "store is already open in this process" if twice else f"store cannot be opened: {error}",
            where=str(folder),
            next_step="share the open store instead" if twice else "check the folder's rights and free space",
        ) from None
    return environment


def create_files(path: Path) -> None:
    """Put an empty store in place in one step: a crash leaves either a store or nothing.

    Errors: StoreError when the place is taken or cannot be written.
    """
    fresh = path.with_name(temporary_name(path.name))
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise StoreError(
                "store cannot be created: something is there already",
                where=str(path),
                expected="a new or empty folder",
                next_step="open the store that is there, or choose another folder",
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        _make_data_file(fresh)
        write_marker(fresh, Marker())
        fresh.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"store cannot be created: {error.strerror}",
            where=str(path),
            expected="a folder that this user may write to, on a disk with space",
            next_step="free space or choose another folder",
        ) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _make_data_file(folder: Path) -> None:
    """Make an empty `data.mdb` with all databases in a folder that is not in use yet."""
    environment = open_lmdb(folder, Access.WRITER)
    try:
        for name in DATABASES:
            environment.open_db(name.encode(), dupsort=name in DUPSORT)
        meta = environment.open_db(b"meta", create=False)
        with environment.begin(write=True, db=meta) as transaction:
            for row, value in format_rows():
                transaction.put(row, value)
    finally:
        environment.close()
