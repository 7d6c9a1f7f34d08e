"""Builders of archives with tasks, candidates, judges and outputs, opened as wiring opens them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.types import Json, Output, Record, Snapshot, Task
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.wiring.library import CandidateRow, JudgeRow, Library, locate_stores, open_library
from tests.support.archives import make_facts

__all__ = ["freeze_library", "make_candidate", "make_output", "opened"]

Rows = Iterable[tuple[str, Record]]


def make_candidate(name: str = "cot", **changes: Json) -> CandidateRow:
    """A recorded candidate."""
    return CandidateRow(**{"name": name, "identity": {"name": name, "kind": "test"}, **changes})


def make_output(
    candidate: str = "cot", task: str = "1", *, trial: int = 0, form: str = "converted"
) -> Output:
    """What a candidate produced, saying who and in which form."""
    return Output(
        candidate=candidate, task=task, trial=trial, format=form, data={"by": candidate, "form": form}
    )


def freeze_library(
    path: Path,
    *,
    candidates: Iterable[CandidateRow] = (),
    judges: Iterable[str] = (),
    outputs: Iterable[Output] = (),
    snapshots: Iterable[Snapshot] = (),
    **facts: Json,
) -> Path:
    """Freeze a small archive of the benchmark that there is."""
    tasks = [Task(id=name, split="G1_instruction", data={"query": name}) for name in ("1", "2")]
    tables: dict[str, Rows] = {
        "tasks": [(task.id, task) for task in tasks],
        "candidates": [(row.name, row) for row in candidates],
        "judges": [(name, JudgeRow(name=name, identity={"name": name})) for name in judges],
        "outputs": [(f"{o.candidate}/{o.task}/{o.trial}/{o.format}", o) for o in outputs],
    }
    rows = {
        table: [(name, canonical_bytes(msgspec.to_builtins(record))) for name, record in found]
        for table, found in tables.items()
    }
    stated = make_facts(**{"benchmark": "stabletoolbench", **facts})
    freeze(ArchiveContent(facts=stated, tables=rows, snapshots=snapshots), path)
    return path


@contextmanager
def opened(archive: Path, *, bases: Iterable[Path] = ()) -> Iterator[Library]:
    """Open an archive with stores beside it."""
    paths, _ = locate_stores(archive, home=archive.parent / "home", bases=tuple(bases))
    with open_library(paths) as library:
        yield library
