"""A run directory and the archive it was made from, opened again together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replay.core.errors import InputError
from replay.engine.rundir.reading import Run
from replay.store.archive.reader import read_manifest
from replay.wiring.library import Library, find_archive, locate_stores, open_library
from replay.wiring.places import shipped_archives

__all__ = ["find_archive_of", "open_archive_of"]


def find_archive_of(run: Run, reference: str = "") -> Path:
    """Find the archive of a run: the one that is named, or the shipped one with the run's root.

    Errors:  InputError when it is not to be had, or when its root is another one.
    """
    roots = set(run.manifest.inputs.archives.values())
    names = ", ".join(f"{name} {root}" for name, root in run.manifest.inputs.archives.items())
    if reference:
        path = find_archive(reference)
        if read_manifest(path).root in roots:
            return path
        raise InputError(
            f"archive {path.name} has another root than the run's", expected=names, where=Path(run.path).name
        )
    for path in shipped_archives():
        if read_manifest(path).root in roots:
            return path
    raise InputError(
        "the archive of this run is not a shipped one",
        where=Path(run.path).name,
        expected=names,
        next_step="name it with --archive",
    )


@contextmanager
def open_archive_of(run: Run, reference: str = "", *, home: Path | None = None) -> Iterator[Library]:
    """Open the archive of a run for reading."""
    paths, _ = locate_stores(find_archive_of(run, reference), home=home)
    with open_library(paths) as library:
        yield library
