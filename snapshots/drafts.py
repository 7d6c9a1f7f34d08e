"""What the players of a suite did, collected on top of its imported content, until it is frozen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from judging import JUDGE, HandJudge, load_verdicts
from msgspec.structs import replace
from suites import ModelPlay, Play, Suite

from replay.benchmarks.registry import get_benchmark, get_importer
from replay.core.protocols import Settings, SourceFile
from replay.core.types import Json, Mode, Output, Provenance, Snapshot
from replay.engine.roles import run_evaluation
from replay.engine.rundir.reading import load_run
from replay.llm.scripted import ScriptedCandidate
from replay.store.answers import model_scope
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.store.archive.reader import ArchiveReader
from replay.store.marker import file_digest
from replay.store.snapshots import SnapshotStore
from replay.wiring.importing import make_content, rows_of
from replay.wiring.library import CandidateRow, JudgeRow, Library, RoleRow, locate_stores, open_library
from replay.wiring.modes import STRICT
from replay.wiring.overlays import OVERLAY
from replay.wiring.runs import RunRequest, execute_run

__all__ = ["ROLE_TABLES", "Draft", "recording_of", "sources_of"]

ROLE_TABLES: Final = ("candidates", "judges", "judge-models", "simulators", "users")
"""Tables that name who said what is recorded."""


def sources_of(suite: Suite) -> Path:
    """Folder of a suite's sources."""
    return Path(__file__).resolve().parent / "sources" / suite.name


def recording_of(suite: Suite, model: str) -> Path:
    """File with what a model said in a suite."""
    return sources_of(suite) / "models" / f"{model}.replay"


class Draft:
    """A suite on its way to an archive."""

    def __init__(self, suite: Suite, work: Path) -> None:
        """Import the suite's sources; everything else is written below `work`."""
        self._suite, self._work = suite, work
        result = get_importer(suite.benchmark).load(sources_of(suite), suite.options)
        content, _ = make_content(replace(result, version=suite.version), name=suite.name)
        self._facts = content.facts
        self._tables: dict[str, dict[str, bytes]] = {
            name: dict(rows) for name, rows in content.tables.items()
        }
        # Invented answers are labelled as what they are.
        self._snapshots = [replace(snap, provenance=Provenance.SCRIPTED) for snap in content.snapshots]
        self._base = work / "draft.replay"
        freeze(content, self._base)
        self._outputs: list[Output] = []
        self._users: dict[str, str] = {}

    def play(self, play: Play) -> None:
        """Play a script against the recorded answers and keep completions and outputs."""
        script = self._script("scripts", play.candidate)
        user = self._script("users", play.user) if play.user else None
        request = RunRequest(
            archive=str(self._base),
            candidate=f"scripted:{script}",
            user_model="" if user is None else f"scripted:{user}",
            protocol=play.protocol,
            options=play.options,
            modes=replace(STRICT, candidate=Mode.RECORD, user=STRICT.user if user is None else Mode.RECORD),
            keep_errors=True,
            out=str(self._work / f"record-{play.candidate}"),
            home=str(self._work / "home"),
        )
        report = execute_run(request)
        settings = report.manifest.inputs.settings
        self._add_rows(
            "candidates",
            CandidateRow(
                name=play.candidate,
                identity=ScriptedCandidate.load(script).identity,
                protocol=settings.protocol,
                options=settings.options,
            ),
        )
        if user is not None:
            identity = ScriptedCandidate.load(user).identity
            self._users[play.user] = model_scope(identity)
            self._add_rows("users", RoleRow(name=model_scope(identity), identity=identity))
        with SnapshotStore.open_reader(Path(report.out) / OVERLAY) as overlay:
            self._snapshots += list(overlay.scan())
        self._keep_outputs(play.candidate, Path(report.out))

    def judge(self) -> None:
        """Ask the hand-written judge everything that scoring asks, with and without the reference."""
        files = load_verdicts(sources_of(self._suite) / "judge")
        if not files:
            return
        references = {play.candidate: play.reference for play in self._suite.plays}
        paths, _ = locate_stores(self._base, home=self._work / "home")
        with open_library(paths) as library:
            for output in self._outputs:
                for reference in sorted({"", references[output.candidate]}):
                    self._snapshots += self._judge_one(library, files, output, reference)
        self._add_rows("judges", JudgeRow(name=JUDGE["name"], identity=JUDGE))

    def add_recording(self, model: str) -> None:
        """Take over what a model said when it was recorded."""
        path = recording_of(self._suite, model)
        with ArchiveReader(path) as reader:
            for table in ROLE_TABLES:
                self._tables.setdefault(table, {}).update(reader.rows(table))
            recorded = list(reader.snapshots())
            licences = reader.manifest.licences
        self._snapshots += recorded
        source = SourceFile(
            path=f"models/{path.name}",
            digest=file_digest(path),
            records=len(recorded),
            licence=" AND ".join(sorted(set(licences.values()))),
        )
        self._facts = replace(
            self._facts,
            sources=tuple(sorted((*self._facts.sources, source), key=lambda entry: entry.path)),
            licences={**self._facts.licences, **licences},
        )

    def freeze(self, path: Path) -> None:
        """Freeze everything into an archive."""
        outputs = rows_of((f"{o.candidate}/{o.task}/{o.trial}/{o.format}", o) for o in self._outputs)
        tables: dict[str, Iterable[tuple[str, bytes]]] = {
            name: rows.items() for name, rows in self._tables.items()
        }
        unique = {(snap.key, snap.sequence): snap for snap in self._snapshots}
        freeze(
            ArchiveContent(
                facts=self._facts,
                tables=tables | {"outputs": [*tables.get("outputs", ()), *outputs]},
                snapshots=unique.values(),
            ),
            path,
        )

    def words_of(self, play: Play) -> Iterator[dict[str, Json]]:
        """Say what a scripted candidate's recorded run asks for, as fields of ExpectedRun."""
        yield {
            "candidate": play.candidate,
            "reference": play.reference,
            "user": self._users.get(play.user, ""),
        }

    def words_of_model(self, play: ModelPlay) -> Iterator[dict[str, Json]]:
        """Say what a model's recorded runs ask for: all of it, then the part that is also played live."""
        words: dict[str, Json] = {
            "candidate": play.model,
            "protocol": play.protocol,
            "options": play.options,
            "trials": play.trials,
            "user": play.model if play.speaks_as_user else "",
            "simulator": play.model if play.simulates else "",
            "judge_model": play.model if play.judges else "",
            "judge_runs": play.judge_runs if play.judges else None,
            "without": play.without,
        }
        yield words | {"select": play.select}
        if play.live:
            yield words | {"select": play.live, "is_live": True}

    def _script(self, kind: str, name: str) -> Path:
        return sources_of(self._suite) / kind / f"{name}.json"

    def _add_rows(self, table: str, *rows: CandidateRow | JudgeRow | RoleRow) -> None:
        self._tables.setdefault(table, {}).update(rows_of((row.name, row) for row in rows))

    def _keep_outputs(self, candidate: str, run: Path) -> None:
        """Keep each outcome in the first of the benchmark's forms that it has, for comparisons with it."""
        forms = get_benchmark(self._suite.benchmark).forms
        for trajectory in load_run(run).trajectories():
            held: Mapping[str, Json] = trajectory.outcome if isinstance(trajectory.outcome, dict) else {}
            form = next((form for form in forms if held.get(form) is not None), "")
            if form:
                self._outputs.append(
                    Output(
                        candidate=candidate,
                        task=trajectory.task,
                        trial=trajectory.trial,
                        format=form,
                        data=held[form],
                        source="played",
                    )
                )

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
