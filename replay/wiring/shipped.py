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

__all__ = ["ExpectedRun", "ShippedRun", "load_expected", "replay_shipped"]


class ExpectedRun(Record, frozen=True, kw_only=True):
    """One run whose root is recorded beside the shipped archives."""

    archive: str
    """File name of the archive."""
    archive_root: str
    candidate: str
    reference: str = ""
    trials: int = 1
    options: dict[str, Json] = msgspec.field(default_factory=dict)
    run_root: str


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


def replay_shipped(
    out: Path, *, jobs: int = 1, home: Path | None = None, starting: Callable[[ExpectedRun], None]
) -> Iterator[ShippedRun]:
    """Replay every shipped run in STRICT into folders below `out`, fresh each time."""
    for number, expected in enumerate(load_expected()):
        starting(expected)
        archive = shipped_folder() / expected.archive
        request = RunRequest(
            archive=str(archive),
            candidate=expected.candidate,
            reference=expected.reference,
            trials=expected.trials,
            options=expected.options,
            modes=STRICT,
            jobs=jobs,
            out=str(out / f"{number:02d}-{archive.stem}-{expected.candidate}"),
            home=str(home or ""),
        )
        report = execute_run(request)
        yield ShippedRun(expected=expected, archive_root=read_manifest(archive).root, report=report)
