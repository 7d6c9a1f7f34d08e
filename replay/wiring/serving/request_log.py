"""The request log of a server as a run directory, so that verify, explain and misses read it like any run.

Each request is an episode of one step. While the server runs, each worker appends to a file of its own, each
line handed to the operating system before the client gets its answer; a run directory is made of them when it
stops. What a killed server left is picked up by the next one with the same log.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from replay import __version__
from replay.core.canonical import canonical_bytes
from replay.core.errors import CanonicalError, InputError, StoreError
from replay.core.keys import RECIPE_VERSION
from replay.core.protocols import Settings
from replay.core.trajectory import NoteStep, Step, Trajectory, make_trajectory
from replay.core.types import Json, Record
from replay.engine.plan import PlanItem, digest_plan
from replay.engine.roles import EpisodeVerdicts
from replay.engine.rundir.lines import encode_episode
from replay.engine.rundir.manifest import RunInputs, RunManifest
from replay.engine.rundir.writing import RunFolder
from replay.engine.worker import EpisodeResult

__all__ = ["SERVED", "LogFolder", "StepLog", "is_recording", "is_served"]

SERVED: Final = "served"
"""Split of the episodes of a request log, and its mark in the inputs, which no benchmark run has."""

_RECORDING: Final = "recording"
_SUFFIX: Final = ".requests"


class _Line(Record, frozen=True, kw_only=True):
    step: Step
    stop: str = "finished"
    detail: str = ""


class StepLog:
    """One worker's file of requests."""

    def __init__(self, file: BinaryIO) -> None:
        """Append to an unbuffered file."""
        self._file = file
        self._encoder = msgspec.json.Encoder()

    def write(self, step: Step, *, stop: str = "finished", detail: str = "") -> None:
        """Write one request down. Errors: StoreError when the disk is full or gone."""
        line = self._encoder.encode(_Line(step=step, stop=stop, detail=detail)) + b"\n"
        done = 0
        try:
            while done < len(line):
                # A disk that is nearly full takes a part, and refuses only the next one.
                done += self._file.write(line[done:] if done else line)
        except OSError as error:
            self._take_back(done)
            raise StoreError(
                f"the request log cannot be written: {error.strerror}",
                next_step="free the disk, or serve without --log",
            ) from None

    def _take_back(self, count: int) -> None:
        """Cut off the half line, so that the next one begins on its own."""
        if count:
            end = self._file.tell() - count
            self._file.truncate(end)
            self._file.seek(end)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class LogFolder:
    """Where a server's requests go."""

    def __init__(self, path: Path) -> None:
        """Log into this folder, which need not exist.

        Errors:  InputError when it holds a finished log or something else.
        """
        self._path = path
        self._parts = path.with_name(path.name + _SUFFIX)
        if path.exists():
            raise InputError(
                "the folder of the log is taken",
                where=str(path),
                expected="a new folder",
                next_step="choose another --log folder",
            )
        try:
            self._parts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the log cannot be made: {error.strerror}", where=str(path)) from None

    def open(self, worker: int) -> StepLog:
        """Open the file of one worker, behind what an earlier server left in it."""
        path = self._parts / f"{worker}.jsonl"
        _cut_half_line(path)
        return StepLog(path.open("ab", buffering=0))

    def finish(
        self, *, benchmark: str, archives: dict[str, str], attempts: int, is_recording: bool = False
    ) -> Path | None:
        """Make the run directory of everything that was logged; None when nothing was.

        attempts: network calls that the guard refused while serving.
        is_recording: whether answers were recorded while they were given.
        """
        episodes = tuple(_read_parts(self._parts, benchmark))
        if not episodes:
            shutil.rmtree(self._parts)
            return None
        plan = tuple(PlanItem(task=e.task, split=e.split, trial=e.trial, seed=e.seed) for e in episodes)
        extra = {SERVED: True, _RECORDING: True} if is_recording else {SERVED: True}
        manifest = _make_manifest(plan, benchmark, archives, extra)
        with RunFolder(self._path, manifest, plan) as folder:
            for number, episode in enumerate(episodes):
                verdicts = EpisodeVerdicts(
                    task=episode.task, split=episode.split, trial=episode.trial, verdicts=()
                )
                counted = attempts if number == 0 else 0
                result = EpisodeResult(trajectory=episode, verdicts=verdicts, network_attempts=counted)
                folder.append(encode_episode(result))
            folder.finish(_summarize(episodes, benchmark))
        shutil.rmtree(self._parts)
        return self._path


def is_served(extra: Json) -> bool:
    """Tell a request log from a benchmark run by the `extra` of its inputs."""
    return isinstance(extra, dict) and extra.get(SERVED) is True


def is_recording(extra: Json) -> bool:
    """Tell the log of a server that recorded: its answers are in what was frozen after it, or in a layer."""
    return is_served(extra) and isinstance(extra, dict) and extra.get(_RECORDING) is True


def _make_manifest(
    plan: tuple[PlanItem, ...], benchmark: str, archives: dict[str, str], extra: dict[str, Json]
) -> RunManifest:
    inputs = RunInputs(
        benchmark=benchmark,
        archives=archives,
        settings=Settings(),
        plan=digest_plan(plan),
        planned=len(plan),
        recipe_version=RECIPE_VERSION,
        extra=extra,
    )
    return RunManifest(inputs=inputs, conditions={"program": __version__})


def _summarize(episodes: tuple[Trajectory, ...], benchmark: str) -> Json:
    stops = Counter(episode.stop for episode in episodes)
    return {"benchmark": benchmark, SERVED: len(episodes), "stops": dict(sorted(stops.items()))}


def _read_parts(folder: Path, benchmark: str) -> Iterator[Trajectory]:
    """Read all workers' files; the number of a request is its place in its worker's file."""
    for path in sorted(folder.glob("*.jsonl"), key=lambda path: int(path.stem)):
        _cut_half_line(path)
        with path.open("rb") as file:
            for number, raw in enumerate(file):
                line = msgspec.json.decode(raw, type=_Line)
                yield _make_episode(line, benchmark, f"{path.stem}-{number:06d}")


def _make_episode(line: _Line, benchmark: str, task: str) -> Trajectory:
    step = line.step
    try:
        canonical_bytes({"steps": [msgspec.to_builtins(step)]})
    except CanonicalError as error:
        step = NoteStep(name="not-hashable", data={"why": error.what})
    return make_trajectory(
        benchmark=benchmark,
        task=task,
        split=SERVED,
        trial=0,
        seed=0,
        steps=(step,),
        stop=line.stop,
        stop_detail=line.detail,
    )


def _cut_half_line(path: Path) -> None:
    """Drop the line that a killed server was writing: its client never got the answer."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole != len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
