"""Opening archives: a name or a path becomes a verified, sealed store.

The first use of an archive thaws it into a store named by its root; later uses open that store. A store is
never trusted from outside: it is built here, from an archive that was verified on the way.
"""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from replay.core.determinism import temporary_name
from replay.core.errors import DamagedError, FormatError, InputError, StoreError
from replay.core.protocols import KnownDifference, Settings
from replay.core.types import Digest, Json, Output, Record, Task, ToolSpec
from replay.store.archive.manifest import ArchiveManifest
from replay.store.archive.reader import read_manifest
from replay.store.archive.thaw import thaw
from replay.store.layers import LayeredStore
from replay.store.marker import DATA_NAME, file_digest, read_marker
from replay.store.snapshots import SnapshotStore
from replay.wiring.places import data_home, shipped_archives

__all__ = [
    "CandidateRow",
    "JudgeRow",
    "Library",
    "LibraryPaths",
    "RoleRow",
    "find_archive",
    "locate_stores",
    "open_library",
]

_Row = TypeVar("_Row", bound=Record)


class CandidateRow(Record, frozen=True, kw_only=True):
    """One candidate whose completions are in an archive (table `candidates`, id = name)."""

    name: str
    identity: Json
    protocol: str = ""
    seed: int = 0
    options: Json = None
    rules: str = "compat"

    @property
    def settings(self) -> Settings:
        """What it was recorded with."""
        return Settings(protocol=self.protocol, rules=self.rules, options=self.options, seed=self.seed)


class JudgeRow(Record, frozen=True, kw_only=True):
    """One judge whose verdicts are in an archive (table `judges`, id = name)."""

    name: str
    identity: Json
    note: str = ""


class RoleRow(Record, frozen=True, kw_only=True):
    """One model whose answers in a role are in an archive, in a table of the role; id = name."""

    name: str
    identity: Json
    """Identity in the role: the model's, and what the role adds."""


class LibraryPaths(Record, frozen=True, kw_only=True):
    """What another process needs to open the same archives: sealed stores by path, the top layer first."""

    stores: tuple[str, ...]
    root: Digest
    name: str
    version: str
    benchmark: str


class Library:
    """The content of one archive with its base layers, ready to be read."""

    def __init__(self, paths: LibraryPaths, store: LayeredStore) -> None:
        """Keep where it came from and the opened layers."""
        self.paths = paths
        self.store = store

    @property
    def label(self) -> str:
        """Name and version, as shown to people."""
        return f"{self.paths.name} {self.paths.version}"

    def tasks(self) -> tuple[Task, ...]:
        """All tasks, sorted by id."""
        return tuple(self._rows("tasks", Task))

    def tools(self) -> dict[Digest, ToolSpec]:
        """All tool specs by digest."""
        return {
            Digest(name): self._decode("tools", name, row, ToolSpec)
            for name, row in self.store.table("tools")
        }

    def candidates(self) -> dict[str, CandidateRow]:
        """Recorded candidates by name."""
        return {row.name: row for row in self._rows("candidates", CandidateRow)}

    def judges(self) -> dict[str, JudgeRow]:
        """Recorded judges by name."""
        return {row.name: row for row in self._rows("judges", JudgeRow)}

    def roles(self, table: str) -> dict[str, RoleRow]:
        """Models in a role by name; `table` is simulators, users or judge-models."""
        return {row.name: row for row in self._rows(table, RoleRow)}

    def differences(self) -> tuple[KnownDifference, ...]:
        """Differences that were frozen with the archive."""
        return tuple(self._rows("differences", KnownDifference))

    def outputs(self, candidate: str) -> tuple[Output, ...]:
        """Outputs of one candidate that the archive holds, sorted by id."""
        prefix = f"{candidate}/"
        return tuple(
            self._decode("outputs", name, row, Output)
            for name, row in self.store.table("outputs")
            if name.startswith(prefix)
        )

    def output_candidates(self) -> tuple[str, ...]:
        """Names of candidates with outputs in the archive."""
        return tuple(sorted({name.partition("/")[0] for name, _ in self.store.table("outputs")}))

    def document(self, table: str, name: str) -> Json:
        """One free JSON row, or None."""
        row = self.store.row(table, name)
        return None if row is None else msgspec.json.decode(row)

    def _rows(self, table: str, shape: type[_Row]) -> Iterator[_Row]:
        for name, row in self.store.table(table):
            yield self._decode(table, name, row, shape)

    def _decode(self, table: str, name: str, row: bytes, shape: type[_Row]) -> _Row:
        try:
            return msgspec.json.decode(row, type=shape)
        except msgspec.DecodeError as error:
            raise DamagedError(
                f"row {name!r} is not a {shape.__name__}: {error}",
                where=f"archive {self.label}, table {table}",
                expected="a record of this program's format",
                next_step="freeze the archive again with this version, or use the version that made it",
            ) from None


def find_archive(reference: str) -> Path:
    """Resolve a path, or the name of a shipped archive or of its benchmark, to an archive file.

    Errors:  InputError listing the shipped names and the closest of them.
    """
    path = Path(reference)
    if path.suffix == ".replay" or path.exists():
        return path
    shipped = {file.stem: file for file in shipped_archives()}
    if reference in shipped:
        return shipped[reference]
    named = [
        file
        for file in shipped.values()
        if reference in ((manifest := read_manifest(file)).name, manifest.benchmark)
    ]
    if len(named) == 1:
        return named[0]
    close = difflib.get_close_matches(reference, shipped, n=1)
    raise InputError(
        f"no archive {reference!r}" if not named else f"{reference!r} names {len(named)} archives",
        expected=f"a path to a .replay file, or one of: {', '.join(sorted(shipped)) or '(none shipped)'}",
        next_step=f"did you mean {close[0]}?" if close else "replay archive list",
    )


def locate_stores(
    archive: Path, *, home: Path | None = None, bases: Sequence[Path] = ()
) -> tuple[LibraryPaths, ArchiveManifest]:
    """Thaw an archive and its base layers where needed and say where the sealed stores are.

    Base archives are looked for by root among `bases`, beside the archive, and among the shipped ones.

    Errors:  DamagedError and its kin for a bad archive; InputError naming a base that is not to be had.
    """
    manifest = read_manifest(archive)
    if bases and not manifest.bases:
        raise InputError(
            f"{', '.join(base.name for base in bases)} was named as a base of an archive that stands alone",
            where=archive.name,
            next_step="leave out --base",
        )
    known = {} if not manifest.bases else _by_root(bases, (*_neighbours(archive), *shipped_archives()))
    layers: list[Path] = []
    for root in manifest.bases:
        if root not in known:
            raise InputError(
                f"base archive {root} is not here",
                where=archive.name,
                expected="the archive with that root beside this one",
                next_step="copy it beside this archive, or name it with --base",
            )
        layers.append(_sealed_store(known[root], root, home))
    layers.append(_sealed_store(archive, manifest.root, home))
    paths = LibraryPaths(
        # The top layer first: it may correct a row of a layer below.
        stores=tuple(str(layer) for layer in reversed(layers)),
        root=manifest.root,
        name=manifest.name,
        version=manifest.version,
        benchmark=manifest.benchmark,
    )
    return paths, manifest


@contextmanager
def open_library(paths: LibraryPaths) -> Iterator[Library]:
    """Open the sealed stores of an archive for reading; each process opens its own."""
    with ExitStack() as stack:
        frozen = [stack.enter_context(SnapshotStore.open_sealed(Path(path))) for path in paths.stores]
        yield Library(paths, LayeredStore(frozen, None))


def _sealed_store(archive: Path, root: Digest, home: Path | None) -> Path:
    """The sealed store of an archive: the one that is there if it is whole, else thawed anew.

    Stores are rebuildable, so one that another version wrote, or that a disk damaged, is no reason to stop.
    """
    store = data_home(home) / "stores" / root.removeprefix("sha256:")
    if store.exists() and not _is_whole(store):
        aside = store.with_name(temporary_name(store.name))
        store.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
    if store.exists():
        return store
    try:
        found = thaw(archive, store).root
    except StoreError:
        # Another process that uses the same home may have thawed it meanwhile.
        if store.exists() and _is_whole(store):
            return store
        raise
    if found != root:
        raise DamagedError(f"archive root {found}", where=archive.name, expected=f"the base root {root}")
    return store


def _is_whole(store: Path) -> bool:
    """Hash a sealed store and open it: LMDB must never walk a page that is not as it was written."""
    try:
        if file_digest(store / DATA_NAME) != read_marker(store).digest:
            return False
        SnapshotStore.open_sealed(store).close()
    except (FormatError, OSError):
        return False
    except StoreError:
        # Already open in this process: it was whole when it was opened.
        return True
    return True


def _neighbours(archive: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in archive.parent.glob("*.replay") if path != archive))


def _by_root(named: Sequence[Path], around: Sequence[Path]) -> dict[Digest, Path]:
    """Archives by root, the first of each. What only lies around and cannot be read is no base of anything.

    Errors:  those of reading an archive that was named.
    """
    found: dict[Digest, Path] = {}
    for path in reversed(around):
        with suppress(FormatError, InputError):
            found[read_manifest(path).root] = path
    return found | {read_manifest(path).root: path for path in reversed(named)}
