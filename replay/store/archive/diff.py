"""What differs between two archives, item by item: ids, digests and the first differing JSON path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from replay.core.jsonpath import join_path
from replay.core.types import Digest, Json, Record
from replay.store.archive.manifest import ArchiveFacts, ArchiveManifest
from replay.store.archive.reader import ArchiveReader
from replay.store.archive.rows import Row, record_digest

__all__ = ["ADDED", "CHANGED", "REMOVED", "ArchiveDiff", "ItemDifference", "diff", "iter_differences"]

ADDED: Final = "added"
REMOVED: Final = "removed"
CHANGED: Final = "changed"


class ItemDifference(Record, frozen=True, kw_only=True):
    """One row that only one archive has, or that differs."""

    table: str
    id: str
    change: str
    """added, removed or changed, going from the left archive to the right one."""
    left: Digest | None = None
    """Plain SHA-256 of the left record's canonical bytes; None when there is none."""
    right: Digest | None = None
    path: str = ""
    """First JSON path on which a changed record differs."""


class ArchiveDiff(Record, frozen=True, kw_only=True):
    """Everything that differs between two archives."""

    left_root: Digest
    right_root: Digest
    facts: tuple[str, ...] = ()
    """Manifest statements that differ, by field name; they are not covered by the roots."""
    items: tuple[ItemDifference, ...] = ()

    @property
    def is_same(self) -> bool:
        """True when rows, bases and statements are all equal."""
        return self.left_root == self.right_root and not self.facts and not self.items


def diff(left: Path, right: Path) -> ArchiveDiff:
    """Compare two archives. Errors: those of reading either, naming member and row."""
    with ArchiveReader(left) as a, ArchiveReader(right) as b:
        return ArchiveDiff(
            left_root=a.manifest.root,
            right_root=b.manifest.root,
            facts=_differing_facts(a.manifest, b.manifest),
            items=tuple(iter_differences(a, b)),
        )


def iter_differences(left: ArchiveReader, right: ArchiveReader) -> Iterator[ItemDifference]:
    """Iterate over differing rows, by table and id; tables with one Merkle root are not read."""
    for table in sorted({*left.manifest.counts, *right.manifest.counts}):
        ours, theirs = left.manifest.table(table), right.manifest.table(table)
        if ours and theirs and ours.rows_merkle_root == theirs.rows_merkle_root:
            continue
        yield from _table_differences(table, left.checked_rows(table), right.checked_rows(table))


def _differing_facts(left: ArchiveManifest, right: ArchiveManifest) -> tuple[str, ...]:
    names = sorted(ArchiveFacts.__struct_fields__)
    return tuple(name for name in names if getattr(left, name) != getattr(right, name))


def _table_differences(table: str, left: Iterator[Row], right: Iterator[Row]) -> Iterator[ItemDifference]:
    """Merge two sorted runs of rows."""
    ours, theirs = next(left, None), next(right, None)
    while ours is not None or theirs is not None:
        if theirs is None or (ours is not None and ours.order < theirs.order):
            assert ours is not None  # the loop ends when both are
            yield ItemDifference(table=table, id=ours.id, change=REMOVED, left=record_digest(ours.record))
            ours = next(left, None)
        elif ours is None or theirs.order < ours.order:
            yield ItemDifference(table=table, id=theirs.id, change=ADDED, right=record_digest(theirs.record))
            theirs = next(right, None)
        else:
            if ours.record != theirs.record:
                yield _changed(table, ours, theirs)
            ours, theirs = next(left, None), next(right, None)


def _changed(table: str, ours: Row, theirs: Row) -> ItemDifference:
    return ItemDifference(
        table=table,
        id=ours.id,
        change=CHANGED,
        left=record_digest(ours.record),
        right=record_digest(theirs.record),
        path=_first_path(msgspec.json.decode(ours.record), msgspec.json.decode(theirs.record)),
    )


def _first_path(left: Json, right: Json) -> str:
    """Path of the first difference, names in sorted order; both values were read from canonical rows."""
    steps: list[str | int] = []
    while True:
        if isinstance(left, dict) and isinstance(right, dict):
            step: str | int = next(
                name
                for name in sorted(left.keys() | right.keys())
                if name not in left or name not in right or left[name] != right[name]
            )
            ended = step not in left or step not in right
        elif isinstance(left, list) and isinstance(right, list):
            shared = min(len(left), len(right))
            step = next((at for at in range(shared) if left[at] != right[at]), shared)
            ended = step == shared
        else:
            return join_path(steps)
        steps.append(step)
        if ended:
            return join_path(steps)
        left, right = left[step], right[step]
