"""What the command line asks of archives: one call each, so that it never reaches into the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from replay.core.canonical import parse_json
from replay.core.errors import InputError
from replay.core.types import Key, Record, SnapshotKind
from replay.store.archive.diff import ArchiveDiff, diff
from replay.store.archive.manifest import ArchiveManifest
from replay.store.archive.reader import ArchiveReader, Listing
from replay.store.archive.thaw import thaw
from replay.store.archive.verify import VerifyReport, verify_archive
from replay.store.signing import SignatureReport, check_signatures
from replay.wiring.library import find_archive
from replay.wiring.places import shipped_archives
from replay.wiring.recomputing import Recomputed, recompute
from replay.wiring.requests import FINDER

__all__ = [
    "CheckedArchive",
    "Listing",
    "check_archive",
    "compare_archives",
    "list_rows",
    "list_shipped",
    "list_tables",
    "recompute_archive",
    "thaw_archive",
]


_DIFFERENCES = "differences"
_TOLD = ("source", "what", "why")
"""What a known difference says: where upstream does it, what it does, and why strict does not."""


class CheckedArchive(Record, frozen=True, kw_only=True):
    """What a check of an archive and, where keys were given, of its signatures found."""

    report: VerifyReport
    signatures: SignatureReport | None
    answers: Recomputed | None = None
    """Generated answers that were computed again; None when that was not asked for."""

    @property
    def exit_code(self) -> int:
        """0, 5 when damaged, 8 when an answer came out differently, 1 when not signed as asked."""
        if not self.report.ok:
            return 5
        if self.answers is not None and self.answers.differ:
            return 8
        return 0 if self.signatures is None or self.signatures.valid else 1


def check_archive(path: Path, *, sample: float | None = None, keys: tuple[Path, ...] = ()) -> CheckedArchive:
    """Verify an archive whole or by a sample, and its signatures against public keys."""
    report = verify_archive(path, sample=sample)
    signatures = check_signatures(path, keys, root=report.root) if keys else None
    return CheckedArchive(report=report, signatures=signatures)


def recompute_archive(
    checked: CheckedArchive,
    path: Path,
    *,
    sample: float | None = None,
    home: Path | None = None,
    finder: str = FINDER,
    progress: Callable[[int, int], None] | None = None,
) -> CheckedArchive:
    """Compute the archive's generated answers again, all or a share of them, where a model of theirs is here.

    A damaged archive is left as it is: what its answers should be is not known.
    Errors:  those of reading the archive; DamagedError for a recorded request that is none.
    """
    if not checked.report.ok:
        return checked
    with ArchiveReader(path) as reader:
        chosen = [snap for snap in reader.snapshots(SnapshotKind.COMPLETION) if _is_in(snap.key, sample)]
    return replace(checked, answers=recompute(chosen, finder=finder, home=home, progress=progress))


def _is_in(key: Key, sample: float | None) -> bool:
    """Choose by the key itself: the same share of the same archive is the same answers everywhere."""
    return sample is None or int(key.removeprefix("sha256:")[:8], 16) < sample * 2**32


def compare_archives(left: Path, right: Path) -> ArchiveDiff:
    """Compare two archives item by item."""
    return diff(left, right)


def thaw_archive(archive: Path, store: Path) -> ArchiveManifest:
    """Build a sealed store from an archive."""
    return thaw(archive, store)


def list_shipped() -> Iterator[tuple[str, Listing]]:
    """List the shipped archives with the name each is called by."""
    for path in shipped_archives():
        with ArchiveReader(path) as reader:
            yield path.stem, reader.listing()


def list_tables(reference: str) -> Listing:
    """List what one archive holds."""
    with ArchiveReader(find_archive(reference)) as reader:
        return reader.listing()


def list_rows(reference: str, table: str) -> Iterator[dict[str, str]]:
    """List the row ids of one table, and what a known difference says.

    Shape:   `id`; for a row of `differences` also its `source`, `what` and `why`.
    Errors:  InputError listing the tables there are.
    """
    with ArchiveReader(find_archive(reference)) as reader:
        if reader.manifest.table(table) is None:
            known = ", ".join(reader.manifest.counts)
            raise InputError(f"no table {table!r}", where=reference, expected=f"one of: {known}")
        for row in reader.checked_rows(table):
            told = parse_json(row.record, where=f"{table} {row.id}") if table == _DIFFERENCES else {}
            said = ((name, told.get(name)) for name in _TOLD)
            yield {"id": row.id, **{name: text for name, text in said if isinstance(text, str)}}
