"""Layers: an archive that names base archives by root, and what all of them hold together.

Bases are looked for only among the files a caller gives; nothing is fetched, and no file name is believed: a
base is the archive whose rows hash to the root that is asked for. Where two layers hold one id, the upper
one is right, so a delta can correct a row; it cannot take one away.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from replay.core.errors import InputError
from replay.core.types import Digest, Snapshot, SnapshotKind
from replay.store.archive.freeze import ArchiveContent
from replay.store.archive.reader import ArchiveReader, read_manifest
from replay.store.archive.rows import SNAPSHOT_TABLES, Row, encode_snapshot

__all__ = ["LayeredReader", "delta", "resolve_bases"]


class LayeredReader:
    """Reads an archive together with its bases; a context manager."""

    def __init__(self, path: Path, candidates: Iterable[Path] = ()) -> None:
        """Open the archive and find its bases among `candidates`.

        Errors: InputError naming the root that is missing and the roots that were given; those of reading.
        """
        self._stack = ExitStack()
        self._layers: tuple[ArchiveReader, ...] = ()
        try:
            layers = (path, *reversed(resolve_bases(path, candidates)))
            self._layers = tuple(self._stack.enter_context(ArchiveReader(layer)) for layer in layers)
        except BaseException:
            self._stack.close()
            raise

    @property
    def roots(self) -> tuple[Digest, ...]:
        """Roots of all layers, the upper one first: together they are the identity of the content."""
        return tuple(layer.manifest.root for layer in self._layers)

    def tables(self) -> tuple[str, ...]:
        """Names of the plain tables of all layers, sorted."""
        names = {name for layer in self._layers for name in layer.manifest.counts}
        return tuple(sorted(names - SNAPSHOT_TABLES.keys()))

    def rows(self, table: str) -> Iterator[tuple[str, bytes]]:
        """Iterate over (id, canonical record) of a table, each id once."""
        for row in self.checked_rows(table):
            yield row.id, row.record

    def snapshots(self, kind: SnapshotKind | None = None) -> Iterator[Snapshot]:
        """Iterate over snapshots of one kind or of all, each (key, sequence) once."""
        for name, each in SNAPSHOT_TABLES.items():
            if kind is None or kind is each:
                for row in self.checked_rows(name):
                    yield row.snapshot

    def checked_rows(self, table: str) -> Iterator[Row]:
        """Merge the rows of all layers by id; of rows with one id the upper layer's."""
        merged = heapq.merge(*(layer.checked_rows(table) for layer in self._layers), key=_order)
        last: Row | None = None
        # The merge is stable: the upper layer comes first among equals.
        for row in merged:
            if last is None or row.order != last.order:
                yield row
            last = row

    def close(self) -> None:
        """Close all files."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def resolve_bases(path: Path, candidates: Iterable[Path]) -> tuple[Path, ...]:
    """Find the bases of an archive, and theirs, among local files; the lowest first, each once.

    Errors: InputError naming the root that is missing and the roots that were given.
    """
    manifests = {candidate: read_manifest(candidate) for candidate in candidates}
    by_root: dict[Digest, Path] = {}
    for candidate, manifest in manifests.items():
        by_root.setdefault(manifest.root, candidate)
    found: dict[Path, None] = {}

    def visit(above: str, roots: Sequence[Digest]) -> None:
        # A root covers the roots below it, so archives that passed their checks cannot form a circle.
        for root in roots:
            base = by_root.get(root)
            if base is None:
                raise _missing_base(above, root, by_root)
            if base not in found:
                visit(base.name, manifests[base].bases)
                found[base] = None

    visit(path.name, read_manifest(path).bases)
    return tuple(found)


def delta(content: ArchiveContent, bases: Sequence[Path]) -> ArchiveContent:
    """Leave out what the bases already hold, and name them: what remains is frozen as a layer on them.

    Shape:   `bases` are all layers below, the lowest first.
    Errors:  InputError when the bases do not stand on one another, or hold rows that the content does not:
             a layer cannot take a row away.
    """
    facts = msgspec.structs.replace(content.facts, bases=tuple(read_manifest(base).root for base in bases))
    if not bases:
        return ArchiveContent(facts=facts, tables=content.tables, snapshots=content.snapshots)
    below = bases[:-1]
    with LayeredReader(bases[-1], below) as held:
        if len(held.roots) != len(bases):
            raise InputError(
                f"{bases[-1].name} stands on {len(held.roots) - 1} of the {len(below)} bases below it",
                expected="all layers below, the lowest first, and no others",
            )
        kept = {
            name: _unheld_rows(name, content.tables.get(name, ()), held)
            for name in sorted({*held.tables(), *content.tables})
        }
        snapshots = _unheld_snapshots(content.snapshots, held)
    return ArchiveContent(facts=facts, tables=kept, snapshots=snapshots)


def _order(row: Row) -> tuple[str, int]:
    return row.order


def _unheld_rows(
    table: str, rows: Iterable[tuple[str, bytes]], held: LayeredReader
) -> list[tuple[str, bytes]]:
    digests = {row.id: _sha256(row.record) for row in held.checked_rows(table)}
    kept = [(row_id, record) for row_id, record in rows if digests.pop(row_id, None) != _sha256(record)]
    _refuse_removal(table, digests)
    return kept


def _unheld_snapshots(snapshots: Iterable[Snapshot], held: LayeredReader) -> list[Snapshot]:
    digests = {
        (name, row.id): _sha256(row.record) for name in SNAPSHOT_TABLES for row in held.checked_rows(name)
    }
    kept: list[Snapshot] = []
    for snapshot in snapshots:
        row, line = encode_snapshot(snapshot)
        if digests.pop((f"snapshots-{snapshot.kind.value}", row.id), None) != _sha256(line):
            kept.append(snapshot)
    _refuse_removal("snapshots", {row_id: digest for (_, row_id), digest in digests.items()})
    return kept


def _refuse_removal(table: str, left_over: Mapping[str, bytes]) -> None:
    if left_over:
        raise InputError(
            f"{len(left_over)} rows of the bases are not in the content, the first {min(left_over)!r}",
            where=f"table {table}",
            expected="every row of the bases: a layer adds and corrects, it cannot take away",
            next_step="freeze the content whole, without bases",
        )


def _missing_base(above: str, root: Digest, known: Mapping[Digest, Path]) -> InputError:
    given = ", ".join(f"{base.name} is {digest}" for digest, base in sorted(known.items()))
    return InputError(
        f"base archive {root} was not given",
        where=above,
        expected="an archive with that root" + (f"; {given}" if given else ""),
        next_step="give the path of the base archive; nothing is fetched",
    )


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
