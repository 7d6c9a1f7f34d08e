"""Build the shipped archives and their recorded run roots from `snapshots/sources`.

    python snapshots/build.py [SUITE ...]    build all or some, and say what changed
    python snapshots/build.py --check        build aside and fail unless the committed files come out again

What is built is listed in suites.py; what local models said is read from their recordings (record.py makes
them), so that no model is needed here. Answers of a suite are invented, so they are labelled `scripted`.
"""

from __future__ import annotations

import filecmp
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from drafts import Draft
from msgspec.structs import replace
from suites import SUITES, Suite, find_suite

from replay.core.canonical import canonical_bytes
from replay.core.errors import InputError, ReplayError, UsageError
from replay.core.types import Json
from replay.store.archive.reader import read_manifest
from replay.wiring.runs import execute_run
from replay.wiring.shipped import ExpectedRun, Place, load_expected, request_of

FOLDER: Final = Path(__file__).resolve().parent


def build_suite(suite: Suite, work: Path) -> tuple[Path, list[ExpectedRun]]:
    """Build one archive in `work`; returns it and the runs whose roots are recorded for it."""
    draft = Draft(suite, work)
    for play in suite.plays:
        draft.play(play)
    draft.judge()
    for model in dict.fromkeys(play.model for play in suite.models):
        draft.add_recording(model)
    archive = work / f"{suite.name}-{suite.version}.replay"
    draft.freeze(archive)
    return archive, list(_record_roots(suite, archive, draft, work))


def _record_roots(suite: Suite, archive: Path, draft: Draft, work: Path) -> Iterator[ExpectedRun]:
    """Replay every run strictly from the finished archive and note its root."""
    root = read_manifest(archive).root
    asked = [words for play in suite.plays for words in draft.words_of(play)]
    asked += [words for play in suite.models for words in draft.words_of_model(play)]
    for number, words in enumerate(asked):
        expected = ExpectedRun(archive=archive.name, archive_root=root, run_root="", **words)
        place = Place(out=work / f"strict-{suite.name}-{number:02d}", home=work / "home")
        report = execute_run(request_of(expected, archive, place))
        stops = {stop for stop in report.summary.stops if stop.endswith("-miss")}
        roots = report.manifest.roots
        if roots is None or (stops and expected.simulator):
            raise InputError(
                f"the recording of {expected.candidate} does not answer what the suite asks now: {stops}",
                where=f"suite {suite.name}, run {number}",
                next_step=f"python snapshots/record.py {suite.name} --model {expected.candidate}",
            )
        yield replace(expected, run_root=roots.run_root)


def _build(names: Sequence[str], work: Path) -> Iterator[Path]:
    """Build the named suites, all without names; recorded roots of the others stay as they are."""
    runs: list[Json] = []
    for suite in SUITES:
        if names and suite.name not in names:
            held = [run for run in load_expected() if run.archive == f"{suite.name}-{suite.version}.replay"]
            runs += [msgspec.to_builtins(run) for run in held]
            continue
        folder = work / suite.name
        folder.mkdir()
        archive, recorded = build_suite(suite, folder)
        runs += [msgspec.to_builtins(run) for run in recorded]
        yield archive
    roots = work / "run-roots.json"
    document = canonical_bytes({"format_version": 1, "runs": runs})
    roots.write_bytes(msgspec.json.format(document, indent=2) + b"\n")
    yield roots


def main(words: list[str]) -> int:
    """Build or check; 1 when the check finds other bytes."""
    names = [word for word in words if word != "--check"]
    for name in names:
        if find_suite(name) is None:
            raise UsageError(f"no suite {name!r}", expected=", ".join(suite.name for suite in SUITES))
    different = 0
    with tempfile.TemporaryDirectory(prefix="replay-build-") as folder:
        for built in _build(names, Path(folder)):
            target = FOLDER / built.name
            same = target.exists() and filecmp.cmp(built, target, shallow=False)
            different += not same
            sys.stdout.write(f"{built.name}  {'unchanged' if same else 'changed'}\n")
            if not same and "--check" not in words:
                shutil.copyfile(built, target)
    return 1 if different and "--check" in words else 0


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1:]))
    except ReplayError as error:
        sys.stderr.write(f"build: {error}\n")
        raise SystemExit(error.exit_code) from None
