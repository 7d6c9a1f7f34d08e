"""Verification of one archive file, full or sampled: every fault is found, named and listed.

Full verification reads every byte: headers, paddings and end marker, the three documents against each other,
every member against its checksums, every row against its form, its order, its key and the Merkle root.
Sampled verification proves a share of the frames against the root and says what it left out.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import BinaryIO, Final

from replay.core.determinism import derive_seed
from replay.core.errors import FormatError, InputError, NewerFormatError
from replay.core.types import Record
from replay.store.archive.container import Member, member_sha256, open_archive, read_layout
from replay.store.archive.manifest import ArchiveManifest, TableFacts
from replay.store.archive.tables import TableReader
from replay.store.archive.witnesses import DOCUMENTS, Finding, expected_members, load_documents

__all__ = ["Finding", "VerifyReport", "verify_archive"]

_SEED_RANGE: Final = 2**31


class VerifyReport(Record, frozen=True, kw_only=True):
    """What a verification covered and found."""

    name: str = ""
    version: str = ""
    root: str = ""
    """Archive root the manifest states: proven when the verification was full and there are no findings."""
    findings: tuple[Finding, ...] = ()
    sample_fraction: float | None = None
    """Share of frames that was asked for; None for a full verification."""
    rows_checked: int = 0
    rows_total: int = 0
    covered: str = ""
    """What was checked, in words."""

    @property
    def ok(self) -> bool:
        """True when nothing is wrong with what was covered."""
        return not self.findings


def verify_archive(path: Path, *, sample: float | None = None) -> VerifyReport:
    """Verify an archive; faults are findings of the report, not errors.

    Units:   `sample` is the share of frames, over 0 and up to 1; the choice depends on the root alone.
    Errors:  InputError when the file cannot be read, is no archive by its first bytes, or `sample` is out of
             range; NewerFormatError for an undamaged archive of a later format.
    """
    if sample is not None and not (math.isfinite(sample) and 0 < sample <= 1):
        raise InputError(f"sample {sample!r}", expected="a share of the archive, over 0 and up to 1")
    with open_archive(path) as file:
        return _Verification(file, sample).run()


class _Verification:
    """One pass over one file."""

    def __init__(self, file: BinaryIO, sample: float | None) -> None:
        self._file = file
        self._sample = sample
        self._findings: list[Finding] = []
        self._checked = 0
        self._frames = 0

    def run(self) -> VerifyReport:
        """Make every check that the ones before it allow."""
        manifest: ArchiveManifest | None = None
        try:
            members = read_layout(self._file)
            documents = load_documents(self._file, members)
            self._findings += documents.findings
            manifest = documents.manifest
            if manifest is not None:
                self._check_members(manifest, members, documents.sums)
            else:
                self._check_sums_only(members, documents.sums)
        except NewerFormatError:
            raise
        except FormatError as error:
            self._findings.append(Finding.from_error(error))
        return self._report(manifest)

    def _check_members(
        self, manifest: ArchiveManifest, members: tuple[Member, ...], sums: dict[str, str] | None
    ) -> None:
        expected = expected_members(manifest)
        found = tuple((member.name, None if member.name in DOCUMENTS else member.size) for member in members)
        for at in range(max(len(found), len(expected))):
            ours, theirs = found[at : at + 1], expected[at : at + 1]
            if ours != theirs:
                self._note_layout(at, ours, theirs)
                return
        for facts, member in zip(manifest.tables, members[len(DOCUMENTS) :], strict=True):
            rows_fine = self._check_rows(manifest, facts, member)
            if self._sample is None:
                self._check_bytes(facts, member, sums, rows_fine=rows_fine)

    def _check_rows(self, manifest: ArchiveManifest, facts: TableFacts, member: Member) -> bool:
        """Check the chosen frames; return whether all of them hold."""
        reader = TableReader(facts, self._file, member)
        content = hashlib.sha256()
        before = len(self._findings)
        last = None
        for index in self._choose(manifest, facts):
            try:
                for row in reader.frame_rows(index, after=last, content=content):
                    self._checked += 1
                    last = row
            except FormatError as error:
                self._findings.append(Finding.from_error(error))
                last = None
            self._frames += 1
        fine = len(self._findings) == before
        if fine and self._sample is None and content.hexdigest() != facts.content_sha256:
            self._note("manifest.json", f"content_sha256 of {facts.name} is not that of its rows")
        return fine

    def _choose(self, manifest: ArchiveManifest, facts: TableFacts) -> list[int]:
        """Choose frames by a seed that is the archive root, at least one a table."""
        frames = range(len(facts.frames))
        if self._sample is None:
            return list(frames)
        seeds = [derive_seed("archive-sample", manifest.root, facts.name, index) for index in frames]
        chosen = [index for index in frames if seeds[index] < self._sample * _SEED_RANGE]
        return chosen or [seeds.index(min(seeds))]

    def _check_bytes(
        self, facts: TableFacts, member: Member, sums: dict[str, str] | None, *, rows_fine: bool
    ) -> None:
        """Hold the stored bytes against manifest and SHA256SUMS; two witnesses outvote one."""
        digest = member_sha256(self._file, member)
        listed = facts.file_sha256 if sums is None else sums.get(member.name)
        if digest == facts.file_sha256:
            if digest != listed:
                self._note("SHA256SUMS", "another SHA-256 than its own", record=member.name)
        elif digest == listed:
            self._note("manifest.json", f"file_sha256 of {member.name} is not that of its bytes")
        elif rows_fine:
            self._note(member.name, "its bytes are not those of SHA256SUMS, though every row is right")

    def _check_sums_only(self, members: tuple[Member, ...], sums: dict[str, str] | None) -> None:
        """Without a manifest there are still checksums."""
        for member in members[len(DOCUMENTS) :]:
            if sums is None or member_sha256(self._file, member) != sums.get(member.name):
                self._note(member.name, "its SHA-256 is not in SHA256SUMS")

    def _note_layout(
        self, at: int, found: tuple[tuple[str, int | None], ...], expected: tuple[tuple[str, int | None], ...]
    ) -> None:
        name = (found or expected)[0][0]
        what = f"member {at + 1} of the file is {_show(found)}; the manifest has {_show(expected)} there"
        self._note(name, what)

    def _note(self, member: str, what: str, *, record: str = "") -> None:
        self._findings.append(Finding(member=member, record=record, what=what))

    def _report(self, manifest: ArchiveManifest | None) -> VerifyReport:
        if manifest is None:
            return VerifyReport(
                findings=tuple(self._findings),
                sample_fraction=self._sample,
                covered="headers, checksums; no rows, because the manifest cannot be believed",
            )
        rows = sum(table.rows for table in manifest.tables)
        frames = sum(len(table.frames) for table in manifest.tables)
        share = f"{self._frames} of {frames} frames ({self._checked} of {rows} rows)"
        covered = (
            f"headers, manifest, checksums of the documents, and {share}, chosen by the archive root; "
            "checksums of the table members were not computed"
            if self._sample is not None
            else f"every byte of the file and {share}"
        )
        return VerifyReport(
            name=manifest.name,
            version=manifest.version,
            root=manifest.root,
            findings=tuple(self._findings),
            sample_fraction=self._sample,
            rows_checked=self._checked,
            rows_total=rows,
            covered=covered,
        )


def _show(members: tuple[tuple[str, int | None], ...]) -> str:
    if not members:
        return "nothing"
    name, size = members[0]
    return name if size is None else f"{name} of {size} bytes"
