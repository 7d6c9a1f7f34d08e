"""Writes a run directory: appends in plan order, survives kill -9 at any point, finishes with the roots.

The order of one append is: timing, verdicts, trajectory, each handed to the operating system, so a killed
process loses nothing of it. It is forced to the disk itself four times a second and at the end: a power cut
loses the episodes of the last moment, and no disk makes thousands of short episodes wait one by one. On
resume all three files are cut back to the episodes that all of them hold, so whatever was half-written is run
again, to the same bytes.
One process writes a run directory at a time; the lock is on the folder itself and dies with its holder.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.determinism import Stopwatch
from replay.core.errors import DamagedError, InputError, StoreError
from replay.core.trajectory import Trajectory
from replay.core.types import Json
from replay.engine.plan import PlanItem
from replay.engine.roles import EpisodeVerdicts
from replay.engine.rundir.lines import (
    TIMINGS,
    TRAJECTORIES,
    VERDICTS,
    EpisodeLines,
    Timing,
    encode_record,
    read_lines,
    repair_lines,
)
from replay.engine.rundir.manifest import Guard, RunManifest, make_roots, name_differences, seal_manifest
from replay.engine.rundir.reading import (
    MANIFEST,
    SUMMARY,
    Run,
    digest_file,
    digest_outputs,
    load_manifest,
    load_run,
)

__all__ = ["RunFolder"]

_FILES: Final = ((TIMINGS, Timing), (VERDICTS, EpisodeVerdicts), (TRAJECTORIES, Trajectory))
"""In the order of one append: an episode counts as done when the last file holds it."""

_SYNC_EVERY_S: Final = 0.25
"""How much of a run a power cut may take, at most."""

_RESUME: Final = "run the same command again: it resumes after the last finished episode"


class RunFolder:
    """A run directory open for writing. A context manager; leaving it lets go of the lock."""

    def __init__(self, path: Path, manifest: RunManifest, plan: Sequence[PlanItem]) -> None:
        """Open a new or unfinished run directory and cut it back to its last whole episode.

        Errors:  InputError when the folder holds something else, or a run with other inputs (named);
                 StoreError when it is locked, read-only or full; DamagedError when it is damaged.
        """
        self.path = path
        self._plan = plan
        self._manifest = manifest
        self._files: list[BinaryIO] = []
        self._since_sync = Stopwatch()
        with _disk_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            self._lock = _lock_folder(path)
        try:
            with _disk_errors(path):
                self._check_or_start()
                self.done = self._repair()
                """How many episodes of the plan are finished."""
                self._files = [(path / name).open("ab") for name, _ in _FILES]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Use the folder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def append(self, lines: EpisodeLines) -> None:
        """Append the next episode of the plan.

        Errors:  StoreError when the disk is full or gone; what was half-written is cut off on resume.
        """
        item = self._plan[self.done]
        if (lines.task, lines.trial) != (item.task, item.trial):
            raise InputError(
                f"episode of task {lines.task}, trial {lines.trial} is not next",
                expected=f"task {item.task}, trial {item.trial}",
            )
        with _disk_errors(self.path):
            for file, line in zip(self._files, (lines.timing, lines.verdicts, lines.trajectory), strict=True):
                file.write(line + b"\n")
                file.flush()
            self.done += 1
            if self._since_sync.elapsed_s() >= _SYNC_EVERY_S:
                self._sync()

    def read(self) -> Run:
        """Return what is on disk so far, for the summary."""
        return load_run(self.path)

    def finish(self, summary: Json) -> RunManifest:
        """Write summary and final manifest; return the manifest with its roots. May be called again.

        Errors:  InputError when episodes of the plan are missing; StoreError when the disk is full.
        """
        if self.done != len(self._plan):
            raise InputError(
                f"{self.done} of {len(self._plan)} episodes are done",
                expected="all of them",
                next_step=_RESUME,
            )
        with _disk_errors(self.path):
            self._sync()
            _replace_file(self.path / SUMMARY, canonical_bytes(summary) + b"\n")
            roots = make_roots(
                self._manifest.inputs,
                trajectories=digest_file(self.path / TRAJECTORIES),
                verdicts=digest_file(self.path / VERDICTS),
                summary=digest_file(self.path / SUMMARY),
                outputs=digest_outputs(self.path),
            )
            finished = msgspec.structs.replace(self._manifest, guard=self._count_guard(), roots=roots)
            self._manifest = seal_manifest(finished)
            self._save_manifest()
        return self._manifest

    def _sync(self) -> None:
        """Force everything so far to the disk, in the order of an append."""
        for file in self._files:
            os.fsync(file.fileno())
        self._since_sync = Stopwatch()

    def close(self) -> None:
        """Close the files and let go of the lock."""
        for file in self._files:
            # What cannot be flushed any more has been reported by append and is cut off on resume.
            try:
                file.close()
            except OSError:
                continue
        self._files = []
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _check_or_start(self) -> None:
        if (self.path / MANIFEST).exists():
            held = load_manifest(self.path)
            different = name_differences(held, self._manifest)
            if different:
                raise InputError(
                    f"run folder holds a run with other inputs: {'; '.join(different[:5])}",
                    where=str(self.path),
                    expected="the inputs that the run was started with",
                    next_step="choose another --out folder",
                )
            self._check_finished(held)
            return
        foreign = sorted(entry.name for entry in self.path.iterdir() if entry.name != _temporary(MANIFEST))
        if foreign:
            raise InputError(
                f"folder is not a run folder: it holds {', '.join(foreign[:3])}",
                where=str(self.path),
                expected="an empty or new folder, or a run to resume",
            )
        self._save_manifest()

    def _check_finished(self, held: RunManifest) -> None:
        """A finished run whose files are no longer what was hashed is damaged, and never finished anew."""
        if held.roots is None:
            return
        hashed = (
            (TRAJECTORIES, held.roots.trajectories),
            (VERDICTS, held.roots.verdicts),
            (SUMMARY, held.roots.summary),
        )
        for name, expected in hashed:
            found = digest_file(self.path / name) if (self.path / name).exists() else "not there"
            if found != expected:
                raise DamagedError(
                    f"{name} of a finished run is {found}",
                    where=str(self.path),
                    expected=f"{expected}, as the manifest says",
                    next_step="replay verify names what changed; move the folder away to run again",
                )

    def _save_manifest(self) -> None:
        _replace_file(self.path / MANIFEST, encode_record(self._manifest) + b"\n")

    def _repair(self) -> int:
        held = [repair_lines(self.path / name, shape) for name, shape in _FILES]
        done = min(len(items) for items in held)
        if done > len(self._plan):
            raise DamagedError(
                f"run folder holds {done} episodes",
                expected=f"at most the {len(self._plan)} that were planned",
            )
        for (name, _), items in zip(_FILES, held, strict=True):
            for number, (found, item) in enumerate(zip(items, self._plan, strict=False), start=1):
                if found != (item.task, item.trial):
                    raise DamagedError(
                        f"line is of task {found[0]}, trial {found[1]}",
                        where=f"{name}, record {number}",
                        expected=f"task {item.task}, trial {item.trial}, as planned",
                    )
            _cut_lines(self.path / name, done)
        return done

    def _count_guard(self) -> Guard:
        timings = [
            msgspec.json.decode(line, type=Timing).network_attempts
            for _, line in read_lines(self.path / TIMINGS)
        ]
        return Guard(
            network_attempts=sum(timings), episodes_with_attempts=sum(1 for attempts in timings if attempts)
        )


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reasons = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EROFS: "the disk is read-only",
            errno.EACCES: "no permission to write",
        }
        reason = reasons.get(error.errno or 0, os.strerror(error.errno) if error.errno else str(error))
        raise StoreError(
            f"run folder cannot be written: {reason}", where=str(path), next_step=_RESUME
        ) from None


def _lock_folder(path: Path) -> int:
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise StoreError(
            "another process is writing this run folder",
            where=str(path),
            next_step="wait for it, or choose another --out folder",
        ) from None
    except OSError:
        os.close(handle)
        raise
    return handle


def _cut_lines(path: Path, keep: int) -> None:
    with path.open("r+b") as file:
        for _ in range(keep):
            file.readline()
        file.truncate(file.tell())
        os.fsync(file.fileno())


def _replace_file(path: Path, content: bytes) -> None:
    # One writer holds the lock, so one fixed name beside the file will do and leaves nothing behind.
    temporary = path.with_name(_temporary(path.name))
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _temporary(name: str) -> str:
    return f".{name}.tmp"
