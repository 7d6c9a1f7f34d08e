"""Build the shipped archives and their recorded run roots from `snapshots/sources`.

    python snapshots/build.py            build, and say what changed
    python snapshots/build.py --check    build aside and fail unless the committed files come out again

A suite is a folder in its benchmark's own upstream layout, with `scripts/*.json` (scripted candidates) and
`judge/*.json` (verdicts written by hand). Its answers are invented, so they are labelled `scripted`.
"""

from __future__ import annotations

import filecmp
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from replay.benchmarks.registry import get_benchmark, get_importer
from replay.core.canonical import canonical_bytes, parse_json
from replay.core.protocols import Settings
from replay.core.types import (
    Json,
    JudgeRequest,
    JudgeVerdict,
    Mode,
    Output,
    Provenance,
    Record,
    Snapshot,
)
from replay.engine.roles import run_evaluation
from replay.engine.rundir.reading import load_run
from replay.llm.scripted import ScriptedCandidate
from replay.store.answers import make_verdict_snapshot
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.store.archive.reader import read_manifest
from replay.store.snapshots import SnapshotStore
from replay.wiring.importing import make_content, rows_of
from replay.wiring.library import CandidateRow, JudgeRow, Library, locate_stores, open_library
from replay.wiring.modes import STRICT
from replay.wiring.overlays import OVERLAY
from replay.wiring.runs import RunRequest, execute_run

FOLDER: Final = Path(__file__).resolve().parent
JUDGE: Final[Json] = {"name": "panel", "kind": "written by hand", "runs": 3}


class Suite(Record, frozen=True, kw_only=True):
    """One shipped archive."""

    name: str
    version: str
    benchmark: str
    candidates: dict[str, str]
    """Name of each script to the protocol it plays."""
    reference: str
    """Candidate that the others are compared with."""
    compared: tuple[str, ...]
    """Candidates that have preferences against the reference."""


SUITES: Final = (
    Suite(
        name="stabletoolbench-mini",
        version="1.0",
        benchmark="stabletoolbench",
        candidates={"cot": "CoT@1", "dfs": "DFS_woFilter_w2", "weak": "CoT@1"},
        reference="cot",
        compared=("dfs",),
    ),
)


class HandJudge:
    """Answers as the judge files say: by candidate and task, whatever the evidence, which is then hashed."""

    identity: Json = JUDGE

    def __init__(self, files: dict[str, Json], candidate: str, task: str) -> None:
        """Judge one candidate's answer to one task and keep every verdict as a snapshot."""
        self._files, self._candidate, self._task = files, candidate, task
        self.snapshots: list[Snapshot] = []
        self.reference_answers: Json = None

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Look the verdict up; None where nobody wrote one."""
        found = self._find(request)
        if found is None:
            return None
        verdict = JudgeVerdict(
            label=found["label"],
            reason=found.get("reason", ""),
            raw=found.get("reply", ""),
            provenance=Provenance.SCRIPTED,
            judge=JUDGE["name"],
        )
        self.snapshots.append(make_verdict_snapshot(JUDGE, request, verdict))
        return verdict

    def _find(self, request: JudgeRequest) -> Json:
        rubric = self._files.get(request.rubric)
        if rubric is None:
            return None
        candidate = self._candidate
        if request.rubric == "sopr" and self._is_reference(request.evidence["answer"]):
            candidate = self._files["sowr"]["reference"]
        written = rubric["verdicts"].get(candidate, {}).get(self._task)
        return written[request.run] if isinstance(written, list) else written

    def _is_reference(self, answer: Json) -> bool:
        """A comparison asks for the status of the reference's answer too."""
        shown = self.reference_answers
        return shown is not None and answer["answer_details"] == shown["answer_details"]


def build_suite(suite: Suite, work: Path) -> tuple[Path, list[Json]]:
    """Build one archive in `work`; returns it and the runs whose roots are recorded for it."""
    source = FOLDER / "sources" / suite.name
    result = get_importer(suite.benchmark).load(source, {})
    content, _ = make_content(replace(result, version=suite.version), name=suite.name)
    content = _labelled(content)
    drafts = _Drafts(suite, content, work)
    for name in suite.candidates:
        drafts.play(name, source / "scripts" / f"{name}.json")
    drafts.judge(
        {path.stem: parse_json(path.read_bytes()) for path in sorted((source / "judge").glob("*.json"))}
    )
    final = work / f"{suite.name}-{suite.version}.replay"
    drafts.freeze(final)
    return final, [_record_root(suite, final, name, work) for name in suite.candidates]


class _Drafts:
    """What the scripted candidates did, collected on top of the imported content."""

    def __init__(self, suite: Suite, content: ArchiveContent, work: Path) -> None:
        self._suite, self._content, self._work = suite, content, work
        self._base = work / "draft.replay"
        freeze(content, self._base)
        self._candidates: list[CandidateRow] = []
        self._outputs: list[Output] = []
        self._snapshots: list[Snapshot] = []

    def play(self, name: str, script: Path) -> None:
        """Play a script against the recorded answers and keep completions and outputs."""
        request = RunRequest(
            archive=str(self._base),
            candidate=f"scripted:{script}",
            protocol=self._suite.candidates[name],
            modes=replace(STRICT, candidate=Mode.RECORD),
            keep_errors=True,
            out=str(self._work / f"record-{name}"),
            home=str(self._work / "home"),
        )
        report = execute_run(request)
        settings = report.manifest.inputs.settings
        self._candidates.append(
            CandidateRow(
                name=name,
                identity=ScriptedCandidate.load(script).identity,
                protocol=settings.protocol,
                options=settings.options,
            )
        )
        with SnapshotStore.open_reader(Path(report.out) / OVERLAY) as overlay:
            self._snapshots += list(overlay.scan())
        self._outputs += [
            Output(
                candidate=name,
                task=trajectory.task,
                trial=trajectory.trial,
                format="converted",
                data=trajectory.outcome["converted"],
                source="played",
            )
            for trajectory in load_run(Path(report.out)).trajectories()
            if trajectory.outcome is not None and trajectory.outcome.get("converted") is not None
        ]

    def judge(self, files: dict[str, Json]) -> None:
        """Ask the hand-written judge everything that scoring asks, with and without the reference."""
        paths, _ = locate_stores(self._base, home=self._work / "home")
        with open_library(paths) as library:
            for output in self._outputs:
                compared = output.candidate in self._suite.compared
                for reference in ("", self._suite.reference) if compared else ("",):
                    self._snapshots += self._judge_one(library, files, output, reference)

    def _judge_one(
        self, library: Library, files: dict[str, Json], output: Output, reference: str
    ) -> list[Snapshot]:
        benchmark = get_benchmark(self._suite.benchmark)
        task = next(task for task in library.tasks() if task.id == output.task)
        other = next((o for o in self._outputs if (o.candidate, o.task) == (reference, task.id)), None)
        against = None if other is None else benchmark.outcome_of(other, task)
        judge = HandJudge(files, output.candidate, output.task)
        judge.reference_answers = None if other is None else other.data["answer"]
        settings = benchmark.check_settings(Settings(reference=reference))
        outcome = benchmark.outcome_of(output, task)
        run_evaluation(
            benchmark.evaluate(task, outcome, trial=output.trial, settings=settings, reference=against), judge
        )
        return judge.snapshots

    def freeze(self, path: Path) -> None:
        """Freeze everything into the shipped archive."""
        tables: dict[str, Iterable[tuple[str, bytes]]] = {
            **self._content.tables,
            "candidates": rows_of((row.name, row) for row in self._candidates),
            "judges": rows_of([(JUDGE["name"], JudgeRow(name=JUDGE["name"], identity=JUDGE))]),
            "outputs": rows_of((f"{o.candidate}/{o.task}/{o.trial}/{o.format}", o) for o in self._outputs),
        }
        unique = {(s.key, s.sequence): s for s in (*self._content.snapshots, *self._snapshots)}
        freeze(ArchiveContent(facts=self._content.facts, tables=tables, snapshots=unique.values()), path)


def _labelled(content: ArchiveContent) -> ArchiveContent:
    """Label invented answers as what they are."""
    snapshots = [replace(snap, provenance=Provenance.SCRIPTED) for snap in content.snapshots]
    return ArchiveContent(facts=content.facts, tables=content.tables, snapshots=snapshots)


def _record_root(suite: Suite, archive: Path, name: str, work: Path) -> Json:
    """Replay a candidate strictly from the finished archive and note both roots."""
    reference = suite.reference if name in suite.compared else ""
    report = execute_run(
        RunRequest(
            archive=str(archive),
            candidate=name,
            reference=reference,
            modes=STRICT,
            out=str(work / f"strict-{name}"),
            home=str(work / "home"),
        )
    )
    assert report.manifest.roots is not None
    return {
        "archive": archive.name,
        "archive_root": read_manifest(archive).root,
        "candidate": name,
        "reference": reference,
        "run_root": report.manifest.roots.run_root,
    }


def _build_all(work: Path) -> Iterator[Path]:
    runs: list[Json] = []
    for suite in SUITES:
        archive, recorded = build_suite(suite, work)
        runs += recorded
        yield archive
    roots = work / "run-roots.json"
    document = canonical_bytes({"format_version": 1, "runs": runs})
    roots.write_bytes(msgspec.json.format(document, indent=2) + b"\n")
    yield roots


def main(words: list[str]) -> int:
    """Build or check; 1 when the check finds other bytes."""
    different = 0
    with tempfile.TemporaryDirectory(prefix="replay-build-") as folder:
        for built in _build_all(Path(folder)):
            target = FOLDER / built.name
            same = target.exists() and filecmp.cmp(built, target, shallow=False)
            different += not same
            sys.stdout.write(f"{built.name}  {'unchanged' if same else 'changed'}\n")
            if not same and "--check" not in words:
                shutil.copyfile(built, target)
    return 1 if different and "--check" in words else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
