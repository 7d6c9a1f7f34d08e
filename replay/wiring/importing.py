"""Upstream files -> one archive: the importer reads, this module keys, collects and freezes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

import msgspec

from replay.benchmarks.registry import get_benchmark, get_importer
from replay.core.canonical import canonical_bytes, digest
from replay.core.errors import InputError
from replay.core.protocols import ImportedVerdict, ImportResult
from replay.core.types import Json, Key, Record, Snapshot
from replay.store.answers import make_verdict_snapshot
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.store.archive.manifest import ArchiveFacts, ArchiveManifest
from replay.tools.imports import Collision, answers_to_snapshots
from replay.tools.keys import recipe_for
from replay.wiring.documents import staged_document
from replay.wiring.library import JudgeRow

__all__ = ["ImportTarget", "Imported", "import_archive", "make_content", "rows_of"]


class Imported(Record, frozen=True, kw_only=True):
    """What an import made."""

    manifest: ArchiveManifest
    report: Json
    """The importer's report, with collisions and verdict conflicts."""


class ImportTarget(Record, frozen=True, kw_only=True):
    """What an import writes."""

    archive: Path
    overwrite: bool = False
    """Replace an archive at that place."""
    report: Path | None = None
    """Where the whole report goes, as JSON."""


def import_archive(
    benchmark: str,
    source: Path,
    target: ImportTarget,
    *,
    name: str = "",
    options: Mapping[str, Json] | None = None,
) -> Imported:
    """Import upstream data into one archive file and, where asked, write the whole report too.

    Errors:  InputError for a wrong folder or record; StoreError when the target cannot be written, and then
             nothing is left behind.
    """
    result = get_importer(benchmark).load(source, options or {})
    content, report = make_content(result, name=name or benchmark)
    with nullcontext() if target.report is None else staged_document(target.report, report):
        manifest = freeze(content, target.archive, overwrite=target.overwrite)
    return Imported(manifest=manifest, report=report)


def make_content(
    result: ImportResult, *, name: str, extra: Mapping[str, Iterable[tuple[str, bytes]]] | None = None
) -> tuple[ArchiveContent, Json]:
    """Key everything an import produced and lay it out as the content of an archive.

    Shape:   the second value is the import report with `key_collisions` and `verdict_conflicts` added.
    """
    snapshots, collisions = answers_to_snapshots(result.answers, recipe_for(result.benchmark))
    verdicts, conflicts = _key_verdicts(result.verdicts)
    report = {
        **_as_object(result.report),
        "key_collisions": [_show(collision) for collision in collisions],
        "verdict_conflicts": conflicts,
        "snapshots": {"api": len(snapshots), "verdict": len(verdicts)},
    }
    outputs = [(f"{o.candidate}/{o.task}/{o.trial}/{o.format}", o) for o in result.outputs]
    tables: dict[str, Iterable[tuple[str, bytes]]] = {
        "tasks": rows_of((task.id, task) for task in result.tasks),
        "tools": rows_of({digest("tool-spec", msgspec.to_builtins(t)): t for t in result.tools}.items()),
        "outputs": rows_of(_unique(outputs)),
        "judges": rows_of((judge.name, judge) for judge in _judges(result.verdicts)),
        "differences": rows_of((d.id, d) for d in get_benchmark(result.benchmark).differences),
        "report": [("import", canonical_bytes(report))],
        **(extra or {}),
    }
    facts = ArchiveFacts(
        name=name,
        version=result.version,
        benchmark=result.benchmark,
        licences=result.licences,
        sources=tuple(sorted(result.sources, key=lambda s: s.path)),
        scrub_policy=[
            msgspec.to_builtins(rule, order="deterministic")
            for rule in recipe_for(result.benchmark).redactions
        ],
    )
    return ArchiveContent(facts=facts, tables=tables, snapshots=(*snapshots, *verdicts)), report


def rows_of(records: Iterable[tuple[str, Record]]) -> list[tuple[str, bytes]]:
    """Encode records as canonical rows of an archive table."""
    return [(name, canonical_bytes(msgspec.to_builtins(record))) for name, record in records]


def _key_verdicts(verdicts: Iterable[ImportedVerdict]) -> tuple[list[Snapshot], list[Json]]:
    """Key verdicts; two that answer one question differently are a named conflict, the first is kept."""
    held: dict[Key, tuple[Snapshot, str]] = {}
    conflicts: list[Json] = []
    for item in sorted(verdicts, key=lambda v: v.source):
        snapshot = make_verdict_snapshot(item.judge, item.request, item.verdict, meta={"source": item.source})
        before = held.setdefault(snapshot.key, (snapshot, item.source))
        if before[0].body != snapshot.body:
            conflicts.append({"key": snapshot.key, "kept": before[1], "lost": item.source})
    return [snapshot for snapshot, _ in held.values()], conflicts


def _judges(verdicts: Iterable[ImportedVerdict]) -> Iterator[JudgeRow]:
    seen: dict[bytes, JudgeRow] = {}
    names: set[str] = set()
    for item in sorted(verdicts, key=lambda v: v.source):
        identity = canonical_bytes(item.judge)
        if identity in seen:
            continue
        name = str(item.judge.get("name", "judge")) if isinstance(item.judge, dict) else "judge"
        unique = name if name not in names else f"{name}-{len(names) + 1}"
        names.add(unique)
        seen[identity] = JudgeRow(name=unique, identity=item.judge)
    return iter(seen.values())


def _unique(rows: Iterable[tuple[str, Record]]) -> Iterator[tuple[str, Record]]:
    held: dict[str, Record] = {}
    for name, record in rows:
        if held.setdefault(name, record) != record:
            raise InputError(
                f"two different outputs are called {name!r}",
                expected="one output for each candidate, task, trial and form",
                next_step="import the two files under different candidate names",
            )
    return iter(held.items())


def _show(collision: Collision) -> Json:
    return msgspec.to_builtins(collision)


def _as_object(report: Json) -> dict[str, Json]:
    return report if isinstance(report, dict) else {"report": report}
