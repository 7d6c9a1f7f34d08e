"""A run directory and everything its answers came from, opened again together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replay.core.errors import InputError
from replay.core.types import Record
from replay.engine.rundir.reading import Run
from replay.store.archive.reader import read_manifest
from replay.wiring.library import Library, find_archive, locate_stores, open_library
from replay.wiring.places import shipped_archives
from replay.wiring.serving.request_log import is_recording

__all__ = ["RunSources", "find_archive_of", "open_archive_of"]


class RunSources(Record, frozen=True, kw_only=True):
    """Where the things lie that a run directory names by digest only."""

    archive: str = ""
    """Path or name; empty for the shipped archive with the run's root."""
    bases: tuple[Path, ...] = ()
    overlay: Path | None = None
    """The overlay that the run was told to read."""
    candidate: str = ""
    """`scripted:FILE` or `outputs:PATH`, when the candidate is not recorded."""
    home: Path | None = None


def find_archive_of(run: Run, reference: str = "") -> Path:
    """Find the archive of a run: the one that is named, or the shipped one with the run's root.

    Errors:  InputError when it is not to be had, or when its root is another one. The log of a server that
             recorded has no root to hold it to: each answer is looked up in the archive that is named.
    """
    roots = set(run.manifest.inputs.archives.values())
    recorded = is_recording(run.manifest.inputs.extra)
    names = ", ".join(f"{name} {root}" for name, root in run.manifest.inputs.archives.items())
    if reference:
        path = find_archive(reference)
        if read_manifest(path).root in roots or recorded:
            return path
        raise InputError(
            f"archive {path.name} has another root than the run's", expected=names, where=Path(run.path).name
        )
    for path in () if recorded else shipped_archives():
        if read_manifest(path).root in roots:
            return path
    raise InputError(
        "the archive of this run is not a shipped one",
        where=Path(run.path).name,
        expected="what was frozen of its overlay" if recorded else names,
        next_step="name it with --archive",
    )


@contextmanager
def open_archive_of(run: Run, sources: RunSources) -> Iterator[Library]:
    """Open the archive of a run for reading."""
    archive = find_archive_of(run, sources.archive)
    paths, _ = locate_stores(archive, home=sources.home, bases=sources.bases)
    with open_library(paths) as library:
        yield library
