"""One episode as lines of the run's three append-only files, and those files themselves.

Lines are canonical JSON, one record each, in plan order. A torn last line is what a killed process leaves; it
is cut off on resume. Anything else that cannot be read is damage and is named with its record number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.costs import Cost
from replay.core.errors import CanonicalError, DamagedError, LimitError
from replay.core.types import Record, Snapshot
from replay.engine.worker import EpisodeResult

__all__ = [
    "MAX_LINE_BYTES",
    "TIMINGS",
    "TRAJECTORIES",
    "VERDICTS",
    "EpisodeLines",
    "Timing",
    "decode_record",
    "decode_snapshots",
    "encode_episode",
    "encode_record",
    "read_lines",
    "repair_lines",
]

TRAJECTORIES: Final = "trajectories.jsonl"
VERDICTS: Final = "verdicts.jsonl"
TIMINGS: Final = "timings.jsonl"

MAX_LINE_BYTES: Final = 256 * 1024 * 1024
"""One episode with hundreds of answers of the largest size that a store takes is still below this."""

_Shape = TypeVar("_Shape", bound=Record)


class Timing(Record, frozen=True, kw_only=True):
    """How one episode went on this machine; never hashed."""

    task: str
    trial: int
    elapsed_s: float
    network_attempts: int = 0
    costs: dict[str, Cost] = msgspec.field(default_factory=dict)
    """What local models cost, by the part of the run that asked."""


class EpisodeLines(Record, frozen=True, kw_only=True):
    """One finished episode, encoded where it ran."""

    task: str
    trial: int
    stop: str
    trajectory: bytes
    """Canonical JSON without line end, like the next three."""
    verdicts: bytes
    timing: bytes
    snapshots: tuple[bytes, ...] = ()
    """New snapshots to be written to the overlay before the lines are appended."""
    network_attempts: int = 0
    elapsed_s: float = 0.0


def encode_episode(result: EpisodeResult) -> EpisodeLines:
    """Encode a result. Raises CanonicalError when it holds a value that cannot be hashed honestly."""
    trajectory = result.trajectory
    timing = Timing(
        task=trajectory.task,
        trial=trajectory.trial,
        elapsed_s=round(result.elapsed_s, 6),
        network_attempts=result.network_attempts,
        costs=result.costs,
    )
    return EpisodeLines(
        task=trajectory.task,
        trial=trajectory.trial,
        stop=trajectory.stop,
        trajectory=encode_record(trajectory),
        verdicts=encode_record(result.verdicts),
        timing=encode_record(timing),
        snapshots=tuple(encode_record(snapshot) for snapshot in result.snapshots),
        network_attempts=result.network_attempts,
        elapsed_s=result.elapsed_s,
    )


def encode_record(record: Record) -> bytes:
    """Encode a record as canonical JSON."""
    return canonical_bytes(msgspec.to_builtins(record))


def decode_record(line: bytes, shape: type[_Shape], *, where: str) -> _Shape:
    """Decode one line. Raises DamagedError naming file and record when it is not such a record."""
    try:
        return msgspec.convert(parse_json(line), shape)
    except CanonicalError as error:
        raise DamagedError(f"line is not JSON: {error.what}", where=where) from None
    except msgspec.ValidationError as error:
        raise DamagedError(f"line is no {shape.__name__.lower()}: {error}", where=where) from None


def read_lines(path: Path, *, max_bytes: int = MAX_LINE_BYTES) -> Iterator[tuple[str, bytes]]:
    """Iterate over the lines of a finished file as (where, line).

    Errors:  DamagedError when the file is missing or its last line is torn; LimitError for an absurd line.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(max_bytes + 1):
                number += 1
                where = f"{path.name}, record {number}"
                if len(line) > max_bytes:
                    raise LimitError("line is too long", where=where, expected=f"at most {max_bytes} bytes")
                if not line.endswith(b"\n"):
                    raise DamagedError(
                        "line is cut off", where=where, next_step="run the same command again: it resumes"
                    )
                yield where, line[:-1]
    except FileNotFoundError:
        raise DamagedError(f"{path.name} is missing", expected="a finished run folder") from None


def repair_lines(path: Path, shape: type[_Shape]) -> list[tuple[str, int]]:
    """Cut a torn last line off a file and list (task, trial) of the others; a missing file is made.

    Errors:  DamagedError when a line that is not the last cannot be read: that is no torn write.
    """
    found: list[tuple[str, int]] = []
    good = 0
    with path.open("a+b") as file:
        file.seek(0)
        while line := file.readline(MAX_LINE_BYTES + 1):
            where = f"{path.name}, record {len(found) + 1}"
            try:
                if not line.endswith(b"\n"):
                    break
                record = decode_record(line[:-1], shape, where=where)
            except DamagedError:
                if file.read(1):
                    raise
                break
            found.append((record.task, record.trial))  # type: ignore[attr-defined]
            good += len(line)
        file.truncate(good)
        os.fsync(file.fileno())
    return found


def decode_snapshots(lines: EpisodeLines) -> tuple[Snapshot, ...]:
    """Decode the new snapshots of an episode."""
    return tuple(decode_record(line, Snapshot, where=f"task {lines.task}") for line in lines.snapshots)
