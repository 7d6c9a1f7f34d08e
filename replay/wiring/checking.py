"""Checks a run against its archive: hashes, scores again, summary again, and on request every step again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from replay.benchmarks.registry import get_benchmark
from replay.core.canonical import canonical_bytes
from replay.core.errors import InputError
from replay.core.trajectory import Trajectory, find_difference
from replay.core.types import Json, Record
from replay.engine.plan import PlanItem
from replay.engine.rundir.checking import RunFinding, verify_run
from replay.engine.rundir.reading import Run, load_run
from replay.engine.worker import EpisodeWorker
from replay.llm.judges import JudgeChain, RecordedJudge
from replay.wiring.library import Library
from replay.wiring.modes import STRICT
from replay.wiring.reopening import open_archive_of
from replay.wiring.sources import RECORDED, AnswerPlan, CandidatePlan
from replay.wiring.summaries import summarize_run
from replay.wiring.workers import WorkPlan, make_play_worker, make_scoring

__all__ = ["CheckedRun", "check_run"]

DIVERGED, CHECK_FAILED = 8, 1


class CheckedRun(Record, frozen=True, kw_only=True):
    """What a check of a run found."""

    root: str
    episodes: int
    rescored: int
    recomputed: int
    findings: tuple[RunFinding, ...]
    diverged: tuple[RunFinding, ...] = ()
    """Episodes that came out differently when they were played again."""
    not_rescored: str = ""
    """Why nothing was scored again; empty when it was."""

    @property
    def ok(self) -> bool:
        """True when nothing was found."""
        return not self.findings and not self.diverged

    @property
    def exit_code(self) -> int:
        """0, 8 when something diverged, else 1."""
        return DIVERGED if self.diverged else CHECK_FAILED if self.findings else 0

    def to_json(self) -> dict[str, Json]:
        """The document of `verify --json`."""
        return {"ok": self.ok, **msgspec.to_builtins(self)}


def check_run(
    path: Path,
    *,
    archive: str = "",
    home: Path | None = None,
    recompute: bool = False,
    progress: Callable[..., None] | None = None,
) -> CheckedRun:
    """Check a run directory.

    Without the run's archive only hashes are checked, and the result says so; recomputing needs it.
    Errors:  InputError when it is no run, or when it is to be recomputed and cannot be; the reason is named.
    """
    run = load_run(path)
    try:
        with open_archive_of(run, archive, home=home) as library:
            return _check_with(path, run, library, recompute=recompute, progress=progress)
    except InputError as error:
        if archive or recompute:
            raise
        found = verify_run(path)
        return CheckedRun(
            root=_root(run),
            episodes=found.episodes,
            rescored=0,
            recomputed=0,
            findings=found.findings,
            not_rescored=str(error),
        )


def _check_with(
    path: Path, run: Run, library: Library, *, recompute: bool, progress: Callable[..., None] | None
) -> CheckedRun:
    inputs = run.manifest.inputs
    judge = inputs.models.get("judge")
    chain = JudgeChain([] if judge is None else [RecordedJudge(library.store, judge)])
    scoring = make_scoring(library, inputs.settings, judge=chain)
    found = verify_run(path, rescore=scoring.score)
    findings = [*found.findings, *_check_summary(run)]
    diverged: list[RunFinding] = []
    recomputed = 0
    if recompute:
        worker = make_play_worker(msgspec.to_builtins(_replay_plan(run, library)))
        try:
            for recomputed, trajectory in enumerate(run.trajectories(), start=1):
                diverged += _replay(worker, trajectory)
                if progress is not None:
                    progress(recomputed, inputs.planned)
        finally:
            worker.close()
    return CheckedRun(
        root=_root(run),
        episodes=found.episodes,
        rescored=found.rescored,
        recomputed=recomputed,
        findings=tuple(findings),
        diverged=tuple(diverged),
    )


def _check_summary(run: Run) -> list[RunFinding]:
    """Sum the verdicts up again and compare."""
    if run.summary is None or not isinstance(run.summary, dict):
        return []
    plan = tuple(_item(trajectory) for trajectory in run.trajectories())
    benchmark = get_benchmark(run.manifest.inputs.benchmark)
    again = summarize_run(benchmark, run, plan, candidate=str(run.summary.get("candidate", "")))
    if canonical_bytes(msgspec.to_builtins(again)) == canonical_bytes(run.summary):
        return []
    return [RunFinding(member="summary.json", what="the verdicts sum up differently now")]


def _replay_plan(run: Run, library: Library) -> WorkPlan:
    """Plan a strict replay of the run's candidate from its archive."""
    inputs = run.manifest.inputs
    identity = inputs.models.get("candidate")
    named = [row.name for row in library.candidates().values() if row.identity == identity]
    if not named:
        raise InputError(
            "the run's candidate is not recorded in the archive, so its completions cannot be had again here",
            where=f"archive {library.label}",
            expected=f"completions of {identity!r}",
            next_step="verify without --recompute, or use the archive that the run was frozen into",
        )
    return WorkPlan(
        library=library.paths,
        settings=inputs.settings,
        answers=AnswerPlan(
            benchmark=inputs.benchmark,
            archive=library.paths.name,
            modes=STRICT,
            candidate=CandidatePlan(kind=RECORDED, name=named[0], identity=identity),
            judge=inputs.models.get("judge"),
        ),
    )


def _replay(worker: EpisodeWorker, recorded: Trajectory) -> list[RunFinding]:
    again = worker.run(_item(recorded)).trajectory
    if again.root == recorded.root:
        return []
    difference = find_difference(recorded, again)
    what = (
        f"step {difference.index} differs at {difference.path}"
        if difference is not None
        else f"ends with {again.stop!r}, recorded {recorded.stop!r}"
    )
    record = f"task {recorded.task}, trial {recorded.trial}"
    return [RunFinding(member="trajectories.jsonl", record=record, what=what)]


def _item(trajectory: Trajectory) -> PlanItem:
    return PlanItem(
        task=trajectory.task, split=trajectory.split, trial=trajectory.trial, seed=trajectory.seed
    )


def _root(run: Run) -> str:
    return run.manifest.roots.run_root if run.manifest.roots is not None else "none"
