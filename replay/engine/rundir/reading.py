"""Reads a run directory back. Everything in it is untrusted: bounded, typed, and named when it is wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import CanonicalError, DamagedError, InputError, LimitError, NewerFormatError
from replay.core.trajectory import Trajectory
from replay.core.types import Digest, Json, Record
from replay.engine.roles import EpisodeVerdicts
from replay.engine.rundir.lines import TIMINGS, TRAJECTORIES, VERDICTS, Timing, decode_record, read_lines
from replay.engine.rundir.manifest import FORMAT_VERSION, RunManifest

__all__ = ["MANIFEST", "SUMMARY", "Run", "digest_file", "digest_outputs", "load_manifest", "load_run"]

MANIFEST: Final = "manifest.json"
SUMMARY: Final = "summary.json"

_MAX_DOCUMENT_BYTES: Final = 256 * 1024 * 1024


class Run(Record, frozen=True, kw_only=True):
    """A run directory that was read; episodes are read from disk each time they are asked for."""

    path: str
    manifest: RunManifest
    summary: Json
    """None while the run is unfinished."""

    def trajectories(self) -> Iterator[Trajectory]:
        """Iterate over the trajectories in plan order. Raises DamagedError naming the record."""
        for where, line in read_lines(Path(self.path) / TRAJECTORIES):
            yield decode_record(line, Trajectory, where=where)

    def verdicts(self) -> Iterator[EpisodeVerdicts]:
        """Iterate over the verdicts in plan order. Raises DamagedError naming the record."""
        for where, line in read_lines(Path(self.path) / VERDICTS):
            yield decode_record(line, EpisodeVerdicts, where=where)

    def timings(self) -> Iterator[Timing]:
        """Iterate over the timings in plan order. Raises DamagedError naming the record."""
        for where, line in read_lines(Path(self.path) / TIMINGS):
            yield decode_record(line, Timing, where=where)


def load_run(path: Path) -> Run:
    """Read the manifest and summary of a run directory.

    Errors:  InputError when it is no run directory; NewerFormatError; DamagedError naming file and JSON path.
    """
    manifest = load_manifest(path)
    summary = _load_document(path / SUMMARY) if (path / SUMMARY).exists() else None
    return Run(path=str(path), manifest=manifest, summary=summary)


def load_manifest(path: Path) -> RunManifest:
    """Read manifest.json of a run directory."""
    if not (path / MANIFEST).is_file():
        raise InputError(
            "folder is not a run folder: it has no manifest.json",
            where=str(path),
            expected="what `replay run --out` wrote",
        )
    document = _load_document(path / MANIFEST)
    version = document.get("format_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise NewerFormatError(
            f"run folder has format {version}",
            where=str(path),
            expected=f"at most {FORMAT_VERSION}",
            next_step="use a newer replay",
        )
    try:
        return msgspec.convert(document, RunManifest)
    except msgspec.ValidationError as error:
        raise DamagedError(f"manifest is damaged: {error}", where=MANIFEST) from None


def digest_file(path: Path) -> Digest:
    """Digest of a file's bytes, as the run root takes them."""
    state = hashlib.sha256(b"run-file\x00")
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            state.update(chunk)
    return Digest(f"sha256:{state.hexdigest()}")


def digest_outputs(path: Path) -> Digest:
    """Digest of what the candidate produced: task, trial and outcome of each episode, in plan order."""
    state = hashlib.sha256(b"run-outputs\x00")
    for where, line in read_lines(path / TRAJECTORIES):
        trajectory = decode_record(line, Trajectory, where=where)
        row = [trajectory.task, trajectory.trial, trajectory.outcome]
        state.update(canonical_bytes(row) + b"\n")
    return Digest(f"sha256:{state.hexdigest()}")


def _load_document(path: Path) -> Json:
    try:
        if path.stat().st_size > _MAX_DOCUMENT_BYTES:
            raise LimitError(f"{path.name} is too large", expected=f"at most {_MAX_DOCUMENT_BYTES} bytes")
        return parse_json(path.read_bytes(), where=path.name)
    except CanonicalError as error:
        raise DamagedError(f"{path.name} is not JSON: {error.what}", where=error.where) from None
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}", where=str(path.parent)) from None
