"""Record what a local model says in a suite: as candidate, simulated API, user and judge.

    python snapshots/record.py SUITE --model NAME [--threads N] [--jobs N]

Plays the model's runs of suites.py live, needs the pinned llama.cpp build and the model (`make models`), and
writes `sources/SUITE/models/NAME.replay`, from which build.py takes it over. With --work a recording that was
cut off goes on where it stopped.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from drafts import ROLE_TABLES, Draft, recording_of
from suites import ModelPlay, Suite, find_suite

from replay.core.errors import ReplayError, UsageError
from replay.core.types import Snapshot
from replay.llm.manifest import load_manifests
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.store.archive.manifest import ArchiveFacts
from replay.store.snapshots import SnapshotStore
from replay.wiring.overlays import OVERLAY
from replay.wiring.places import manifests_folder
from replay.wiring.runs import RunRequest, execute_run


class Recorder:
    """Plays one model's runs of a suite and collects what was said."""

    def __init__(self, suite: Suite, model: str, options: argparse.Namespace, work: Path) -> None:
        """Build the suite without the model in `work`."""
        self._suite, self._model, self._options, self._work = suite, model, options, work
        self._archive = work / "suite.replay"
        Draft(suite, work).freeze(self._archive)
        self._rows: dict[str, dict[str, bytes]] = {table: {} for table in ROLE_TABLES}
        self._snapshots: dict[tuple[str, int], Snapshot] = {}

    def play(self, play: ModelPlay, number: int) -> None:
        """Play one run live; what an earlier one was asked already is read, not computed."""
        known = self._work / f"known-{number}"
        if self._snapshots and not known.exists():
            with SnapshotStore.create(known) as store:
                store.put_many(self._snapshots.values())
        execute_run(self._request(play, number, known if self._snapshots else None))
        overlay = self._work / f"run-{number}" / OVERLAY
        if not overlay.exists():
            # Earlier runs were asked everything that this one asks.
            return
        with SnapshotStore.open_reader(overlay) as store:
            for snapshot in store.scan():
                self._snapshots.setdefault((snapshot.key, snapshot.sequence), snapshot)
            for table in ROLE_TABLES:
                for name, row in store.table(table):
                    self._rows[table].setdefault(name, row)

    def freeze(self, path: Path) -> int:
        """Write the recording; returns how many answers it holds."""
        manifests = {manifest.name: manifest for manifest in load_manifests(manifests_folder())}
        facts = ArchiveFacts(
            name=f"{self._suite.name}-{self._model}",
            version=self._suite.version,
            benchmark=self._suite.benchmark,
            licences={self._model: manifests[self._model].licence},
            recorded="by snapshots/record.py",
        )
        tables = {name: rows.items() for name, rows in self._rows.items()}
        path.parent.mkdir(exist_ok=True)
        freeze(
            ArchiveContent(facts=facts, tables=tables, snapshots=self._snapshots.values()),
            path,
            overwrite=True,
        )
        return len(self._snapshots)

    def _request(self, play: ModelPlay, number: int, known: Path | None) -> RunRequest:
        word = f"model:{play.model}"
        return RunRequest(
            archive=str(self._archive),
            candidate=word,
            protocol=play.protocol,
            options=play.options,
            select=play.select,
            trials=play.trials,
            simulator_model=word if play.simulates else "",
            judge_model=word if play.judges else "",
            judge_runs=play.judge_runs if play.judges else None,
            user_model=word if play.speaks_as_user else "",
            without=play.without,
            overlay=str(known or ""),
            jobs=self._options.jobs,
            threads=self._options.threads,
            out=str(self._work / f"run-{number}"),
        )


def main(words: Sequence[str] | None = None) -> int:
    """Record one model in one suite."""
    parser = argparse.ArgumentParser(prog="python snapshots/record.py", description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("--model", required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--work", type=Path, help="keep the runs here; a recording that was cut off goes on")
    options = parser.parse_args(words)
    suite = find_suite(options.suite)
    plays = [] if suite is None else [play for play in suite.models if play.model == options.model]
    if suite is None or not plays:
        raise UsageError(
            f"no runs of {options.model!r} in a suite {options.suite!r}", expected="one listed in suites.py"
        )
    with tempfile.TemporaryDirectory(prefix="replay-record-") as folder:
        work = options.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        recorder = Recorder(suite, options.model, options, work)
        for number, play in enumerate(plays):
            sys.stdout.write(f"{suite.name}  {play.model}  {play.protocol or 'default protocol'}\n")
            recorder.play(play, number)
        path = recording_of(suite, options.model)
        sys.stdout.write(f"{path.name}  {recorder.freeze(path)} answers\n")
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except ReplayError as error:
        sys.stderr.write(f"record: {error}\n")
        raise SystemExit(error.exit_code) from None
