"""Builders of small archives, and of archives that no honest writer makes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import zstandard

from replay.core.canonical import canonical_bytes
from replay.core.keys import call_key, call_request, verdict_key, verdict_request
from replay.core.types import CallRequest, Digest, Json, JudgeRequest, Snapshot, SnapshotKind
from replay.store.archive.container import end_blocks, make_header, open_archive, padding, read_layout
from replay.store.archive.documents import encode_sums, write_readme
from replay.store.archive.frames import FRAME_ROWS, FrameFacts
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.store.archive.manifest import ArchiveFacts, ArchiveManifest, TableFacts
from replay.store.archive.merkle import archive_root, leaf_prefix, row_leaf, tree_node

Rows = Iterable[tuple[str, bytes]]


def make_facts(name: str = "demo", version: str = "1", **changes: Json) -> ArchiveFacts:
    """Facts of a small archive."""
    return msgspec.structs.replace(ArchiveFacts(name=name, version=version, benchmark="demo"), **changes)


def make_snapshot(number: int, *, sequence: int = 0, body: str | None = None, tool: str = "") -> Snapshot:
    """One API answer; equal numbers give equal requests."""
    request = CallRequest(
        benchmark="demo", tool=tool or f"Data/tool{number % 7}/get", arguments={"q": f"word {number}"}
    )
    return Snapshot(
        kind=SnapshotKind.API,
        key=call_key(request),
        sequence=sequence,
        scope=request.tool,
        request=call_request(request),
        body=f'{{"item":{number},"title":"Item number {number}"}}' if body is None else body,
    )


def make_verdict(number: int) -> Snapshot:
    """One judge verdict."""
    request = JudgeRequest(benchmark="demo", rubric="sopr", rubric_digest="r", evidence={"n": number})
    return Snapshot(
        kind=SnapshotKind.VERDICT,
        key=verdict_key("judge", request),
        scope="sopr",
        request=verdict_request("judge", request),
        body='{"judge":"judge","label":"Solved","raw":"","reason":""}',
    )


def make_rows(count: int, *, text: str = "question") -> list[tuple[str, bytes]]:
    """Rows of a table of tasks."""
    return [
        (f"t{number:05}", canonical_bytes({"id": f"t{number:05}", "text": f"{text} {number}"}))
        for number in range(count)
    ]


def make_content(tasks: int = 5, snapshots: int = 20, verdicts: int = 3, **changes: Json) -> ArchiveContent:
    """Content with a table and two kinds of snapshots."""
    return ArchiveContent(
        facts=make_facts(**changes),
        tables={"tasks": make_rows(tasks)},
        snapshots=[
            *(make_snapshot(number) for number in range(snapshots)),
            *(make_verdict(number) for number in range(verdicts)),
        ],
    )


def make_archive(folder: Path, name: str = "demo.replay", **counts: int) -> Path:
    """A small archive on disk."""
    path = folder / name
    freeze(make_content(**counts), path)
    return path


def read_members(path: Path) -> dict[str, bytes]:
    """Members of an archive by name, in order."""
    data = path.read_bytes()
    with open_archive(path) as file:
        return {m.name: data[m.offset : m.offset + m.size] for m in read_layout(file)}


def pack(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Put members into our container, whatever they hold."""
    parts = [make_header(name, len(data)) + data + padding(len(data)) for name, data in members]
    return b"".join(parts) + end_blocks()


def pack_honestly(manifest: ArchiveManifest, tables: dict[str, bytes]) -> bytes:
    """Pack a manifest and member bytes with documents that agree with them, as a careful forger would."""
    data = canonical_bytes(msgspec.to_builtins(manifest))
    return pack_documents(data, write_readme(manifest, hashlib.sha256(data).hexdigest()), tables)


def pack_documents(manifest: bytes, readme: bytes, tables: dict[str, bytes]) -> bytes:
    """Pack manifest bytes with checksums that fit them."""
    named = {"README.txt": readme, "manifest.json": manifest, **tables}
    sums = encode_sums({name: hashlib.sha256(each).hexdigest() for name, each in named.items()})
    return pack([("README.txt", readme), ("manifest.json", manifest), ("SHA256SUMS", sums), *tables.items()])


def forge(
    lines: list[bytes],
    *,
    table: str = "tasks",
    ids: list[str] | None = None,
    compress: Callable[[bytes], bytes] | None = None,
    **changes: Json,
) -> bytes:
    """An archive with one table of any lines: every digest, count and size agrees with them."""
    names = ids or [f"t{number:05}" for number in range(len(lines))]
    pack_frame = compress or zstandard.ZstdCompressor(write_checksum=True).compress
    frames, member, content = [], b"", b""
    for at in range(0, len(lines), FRAME_ROWS):
        rows = lines[at : at + FRAME_ROWS]
        plain = b"".join(line + b"\n" for line in rows)
        leaves = [
            row_leaf(leaf_prefix(table), row_id, line)
            for row_id, line in zip(names[at : at + FRAME_ROWS], rows, strict=True)
        ]
        frame = pack_frame(plain)
        frames.append(FrameFacts(len(rows), len(plain), len(frame), tree_node(leaves).hex()))
        member, content = member + frame, content + plain
    facts = TableFacts(
        name=table,
        rows=len(lines),
        rows_merkle_root=tree_node([bytes.fromhex(frame.node) for frame in frames]).hex(),
        content_bytes=len(content),
        content_sha256=hashlib.sha256(content).hexdigest(),
        file_bytes=len(member),
        file_sha256=hashlib.sha256(member).hexdigest(),
        frames=tuple(frames),
    )
    return pack_honestly(make_manifest((facts,), **changes), {facts.member: member})


def make_manifest(tables: tuple[TableFacts, ...], **changes: Json) -> ArchiveManifest:
    """A manifest over these tables, its root right."""
    facts = make_facts()
    stated: dict[str, Json] = {name: getattr(facts, name) for name in ArchiveFacts.__struct_fields__}
    roots = [(each.name, each.rows, bytes.fromhex(each.rows_merkle_root)) for each in tables]
    manifest = ArchiveManifest(**stated, root=Digest(archive_root((), roots)), tables=tables)
    return msgspec.structs.replace(manifest, **changes)
