"""Stores -> archives, layers and signatures: what the `archive` commands do beyond one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec.structs import replace

from replay.core.canonical import canonical_bytes
from replay.core.errors import DamagedError, InputError, StoreError
from replay.core.types import Record
from replay.store.archive.freeze import ArchiveContent, freeze, freeze_store
from replay.store.archive.layers import delta
from replay.store.archive.manifest import FACTS_NAME, ArchiveFacts, ArchiveManifest, facts_of, stored_facts
from replay.store.archive.reader import read_manifest
from replay.store.archive.verify import verify_archive
from replay.store.layers import LayeredStore
from replay.store.signing import load_envelope, make_statement, sign_statement, signature_path
from replay.store.snapshots import SnapshotStore
from replay.store.suspicion import refuse_secrets
from replay.wiring.casting import MAKER_TABLES
from replay.wiring.documents import write_file
from replay.wiring.library import locate_stores

__all__ = ["Below", "freeze_folder", "sign_archive"]


class Below(Record, frozen=True, kw_only=True):
    """What the content of a store goes on top of."""

    bases: tuple[Path, ...]
    """All layers below, the lowest first. Answers that they hold win: an overlay only adds. Who
    made its answers, with which settings, is told by the store: that is whom a strict run then replays."""
    merge: bool = False
    """Freeze one archive that stands alone instead of a layer."""
    home: Path | None = None
    """Folder for rebuildable stores."""


def freeze_folder(
    store: Path,
    output: Path,
    *,
    label: tuple[str, str] = ("", ""),
    below: Below | None = None,
    overwrite: bool = False,
    allowed: tuple[str, ...] = (),
) -> ArchiveManifest:
    """Freeze a store folder: alone, as a layer on base archives, or merged with them.

    label: name and version; empty ones are kept as stored.
    allowed: ids of findings that look like secrets and are none.

    Errors:  InputError for what looks like a secret, and when a store without facts gets no base to take them
             from; those of freezing.
    """
    name, version = label
    with ExitStack() as stack:
        opened = stack.enter_context(_open(store))
        refuse_secrets(_texts(opened), allowed=allowed)
        if below is None:
            _check_alone(opened, store)
            facts = _facts(opened, name, version)
            return freeze_store(opened, output, facts=facts, overwrite=overwrite)
        frozen = [stack.enter_context(SnapshotStore.open_sealed(path)) for path in _base_stores(below)]
        layered = LayeredStore(frozen, opened)
        top = facts_of(read_manifest(below.bases[-1]))
        facts = replace(top, name=name or top.name, version=version or f"{top.version}+", bases=())
        content = ArchiveContent(
            facts=facts,
            tables={table: _rows(table, layered, opened) for table in layered.tables()},
            snapshots=list(layered.scan()),
        )
        shown = content if below.merge else delta(content, below.bases)
        return freeze(shown, output, overwrite=overwrite)


def sign_archive(archive: Path, key: Path) -> tuple[Path, tuple[str, ...]]:
    """Verify an archive whole, then sign it beside; returns the signature file and all key ids in it.

    Errors:  DamagedError for an archive that does not verify: a damaged file is never signed.
    """
    report = verify_archive(archive)
    if not report.ok:
        first = report.findings[0]
        raise DamagedError(
            f"the archive does not verify: {first.what}",
            where=f"{archive.name}, {first.member}",
            next_step=f"replay archive verify {archive.name}",
        )
    path = signature_path(archive)
    statement = make_statement(archive, root=report.root, name=report.name, version=report.version)
    envelope = sign_statement(statement, key, earlier=load_envelope(path))
    write_file(path, msgspec.json.format(msgspec.json.encode(envelope), indent=2) + b"\n")
    return path, tuple(signature.keyid for signature in envelope.signatures)


def _rows(table: str, layered: LayeredStore, store: SnapshotStore) -> list[tuple[str, bytes]]:
    """All rows of a table: those of the lowest layer that has them, but makers as the store names them."""
    rows = dict(layered.table(table))
    if table in MAKER_TABLES:
        rows |= dict(store.table(table))
    return sorted(rows.items())


def _texts(store: SnapshotStore) -> Iterator[tuple[str, str]]:
    """Everything of a store that goes into an archive, as text with its place."""
    for table in store.tables():
        for name, row in store.table(table):
            yield f"{table} {name}", row.decode("utf-8", "replace")
    for snapshot in store.scan():
        place = f"the {snapshot.kind.value} answer {snapshot.key[:19]} of {snapshot.scope}"
        asked = canonical_bytes(snapshot.request).decode("utf-8", "replace")
        yield place, f"{asked}\n{snapshot.body}\n{canonical_bytes(snapshot.meta).decode()}"


def _open(store: Path) -> SnapshotStore:
    try:
        return SnapshotStore.open_sealed(store)
    except StoreError:
        return SnapshotStore.open_reader(store)


def _check_alone(store: SnapshotStore, folder: Path) -> None:
    """Check that a store is an archive's; what was added to one has no facts, and needs it below."""
    if FACTS_NAME not in store.meta:
        raise InputError(
            "this store holds only what was added to an archive",
            where=str(folder),
            expected="--base ARCHIVE, the one it was recorded over",
            next_step=f"replay archive freeze {folder} -o NEW.replay --base ARCHIVE",
        )


def _facts(store: SnapshotStore, name: str, version: str) -> ArchiveFacts | None:
    """The facts a thawed store carries, renamed where asked; None to use them as they are."""
    if not name and not version:
        return None
    facts = stored_facts(store.meta)
    return replace(facts, name=name or facts.name, version=version or facts.version)


def _base_stores(below: Below) -> list[Path]:
    paths, _ = locate_stores(below.bases[-1], home=below.home, bases=below.bases[:-1])
    return [Path(path) for path in paths.stores]
