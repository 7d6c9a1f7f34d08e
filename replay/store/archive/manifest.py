"""The manifest of an archive: what it holds, where that came from, and digests that say what they cover.

`ArchiveFacts` is what a maker states; `ArchiveManifest` adds what freezing measures. The manifest is
canonical JSON, read with every bound checked before anything is believed. Names of hosts, users and folders
never enter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import CanonicalError, DamagedError, InputError, LimitError, NewerFormatError
from replay.core.keys import RECIPE_VERSION
from replay.core.protocols import SourceFile
from replay.core.types import Digest, Json, Record
from replay.store.archive.frames import FRAME_ROWS, FrameFacts
from replay.store.archive.merkle import archive_root, tree_node
from replay.store.archive.rows import MAX_LINE_BYTES, TABLE_NAME

__all__ = [
    "FACTS_NAME",
    "FORMAT_VERSION",
    "MAX_MANIFEST_BYTES",
    "MAX_TABLES",
    "UNKNOWN",
    "ArchiveFacts",
    "ArchiveManifest",
    "TableFacts",
    "check_facts",
    "decode_manifest",
    "encode_manifest",
    "facts_of",
    "stored_facts",
]

FORMAT_VERSION: Final = 1
"""Raised when a reader of the version before would misread an archive."""
MAX_MANIFEST_BYTES: Final = 16 << 20
"""Room for the frames of 35 million rows; a decoder needs a small multiple of it."""
MAX_TABLES: Final = 128
MAX_BASES: Final = 16
MAX_EXPANSION: Final = 2048
"""Largest content of a table, as a multiple of its compressed size, beyond the allowance."""
EXPANSION_ALLOWANCE_BYTES: Final = 256 << 20
FACTS_NAME: Final = "archive"
"""Name in a store's meta under which thawing keeps the facts of the archive."""
UNKNOWN: Final = "unknown"
"""What an absent statement is written as: no field is silent."""

_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_HEX: Final = re.compile(r"[0-9a-f]{64}")

_Facts = TypeVar("_Facts", bound="ArchiveFacts")


class ArchiveFacts(Record, frozen=True, kw_only=True):
    """What the maker of an archive states about it."""

    name: str
    """Name of the archive: letters, digits and `._+-`."""
    version: str
    """Version of the benchmark's content, in the same letters."""
    benchmark: str
    """Benchmark whose keys and tasks are inside."""
    key_recipe_version: int = RECIPE_VERSION
    """Version of the recipe that made the snapshot keys."""
    bases: tuple[Digest, ...] = ()
    """Archive roots of the layers below this one, the lowest first; empty when it stands alone."""
    licences: dict[str, str] = msgspec.field(default_factory=dict)
    """Source name to SPDX expression, `NOASSERTION` where it is not known."""
    sources: tuple[SourceFile, ...] = ()
    """Upstream files the content was read from, sorted by path, with the SHA-256 of their bytes."""
    recorded: str = UNKNOWN
    """When the answers were recorded, in the maker's words."""
    scrub_policy: Json = UNKNOWN
    """What was removed before freezing, by rule name."""
    tool_versions: dict[str, str] = msgspec.field(default_factory=dict)
    """Programs that froze the content first, by name; explains bytes, never identity."""
    notes: Json = None
    """Anything else the maker wants kept."""


class TableFacts(Record, frozen=True, kw_only=True):
    """One table: its member is `NAME.jsonl.zst`."""

    name: str
    rows: int
    rows_merkle_root: str
    """Hex of the Merkle node above all rows of the table, uncompressed."""
    content_bytes: int
    """Length of the member after `zstd -d`."""
    content_sha256: str
    """SHA-256 of the member after `zstd -d`."""
    file_bytes: int
    """Length of the member as it lies in the tar."""
    file_sha256: str
    """SHA-256 of the member as it lies in the tar."""
    frames: tuple[FrameFacts, ...]

    @property
    def member(self) -> str:
        """Name of the table's member."""
        return f"{self.name}.jsonl.zst"


class ArchiveManifest(ArchiveFacts, frozen=True, kw_only=True):
    """Everything `manifest.json` holds."""

    format_version: int = FORMAT_VERSION
    root: Digest
    """Archive root: Merkle root over the roots of the bases and the uncompressed rows of every table. It does
    not cover the other statements of the manifest or any compressed byte; SHA256SUMS covers those."""
    tables: tuple[TableFacts, ...]
    """Sorted by name; tables without rows are left out."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Rows by table."""
        return {table.name: table.rows for table in self.tables}

    def table(self, name: str) -> TableFacts | None:
        """Find a table by name, or None when the archive has no such rows."""
        return next((table for table in self.tables if table.name == name), None)


class _VersionOnly(msgspec.Struct):
    format_version: int


def facts_of(manifest: ArchiveManifest) -> ArchiveFacts:
    """Keep what the maker stated and drop what freezing measures."""
    return ArchiveFacts(**{name: getattr(manifest, name) for name in ArchiveFacts.__struct_fields__})


def stored_facts(meta: Mapping[str, Json]) -> ArchiveFacts:
    """Read the facts a thawed store carries. Errors: InputError when it carries none."""
    try:
        return msgspec.convert(meta[FACTS_NAME], ArchiveFacts)
    except (KeyError, msgspec.ValidationError) as error:
        raise InputError(
            f"the store carries no facts of an archive: {error!r}",
            expected=f"{FACTS_NAME!r} in its meta, as thawing writes it",
            next_step="state name, version and benchmark of the archive to freeze",
        ) from None


def check_facts(facts: _Facts) -> _Facts:
    """Check what a maker states, before anything is frozen. Errors: InputError listing every fault."""
    faults = [
        f"{field} {value!r} is not 1 to 100 letters, digits and ._+-"
        for field, value in (("name", facts.name), ("version", facts.version), ("benchmark", facts.benchmark))
        if not _LABEL.fullmatch(value)
    ]
    faults += [f"base {base!r} is not an archive root" for base in facts.bases if not _DIGEST.fullmatch(base)]
    if len(facts.bases) > MAX_BASES or len(set(facts.bases)) != len(facts.bases):
        faults.append(f"{len(facts.bases)} bases, expected at most {MAX_BASES} different ones")
    paths = [source.path for source in facts.sources]
    faults += [
        f"source path {path!r} is not relative"
        for path in paths
        if path.startswith(("/", "~", "\\")) or ".." in path.split("/") or path[1:2] == ":"
    ]
    if paths != sorted(set(paths)):
        faults.append("source paths are not sorted or not unique")
    if facts.key_recipe_version < 1:
        faults.append(f"key recipe version {facts.key_recipe_version}")
    if faults:
        raise InputError("; ".join(faults[:20]), where=f"manifest of {facts.name!r}")
    return facts


def encode_manifest(manifest: ArchiveManifest) -> bytes:
    """Write a manifest as canonical JSON. Errors: InputError, or LimitError when it has too many frames."""
    try:
        data = canonical_bytes(msgspec.to_builtins(manifest))
    except CanonicalError as error:
        raise InputError(f"a statement that is not JSON: {error}", where="manifest.json") from None
    if len(data) > MAX_MANIFEST_BYTES:
        raise LimitError(
            f"a manifest of {len(data)} bytes",
            where="manifest.json",
            expected=f"at most {MAX_MANIFEST_BYTES}",
            next_step="move long notes or source lists into a table",
        )
    return data


def decode_manifest(data: bytes) -> ArchiveManifest:
    """Read and check a manifest; every count and size in it is bounded afterwards.

    Errors: NewerFormatError for a later format or key recipe; DamagedError for anything that does not add up;
    LimitError for counts and sizes out of bounds.
    """
    where = "manifest.json"
    try:
        version = msgspec.json.decode(data, type=_VersionOnly).format_version
        if version > FORMAT_VERSION:
            raise _newer("archive format", version, FORMAT_VERSION)
        manifest = msgspec.json.decode(data, type=ArchiveManifest)
        canonical = canonical_bytes(parse_json(data, where=where))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedError(f"not a manifest: {error}", where=where, next_step="get the file again") from None
    except CanonicalError as error:
        raise DamagedError(f"not one JSON value: {error.what}", where=where) from None
    if canonical != data:
        raise DamagedError("not canonical JSON", where=where, expected="RFC 8785: sorted names, no spaces")
    if manifest.key_recipe_version > RECIPE_VERSION:
        raise _newer("key recipe", manifest.key_recipe_version, RECIPE_VERSION)
    try:
        check_facts(manifest)
    except InputError as error:
        raise DamagedError(error.what, where=where) from None
    _check_tables(manifest)
    return manifest


def _newer(what: str, found: int, known: int) -> NewerFormatError:
    return NewerFormatError(
        f"{what} version {found}",
        where="manifest.json",
        expected=f"at most version {known}",
        next_step="upgrade replay-bench",
    )


def _check_tables(manifest: ArchiveManifest) -> None:
    where = "manifest.json"
    if manifest.format_version < 1:
        raise DamagedError(f"format version {manifest.format_version}", where=where)
    if len(manifest.tables) > MAX_TABLES:
        raise LimitError(f"{len(manifest.tables)} tables", where=where, expected=f"at most {MAX_TABLES}")
    names = [table.name for table in manifest.tables]
    if names != sorted(set(names)) or not all(map(TABLE_NAME.fullmatch, names)):
        raise DamagedError(f"tables {names} are not sorted, unique names", where=where)
    for table in manifest.tables:
        _check_table(table, f"{where}, table {table.name}")
    tables = [(table.name, table.rows, bytes.fromhex(table.rows_merkle_root)) for table in manifest.tables]
    root = archive_root(manifest.bases, tables)
    if root != manifest.root:
        raise DamagedError(
            f"the archive root is {manifest.root}",
            where=where,
            expected=f"{root}, which follows from the tables listed beside it",
        )


def _check_table(table: TableFacts, where: str) -> None:
    frames = table.frames
    hexes = (table.rows_merkle_root, table.content_sha256, table.file_sha256, *(f.node for f in frames))
    if not all(map(_HEX.fullmatch, hexes)):
        raise DamagedError("a digest that is not 64 hex digits", where=where)
    whole = all(frame.rows == FRAME_ROWS for frame in frames[:-1])
    if not frames or not whole or not 0 < frames[-1].rows <= FRAME_ROWS:
        raise DamagedError("frames of another number of rows", where=where, expected=f"{FRAME_ROWS} each")
    for frame in frames:
        if not (
            frame.file_bytes > 0 and 2 * frame.rows <= frame.content_bytes <= frame.rows * MAX_LINE_BYTES
        ):
            raise LimitError(f"a frame of {frame.content_bytes} bytes for {frame.rows} rows", where=where)
    sums = (
        sum(frame.rows for frame in frames),
        sum(frame.content_bytes for frame in frames),
        sum(frame.file_bytes for frame in frames),
    )
    if sums != (table.rows, table.content_bytes, table.file_bytes):
        raise DamagedError("rows and sizes are not the sums of the frames", where=where, expected=str(sums))
    if table.content_bytes > EXPANSION_ALLOWANCE_BYTES + MAX_EXPANSION * table.file_bytes:
        raise LimitError(
            f"{table.file_bytes} bytes that expand to {table.content_bytes}",
            where=where,
            expected=f"at most {MAX_EXPANSION} times as many",
        )
    if tree_node([bytes.fromhex(frame.node) for frame in frames]).hex() != table.rows_merkle_root:
        raise DamagedError("rows_merkle_root does not follow from the frames", where=where)
