"""README.txt, manifest.json and SHA256SUMS held against each other: which of the three is the damaged one.

Each states something about the others, so one changed byte leaves two witnesses against it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import zip_longest
from typing import BinaryIO, Final

from replay.core.errors import DamagedError, FormatError
from replay.core.types import Record
from replay.store.archive.container import Member, read_bytes, read_layout
from replay.store.archive.documents import (
    MAX_README_BYTES,
    MAX_SUMS_BYTES,
    decode_sums,
    manifest_witness,
    write_readme,
)
from replay.store.archive.manifest import MAX_MANIFEST_BYTES, ArchiveManifest, decode_manifest

__all__ = ["DOCUMENTS", "Documents", "Finding", "expected_members", "load_documents", "load_manifest"]

DOCUMENTS: Final = ("README.txt", "manifest.json", "SHA256SUMS")


class Finding(Record, frozen=True, kw_only=True):
    """One fault of an archive."""

    member: str
    """Member it is in, or the place in the file when no member can be named."""
    record: str = ""
    """Row or rows it is in, when that can be told."""
    what: str

    @classmethod
    def from_error(cls, error: FormatError) -> Finding:
        """Turn an error of the readers into a finding; their `where` begins with the member."""
        member, _, record = error.where.partition(", ")
        what = f"{error.what}; expected {error.expected}" if error.expected else error.what
        return cls(member=member, record=record, what=what)


class Documents(Record, frozen=True, kw_only=True):
    """What the three documents say, and their faults."""

    manifest: ArchiveManifest | None
    """None when it cannot be believed."""
    sums: dict[str, str] | None
    """SHA256SUMS; None when it cannot be read."""
    findings: tuple[Finding, ...] = ()


def load_manifest(file: BinaryIO) -> tuple[ArchiveManifest, dict[str, str]]:
    """Read manifest and SHA256SUMS from the head of an archive and hold them against each other.

    Errors: DamagedError, NewerFormatError or LimitError at the first fault.
    """
    members = read_layout(file, limit=len(DOCUMENTS))
    _check_names(members)
    data = read_bytes(file, members[1], limit=MAX_MANIFEST_BYTES)
    sums = decode_sums(read_bytes(file, members[2], limit=MAX_SUMS_BYTES))
    if sums.get("manifest.json") != _sha256(data):
        raise DamagedError(
            "manifest.json and its line in SHA256SUMS disagree",
            where="manifest.json",
            expected=f"SHA-256 {sums.get('manifest.json', 'in SHA256SUMS')}",
            next_step="name the damage with: replay archive verify",
        )
    return decode_manifest(data), sums


def load_documents(file: BinaryIO, members: Sequence[Member]) -> Documents:
    """Read all three documents and collect what is wrong with them.

    Errors: NewerFormatError when the manifest is undamaged and of a later format; DamagedError or LimitError
    when they are not there or too large.
    """
    _check_names(members)
    readme = read_bytes(file, members[0], limit=MAX_README_BYTES)
    data = read_bytes(file, members[1], limit=MAX_MANIFEST_BYTES)
    findings: list[Finding] = []
    sums: dict[str, str] | None = None
    try:
        sums = decode_sums(read_bytes(file, members[2], limit=MAX_SUMS_BYTES))
    except DamagedError as error:
        findings.append(Finding.from_error(error))
    manifest = None
    if _is_manifest_damaged(data, readme, sums):
        findings.append(Finding(member="manifest.json", what=_describe(data)))
    else:
        manifest = decode_manifest(data)
    if sums is not None and manifest is not None:
        findings += _sums_findings(sums, manifest)
    if sums is not None:
        findings += _readme_findings(readme, sums, manifest, _sha256(data))
    elif manifest is not None and readme != write_readme(manifest, _sha256(data)):
        findings.append(Finding(member="README.txt", what="its text is not that of this archive"))
    return Documents(manifest=manifest, sums=sums, findings=tuple(findings))


def expected_members(manifest: ArchiveManifest) -> tuple[tuple[str, int | None], ...]:
    """List the members an archive with this manifest has, in order, with the sizes that are stated."""
    documents: list[tuple[str, int | None]] = [(name, None) for name in DOCUMENTS]
    return (*documents, *((table.member, table.file_bytes) for table in manifest.tables))


def _check_names(members: Sequence[Member]) -> None:
    names = tuple(member.name for member in members[: len(DOCUMENTS)])
    if names != DOCUMENTS:
        missing = next(name for at, name in enumerate(DOCUMENTS) if names[at : at + 1] != (name,))
        raise DamagedError(
            f"the first members are {', '.join(names)}",
            where=missing,
            expected=", ".join(DOCUMENTS),
            next_step="get the file again",
        )


def _is_manifest_damaged(data: bytes, readme: bytes, sums: dict[str, str] | None) -> bool:
    """Take the manifest for damaged unless one of its two witnesses confirms it."""
    return _sha256(data) not in {(sums or {}).get("manifest.json"), manifest_witness(readme)}


def _describe(data: bytes) -> str:
    """Say what is wrong with a manifest that no witness confirms."""
    try:
        decode_manifest(data)
    except FormatError as error:
        return f"its SHA-256 is neither in README.txt nor in SHA256SUMS; {error}"
    return "its SHA-256 is neither in README.txt nor in SHA256SUMS"


def _sums_findings(sums: dict[str, str], manifest: ArchiveManifest) -> list[Finding]:
    """Hold the list of members in SHA256SUMS against the manifest; digests are compared with bytes later."""
    named = [name for name, _ in expected_members(manifest) if name != "SHA256SUMS"]
    if list(sums) == named:
        return []
    odd = next((a or b for a, b in zip_longest(sums, named) if a != b), "")
    return [Finding(member="SHA256SUMS", record=odd or "", what="its list of members is not the manifest's")]


def _readme_findings(
    readme: bytes, sums: dict[str, str], manifest: ArchiveManifest | None, manifest_sha256: str
) -> list[Finding]:
    findings = []
    if manifest is not None and sums.get("manifest.json") != manifest_sha256:
        findings.append(
            Finding(member="SHA256SUMS", record="manifest.json", what="another SHA-256 than its own")
        )
    if sums.get("README.txt") != _sha256(readme):
        # The text can be written again from the manifest: if it is the same, the checksum is the damaged one.
        written = manifest is not None and readme == write_readme(manifest, manifest_sha256)
        if written:
            findings.append(
                Finding(member="SHA256SUMS", record="README.txt", what="another SHA-256 than its own")
            )
        else:
            findings.append(Finding(member="README.txt", what="its SHA-256 is not the one in SHA256SUMS"))
    elif manifest is not None and manifest_witness(readme) != manifest_sha256:
        findings.append(Finding(member="README.txt", what="it names another manifest.json"))
    return findings


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
