"""Replays every archive that ships with the product and checks the run roots that were recorded for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from replay.core.canonical import parse_json
from replay.core.errors import DamagedError, InputError
from replay.core.types import Json, Record
from replay.store.archive.reader import read_manifest
from replay.wiring.modes import STRICT
from replay.wiring.places import expected_roots_file, shipped_folder
from replay.wiring.runs import RunReport, RunRequest, execute_run

__all__ = ["ExpectedRun", "Place", "ShippedRun", "load_expected", "replay_shipped", "request_of"]


class ExpectedRun(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One run whose root is recorded beside the shipped archives: what to ask for, and what comes out."""

    archive: str
    """File name of the archive."""
    archive_root: str
    candidate: str
    protocol: str = ""
    """Empty: the one that was recorded with the candidate; the same holds for options that are not given."""
    options: dict[str, Json] = msgspec.field(default_factory=dict)
    reference: str = ""
    trials: int = 1
    select: tuple[str, ...] = ()
    user: str = ""
    """Recorded user, simulator and judge model by name; empty for none."""
    simulator: str = ""
    judge_model: str = ""
    judge_runs: int | None = None
    without: tuple[str, ...] = ()
    """Tools whose recorded answers are not served."""
    is_live: bool = False
    """True for a run that a machine with the model plays again, to the same root."""
    run_root: str

    @property
    def label(self) -> str:
        """What is shown of it."""
        parts = [
            f"candidate {self.candidate}",
            self.protocol,
            f"simulator {self.simulator}" if self.simulator else "",
            f"without {len(self.without)} tools" if self.without else "",
            f"judge {self.judge_model}" if self.judge_model else "",
            f"user {self.user}" if self.user else "",
            _name_selection(self.select),
        ]
        return ", ".join(part for part in parts if part)


def _name_selection(select: tuple[str, ...]) -> str:
    """Count the tasks that are named; how many a pattern stands for is known only where it is played."""
    if any(mark in pattern for pattern in select for mark in "*?["):
        return "some tasks"
    return f"{len(select)} task{'s' if len(select) > 1 else ''}" if select else ""


class Place(Record, frozen=True, kw_only=True):
    """Where shipped runs are played and with how many processes; changes nothing but time and paths."""

    out: Path
    home: Path | None = None
    jobs: int = 1


class ShippedRun(Record, frozen=True, kw_only=True):
    """One of them, replayed."""

    expected: ExpectedRun
    archive_root: str
    report: RunReport

    @property
    def ok(self) -> bool:
        """True when both roots are the recorded ones."""
        roots = self.report.manifest.roots
        found = (self.archive_root, roots.run_root if roots is not None else "")
        return found == (self.expected.archive_root, self.expected.run_root)


class _ExpectedFile(Record, frozen=True, kw_only=True):
    format_version: int
    runs: tuple[ExpectedRun, ...]


def load_expected() -> tuple[ExpectedRun, ...]:
    """Read the recorded run roots. Errors: DamagedError, InputError when the file is not there."""
    path = expected_roots_file()
    try:
        document = parse_json(path.read_bytes(), where=path.name)
    except OSError as error:
        raise InputError(f"cannot read the recorded run roots: {error.strerror}", where=path.name) from None
    try:
        return msgspec.convert(document, _ExpectedFile).runs
    except msgspec.ValidationError as error:
        raise DamagedError(f"not a list of recorded run roots: {error}", where=path.name) from None


def request_of(expected: ExpectedRun, archive: Path, place: Place) -> RunRequest:
    """Ask for a recorded run in STRICT; `place.out` becomes its run directory."""
    return RunRequest(
        archive=str(archive),
        candidate=expected.candidate,
        protocol=expected.protocol,
        options=expected.options,
        reference=expected.reference,
        trials=expected.trials,
        select=expected.select,
        user_model=expected.user,
        simulator_model=expected.simulator,
        judge_model=expected.judge_model,
        judge_runs=expected.judge_runs,
        without=expected.without,
        modes=STRICT,
        jobs=place.jobs,
        out=str(place.out),
        home=str(place.home or ""),
    )


def replay_shipped(place: Place, *, starting: Callable[[ExpectedRun], None]) -> Iterator[ShippedRun]:
    """Replay every shipped run in STRICT into folders below `place.out`, fresh each time."""
    for number, expected in enumerate(load_expected()):
        starting(expected)
        archive = shipped_folder() / expected.archive
        name = f"{number:02d}-{archive.stem}-{expected.candidate}"
        report = execute_run(
            request_of(expected, archive, msgspec.structs.replace(place, out=place.out / name))
        )
        yield ShippedRun(expected=expected, archive_root=read_manifest(archive).root, report=report)
