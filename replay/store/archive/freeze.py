"""Freezing: rows and snapshots -> one archive file whose bytes depend on nothing but the content.

Rows are sorted here, so the order of insertion cannot matter; no clock, path, user or locale is read.
Archives are written beside their place and renamed, so a full disk or Ctrl-C leaves nothing half written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import msgspec
import zstandard

from replay import __version__
from replay.core.errors import InputError
from replay.core.types import Json, Snapshot, SnapshotKind
from replay.store.archive.atomic import open_spool, write_whole
from replay.store.archive.container import end_blocks, make_header, padding
from replay.store.archive.documents import encode_sums, write_readme
from replay.store.archive.manifest import (
    MAX_TABLES,
    ArchiveFacts,
    ArchiveManifest,
    TableFacts,
    check_facts,
    encode_manifest,
    stored_facts,
)
from replay.store.archive.merkle import archive_root
from replay.store.archive.rows import SNAPSHOT_TABLES, TABLE_NAME, Row, encode_row, encode_snapshot
from replay.store.archive.tables import TableWriter

__all__ = ["ArchiveContent", "RowStore", "freeze", "freeze_store"]

_COPY_BYTES: Final = 1 << 20

Line = tuple[Row, bytes]
"""One checked row and the bytes of its line."""


@dataclass(frozen=True, kw_only=True)
class ArchiveContent:
    """Everything that goes into an archive, in any order."""

    facts: ArchiveFacts
    tables: Mapping[str, Iterable[tuple[str, bytes]]] = field(default_factory=dict)
    """Table name to (id, canonical JSON record)."""
    snapshots: Iterable[Snapshot] = ()


class RowStore(Protocol):
    """What freezing needs of a store: rows and snapshots, sorted."""

    @property
    def meta(self) -> Mapping[str, Json]:
        """What is stored about the store."""
        ...

    def tables(self) -> tuple[str, ...]:
        """Names of all tables that have rows."""
        ...

    def table(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Rows of a table sorted by id."""
        ...

    def scan(self, kind: SnapshotKind | None = None) -> Iterator[Snapshot]:
        """Snapshots sorted by (kind, key, sequence)."""
        ...


def freeze(content: ArchiveContent, path: Path, *, overwrite: bool = False) -> ArchiveManifest:
    """Write an archive; equal content gives equal bytes.

    Errors: InputError for rows, ids, keys or statements that are wrong, or when other bytes are already at
    `path`; LimitError for what is too large; StoreError when the disk is full or read-only.
    """
    tables: dict[str, Iterable[Line]] = {
        name: sorted(_table_lines(name, rows), key=_order) for name, rows in content.tables.items()
    }
    tables |= _sorted_snapshots(content.snapshots)
    return _freeze_sorted(content.facts, tables, path, overwrite=overwrite)


def freeze_store(
    store: RowStore, path: Path, *, facts: ArchiveFacts | None = None, overwrite: bool = False
) -> ArchiveManifest:
    """Write a store's rows and snapshots as an archive, holding one frame at a time.

    A store that was thawed carries the facts of its archive, and freezing it again gives that archive back
    byte for byte; other facts can be given.
    Errors: those of `freeze`; InputError when the store carries no facts and none are given.
    """
    tables: dict[str, Iterable[Line]] = {
        name: _table_lines(name, store.table(name)) for name in store.tables()
    }
    for name, kind in SNAPSHOT_TABLES.items():
        tables[name] = map(encode_snapshot, store.scan(kind))
    return _freeze_sorted(facts or stored_facts(store.meta), tables, path, overwrite=overwrite)


def _freeze_sorted(
    facts: ArchiveFacts,
    tables: Mapping[str, Iterable[Line]],
    path: Path,
    *,
    overwrite: bool,
) -> ArchiveManifest:
    """Write an archive from tables whose lines come sorted, holding one frame at a time.

    Errors: those of `freeze`; InputError also for rows that are not sorted.
    """
    facts = check_facts(_completed(facts))
    if len(tables) > MAX_TABLES:
        raise InputError(f"{len(tables)} tables", where=path.name, expected=f"at most {MAX_TABLES}")
    with write_whole(path, overwrite=overwrite) as file, open_spool(path) as spool:
        written = [_write_table(name, tables[name], spool) for name in sorted(tables)]
        manifest = _make_manifest(facts, [table for table in written if table is not None])
        _write_container(manifest, spool, file)
    return manifest


def _table_lines(table: str, rows: Iterable[tuple[str, bytes]]) -> Iterator[Line]:
    """Check rows of a plain table and build their lines. Errors: InputError or LimitError naming the row."""
    if not TABLE_NAME.fullmatch(table) or table in SNAPSHOT_TABLES:
        raise InputError(
            f"table name {table!r}",
            expected="a lower-case letter, then up to 31 letters, digits or '-'; not one of "
            + ", ".join(SNAPSHOT_TABLES),
        )
    for row_id, record in rows:
        yield encode_row(row_id, record, table=table)


def _sorted_snapshots(snapshots: Iterable[Snapshot]) -> dict[str, Iterable[Line]]:
    by_kind: dict[str, list[Line]] = {name: [] for name in SNAPSHOT_TABLES}
    for snapshot in snapshots:
        row, line = encode_snapshot(snapshot)
        # The decoded snapshot is let go: a sort holds the bytes of its lines and little more.
        by_kind[f"snapshots-{snapshot.kind.value}"].append((Row(row.order, row.id, line), line))
    for lines in by_kind.values():
        lines.sort(key=_order)
    return dict(by_kind)


def _order(line: Line) -> tuple[tuple[str, int], bytes]:
    return line[0].order, line[1]


def _completed(facts: ArchiveFacts) -> ArchiveFacts:
    """Sort the sources; name the tools when content is frozen for the first time."""
    library = ".".join(map(str, zstandard.ZSTD_VERSION))
    return msgspec.structs.replace(
        facts,
        sources=tuple(sorted(facts.sources, key=lambda source: source.path)),
        tool_versions=facts.tool_versions or {"replay-bench": __version__, "libzstd": library},
    )


def _write_table(name: str, lines: Iterable[Line], spool: BinaryIO) -> TableFacts | None:
    writer = TableWriter(name, spool)
    for row, line in lines:
        writer.add(row, line)
    return writer.finish()


def _make_manifest(facts: ArchiveFacts, tables: list[TableFacts]) -> ArchiveManifest:
    stated = {name: getattr(facts, name) for name in ArchiveFacts.__struct_fields__}
    roots = [(table.name, table.rows, bytes.fromhex(table.rows_merkle_root)) for table in tables]
    return ArchiveManifest(
        **stated,
        root=archive_root(facts.bases, roots),
        tables=tuple(tables),
    )


def _write_container(manifest: ArchiveManifest, spool: BinaryIO, file: BinaryIO) -> None:
    manifest_bytes = encode_manifest(manifest)
    manifest_sha256 = hashlib.sha256(manifest_bytes).hexdigest()
    readme = write_readme(manifest, manifest_sha256)
    digests = {
        "README.txt": hashlib.sha256(readme).hexdigest(),
        "manifest.json": manifest_sha256,
        **{table.member: table.file_sha256 for table in manifest.tables},
    }
    _write_member(file, "README.txt", readme)
    _write_member(file, "manifest.json", manifest_bytes)
    _write_member(file, "SHA256SUMS", encode_sums(digests))
    spool.seek(0)
    for table in manifest.tables:
        file.write(make_header(table.member, table.file_bytes))
        _copy(spool, file, table.file_bytes)
        file.write(padding(table.file_bytes))
    file.write(end_blocks())


def _write_member(file: BinaryIO, name: str, data: bytes) -> None:
    file.write(make_header(name, len(data)))
    file.write(data)
    file.write(padding(len(data)))


def _copy(source: BinaryIO, target: BinaryIO, size: int) -> None:
    """Copy exactly this many bytes from where both files stand."""
    while size:
        data = source.read(min(size, _COPY_BYTES))
        target.write(data)
        size -= len(data)
