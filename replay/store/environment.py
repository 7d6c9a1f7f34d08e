"""One open LMDB environment: how it is opened, read, written, grown and refused after a fork.

Sealed environments never change, so each thread keeps one read transaction for good and no lock file is made.
Writable ones run every transaction under one lock: that is what lets the writer grow the map, which no
transaction of the process may see. All errors of LMDB become errors of this program here.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, TypeVarTuple

import lmdb

from replay.core.errors import DamagedError, FormatError, ReplayError, StoreError
from replay.store.lock import WriterLock
from replay.store.marker import check_data_file, format_rows, read_marker
from replay.store.opening import Access, open_lmdb
from replay.store.view import DATABASES, DUPSORT, View

__all__ = ["Access", "Environment"]

_MAX_MAP_BYTES: Final = 1 << 40
_DAMAGE: Final = (
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
    lmdb.InvalidError,
    lmdb.VersionMismatchError,
    lmdb.IncompatibleError,
    lmdb.BadValsizeError,
    lmdb.NotFoundError,
)

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Views(threading.local):
    """The view of each thread."""

    view: View | None = None


class _Refused:
    """Takes the place of the threads' views when the environment may not be used any more."""

    def __init__(self, what: str, where: str, next_step: str) -> None:
        self._parts = (what, where, next_step)

    @property
    def view(self) -> NoReturn:
        what, where, next_step = self._parts
        raise StoreError(what, where=where, next_step=next_step)


class Environment:
    """An open store folder."""

    def __init__(self, folder: Path, access: Access) -> None:
        """Check the folder, take the writer lock if asked to write, and open.

        Errors: StoreError, FormatError, NewerFormatError or DamagedError, each before LMDB sees the file.
        """
        self.folder = folder
        self.access = access
        self._sealed = access is Access.SEALED
        self.marker = read_marker(folder)
        self._check_access()
        self._lock = WriterLock(folder) if access is Access.WRITER else None
        try:
            check_data_file(folder, self.marker)
            self._env = open_lmdb(folder, access)
            self._handles = self._open_databases()
            self._check_format()
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise
        self._gate = threading.RLock()
        self._local: _Views | _Refused = _Views()
        _refuse_after_fork(self)

    @property
    def is_sealed(self) -> bool:
        """True when the store can never change."""
        return self._sealed

    def read(self, function: Callable[[View, *Ts], T], *args: *Ts) -> T:
        """Run a function on one consistent view.

        Errors: DamagedError when LMDB finds its pages wrong; StoreError when closed or forked.
        """
        try:
            if self._sealed:
                view = self._local.view
                return function(self._make_view() if view is None else view, *args)
            return self._read_once(function, *args)
        except lmdb.Error as error:
            raise self._explain(error) from None

    def write(self, function: Callable[[View, *Ts], T], *args: *Ts) -> T:
        """Run a function in one write transaction and commit it durably.

        When the map is full it grows and the function runs again: nothing of a failed attempt is kept.
        Errors: StoreError when the store cannot be written (sealed, disk full, file size limit).
        """
        if self.access is not Access.WRITER:
            raise StoreError(
                f"store is {self.access} and cannot be written",
                where=str(self.folder),
                expected="a writable overlay",
                next_step="put new answers into an overlay; sealed stores never change",
            )
        with self._gate:
            while True:
                self._check_usable()
                try:
                    return self._write_once(function, *args)
                except lmdb.MapFullError:
                    self._grow()
                except lmdb.Error as error:
                    raise self._explain(error) from None

    def close(self) -> None:
        """Close; a second time does nothing, nor does it in a forked child."""
        if isinstance(self._local, _Refused):
            return
        with self._gate:
            self._local = _Refused("store is closed", str(self.folder), "open it again")
            self._env.close()
            if self._lock is not None:
                self._lock.release()

    def refuse_in_child(self) -> None:
        """Refuse every use from now on: LMDB must not be used across a fork."""
        if not isinstance(self._local, _Refused):
            self._local = _Refused(
                "store was opened before this process was forked",
                str(self.folder),
                "open the store inside the worker (start method spawn, or open after fork)",
            )
            if self._lock is not None:
                self._lock.forget()
            if self.is_sealed:
                self._env.close()  # a sealed file has no locks to lose, and the child may open it anew

    def _make_view(self) -> View:
        view = View(self._env.begin(db=self._handles["index"]), self._handles, str(self.folder))
        if isinstance(self._local, _Views):
            view.settle_kinds()
            self._local.view = view
        return view

    def _read_once(self, function: Callable[[View, *Ts], T], *args: *Ts) -> T:
        with self._gate:
            self._check_usable()
            try:
                transaction = self._env.begin(db=self._handles["index"])
            except lmdb.MapResizedError:
                self._env.set_mapsize(0)  # the writer's process has grown the map: take its size over
                transaction = self._env.begin(db=self._handles["index"])
            with transaction:
                return function(View(transaction, self._handles, str(self.folder)), *args)

    def _write_once(self, function: Callable[[View, *Ts], T], *args: *Ts) -> T:
        transaction = self._env.begin(write=True, db=self._handles["index"])
        try:
            result = function(View(transaction, self._handles, str(self.folder)), *args)
            transaction.commit()
        except BaseException:
            transaction.abort()
            raise
        return result

    def _grow(self) -> None:
        size = int(self._env.info()["map_size"]) * 2
        if size > _MAX_MAP_BYTES:
            raise StoreError(
                f"store has reached {_MAX_MAP_BYTES} bytes",
                where=str(self.folder),
                next_step="seal it and record into a new overlay",
            )
        self._env.set_mapsize(size)

    def _check_access(self) -> None:
        if self.access is Access.SEALED and not self.marker.sealed:
            raise StoreError(
                "store is not sealed",
                where=str(self.folder),
                expected="a sealed store",
                next_step="seal it first, or open it for writing",
            )
        if self.access is not Access.SEALED and self.marker.sealed:
            raise StoreError(
                "store is sealed and cannot be opened for writing",
                where=str(self.folder),
                expected="a writable store",
                next_step="create an overlay for new answers",
            )

    def _check_usable(self) -> None:
        if isinstance(self._local, _Refused):
            _ = self._local.view

    def _open_databases(self) -> dict[str, Any]:
        try:
            create = self.access is Access.WRITER
            return {
                name: self._env.open_db(name.encode(), create=create, dupsort=name in DUPSORT)
                for name in DATABASES
            }
        except lmdb.Error as error:
            self._env.close()
            raise self._explain(error) from None

    def _check_format(self) -> None:
        """Hold the data file to what its marker says. Errors: FormatError when it names another format."""
        with self._env.begin(db=self._handles["meta"]) as transaction:
            told = [(row, transaction.get(row)) for row, _ in format_rows()]
        if told != format_rows():
            self._env.close()
            raise FormatError(
                "data file and marker name different formats",
                where=str(self.folder),
                expected=f"format {self.marker.format_version}, engine {self.marker.engine!r} in both",
                next_step="delete the store and thaw its archive again",
            )

    def _explain(self, error: lmdb.Error) -> ReplayError:
        # A sealed file asks nothing of disk or locks: what LMDB minds about it is its pages.
        if self.is_sealed or isinstance(error, _DAMAGE):
            return DamagedError(
                f"store is damaged: {error}",
                where=str(self.folder),
                expected="whole LMDB pages",
                next_step="delete the store and thaw its archive again",
            )
        return StoreError(
            f"store cannot be used: {error}",
            where=str(self.folder),
            next_step="check free space, file size limits and rights; what was stored before is untouched",
        )


def _refuse_after_fork(environment: Environment) -> None:
    """Make the environment refuse itself in forked children, as long as it lives."""
    reference = weakref.ref(environment)

    def refuse() -> None:
        forked = reference()
        if forked is not None:
            forked.refuse_in_child()

    os.register_at_fork(after_in_child=refuse)
