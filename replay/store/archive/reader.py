"""ArchiveReader: the checked, streaming view of one archive file.

Opening reads headers, manifest and SHA256SUMS, all bounded; rows are decompressed and proven as they are
asked for. No path is ever taken from an archive, and nothing is unpacked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from replay.core.errors import DamagedError
from replay.core.types import Digest, Record, Snapshot, SnapshotKind
from replay.store.archive.container import Member, open_archive, read_layout
from replay.store.archive.manifest import ArchiveManifest
from replay.store.archive.rows import SNAPSHOT_TABLES, Row
from replay.store.archive.tables import TableReader
from replay.store.archive.verify import VerifyReport, verify_archive
from replay.store.archive.witnesses import Documents, expected_members, load_documents, load_manifest

__all__ = ["ArchiveReader", "Listing", "TableListing", "read_manifest"]


class TableListing(Record, frozen=True, kw_only=True):
    """One line of an archive's table of contents."""

    name: str
    rows: int
    content_bytes: int
    file_bytes: int


class Listing(Record, frozen=True, kw_only=True):
    """An archive's table of contents."""

    name: str
    version: str
    benchmark: str
    root: Digest
    bases: tuple[Digest, ...]
    licences: dict[str, str]
    sources: int
    """How many upstream files are named as sources."""
    file_bytes: int
    tables: tuple[TableListing, ...]


class ArchiveReader:
    """Reads one archive; a context manager. Not for use from several threads at once."""

    def __init__(self, path: Path) -> None:
        """Open the file; check its layout and hold its documents against each other.

        Errors: InputError when it is no archive; DamagedError, NewerFormatError or LimitError for what it is.
        """
        self.path = path
        self._file = open_archive(path)
        try:
            members = read_layout(self._file)
            self.manifest = _believed(load_documents(self._file, members))
            self._members = _check_members(members, self.manifest)
        except BaseException:
            self._file.close()
            raise

    def rows(self, table: str) -> Iterator[tuple[str, bytes]]:
        """Iterate over (id, canonical record) of a table; nothing when the archive has no such table.

        Errors: DamagedError or LimitError naming member and row.
        """
        for row in self.checked_rows(table):
            yield row.id, row.record

    def snapshots(self, kind: SnapshotKind | None = None) -> Iterator[Snapshot]:
        """Iterate over snapshots of one kind or of all, sorted by (kind, key, sequence).

        Errors: DamagedError or LimitError naming member and row.
        """
        for name, each in SNAPSHOT_TABLES.items():
            if kind is None or kind is each:
                for row in self.checked_rows(name):
                    yield row.snapshot

    def checked_rows(self, table: str) -> Iterator[Row]:
        """Iterate over the checked rows of any table, snapshots too."""
        facts = self.manifest.table(table)
        if facts is not None:
            yield from TableReader(facts, self._file, self._members[facts.member]).rows()

    def verify(self, sample: float | None = None) -> VerifyReport:
        """Verify the whole file, or a share of its frames; see `verify_archive`."""
        return verify_archive(self.path, sample=sample)

    def listing(self) -> Listing:
        """Return the table of contents."""
        manifest = self.manifest
        return Listing(
            name=manifest.name,
            version=manifest.version,
            benchmark=manifest.benchmark,
            root=manifest.root,
            bases=manifest.bases,
            licences=manifest.licences,
            sources=len(manifest.sources),
            file_bytes=self.path.stat().st_size,
            tables=tuple(
                TableListing(
                    name=table.name,
                    rows=table.rows,
                    content_bytes=table.content_bytes,
                    file_bytes=table.file_bytes,
                )
                for table in manifest.tables
            ),
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_manifest(path: Path) -> ArchiveManifest:
    """Read only the manifest: a few kilobytes whatever the size of the archive.

    Errors: InputError when it is no archive; DamagedError, NewerFormatError or LimitError for what it is.
    """
    with open_archive(path) as file:
        manifest, _ = load_manifest(file)
    return manifest


def _believed(documents: Documents) -> ArchiveManifest:
    """Return the manifest when all three documents are sound. Errors: DamagedError at the first fault."""
    if documents.manifest is None or documents.findings:
        finding = documents.findings[0]
        raise DamagedError(
            finding.what,
            where=finding.member + (f", {finding.record}" if finding.record else ""),
            next_step="name all damage with: replay archive verify",
        )
    return documents.manifest


def _check_members(members: tuple[Member, ...], manifest: ArchiveManifest) -> dict[str, Member]:
    """Hold the layout against the manifest: the same members, in order, with the sizes that are stated."""
    found = [(member.name, member.size) for member in members]
    expected = expected_members(manifest)
    for at in range(max(len(found), len(expected))):
        ours, theirs = found[at : at + 1], expected[at : at + 1]
        if [n for n, _ in ours] != [n for n, _ in theirs] or theirs[0][1] not in {None, ours[0][1]}:
            raise DamagedError(
                f"member {at + 1} of the file is {ours[0] if ours else 'missing'}",
                where=(ours or theirs)[0][0],
                expected=f"{theirs[0] if theirs else 'no such member'}, as the manifest says",
                next_step="name all damage with: replay archive verify",
            )
    return {member.name: member for member in members}
