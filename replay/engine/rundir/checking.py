"""Checks a finished run directory: every chain, every file digest, the run root, and the scores again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from replay.core.errors import FormatError, InputError
from replay.core.trajectory import Trajectory, make_trajectory
from replay.core.types import Record
from replay.engine.plan import PlanItem, digest_plan
from replay.engine.roles import EpisodeVerdicts
from replay.engine.rundir.lines import TRAJECTORIES, VERDICTS, encode_record
from replay.engine.rundir.manifest import RunManifest, RunRoots, make_roots, seal_manifest
from replay.engine.rundir.reading import MANIFEST, SUMMARY, Run, digest_file, digest_outputs, load_run

__all__ = ["RunCheck", "RunFinding", "verify_run"]


class RunFinding(Record, frozen=True, kw_only=True):
    """One thing that does not agree."""

    member: str
    """File of the run directory."""
    record: str = ""
    """Task and trial, empty for a whole file."""
    what: str


class RunCheck(Record, frozen=True, kw_only=True):
    """What a check found."""

    roots: RunRoots | None
    """Recomputed from the files; None when they cannot be read."""
    episodes: int
    rescored: int
    findings: tuple[RunFinding, ...]

    @property
    def ok(self) -> bool:
        """True when nothing was found."""
        return not self.findings


def verify_run(path: Path, *, rescore: Callable[[Trajectory], EpisodeVerdicts] | None = None) -> RunCheck:
    """Re-hash a finished run and, with `rescore`, score every episode again (Scoring.score).

    Everything that disagrees is a finding; nothing is repaired.

    Errors:  InputError when it is no run directory or an unfinished one; NewerFormatError.
    """
    run = load_run(path)
    if run.manifest.roots is None:
        raise InputError(
            "run is not finished",
            where=str(path),
            expected="a run that came to its end",
            next_step="run the same command again: it resumes after the last finished episode",
        )
    episodes = _Episodes(rescore)
    findings = episodes.check(run)
    roots = _recompute(path, run)
    findings += _compare_roots(run.manifest.roots, roots)
    findings += _check_manifest(path, run.manifest)
    return RunCheck(
        roots=roots, episodes=len(episodes.items), rescored=episodes.rescored, findings=tuple(findings)
    )


class _Episodes:
    """Goes through the episodes of a run once."""

    def __init__(self, rescore: Callable[[Trajectory], EpisodeVerdicts] | None) -> None:
        self._rescore = rescore
        self.items: list[PlanItem] = []
        self.rescored = 0

    def check(self, run: Run) -> list[RunFinding]:
        findings: list[RunFinding] = []
        try:
            for trajectory, verdicts in zip(run.trajectories(), run.verdicts(), strict=True):
                findings += self._check_episode(trajectory, verdicts)
        except FormatError as error:
            return [*findings, RunFinding(member=error.where, what=str(error))]
        except ValueError:
            findings.append(RunFinding(member=VERDICTS, what="holds another number of records"))
        if digest_plan(self.items) != run.manifest.inputs.plan:
            what = f"its {len(self.items)} episodes are not the {run.manifest.inputs.planned} of the plan"
            findings.append(RunFinding(member=TRAJECTORIES, what=what))
        return findings

    def _check_episode(self, trajectory: Trajectory, verdicts: EpisodeVerdicts) -> list[RunFinding]:
        self.items.append(
            PlanItem(
                task=trajectory.task, split=trajectory.split, trial=trajectory.trial, seed=trajectory.seed
            )
        )
        findings = _check_chain(trajectory)
        if (trajectory.task, trajectory.trial) != (verdicts.task, verdicts.trial):
            findings.append(_finding(VERDICTS, trajectory, f"is of task {verdicts.task}"))
        elif self._rescore is not None:
            self.rescored += 1
            if encode_record(self._rescore(trajectory)) != encode_record(verdicts):
                findings.append(_finding(VERDICTS, trajectory, "scores differently now"))
        return findings


def _check_chain(trajectory: Trajectory) -> list[RunFinding]:
    again = make_trajectory(
        benchmark=trajectory.benchmark,
        task=trajectory.task,
        split=trajectory.split,
        trial=trajectory.trial,
        seed=trajectory.seed,
        steps=trajectory.steps,
        stop=trajectory.stop,
        stop_detail=trajectory.stop_detail,
        outcome=trajectory.outcome,
    )
    if again.digests == trajectory.digests:
        return []
    pairs = zip(again.digests, trajectory.digests, strict=False)
    first = next((index for index, (ours, theirs) in enumerate(pairs) if ours != theirs), len(again.digests))
    return [_finding(TRAJECTORIES, trajectory, f"step {first} does not have its digest")]


def _recompute(path: Path, run: Run) -> RunRoots | None:
    try:
        return make_roots(
            run.manifest.inputs,
            trajectories=digest_file(path / TRAJECTORIES),
            verdicts=digest_file(path / VERDICTS),
            summary=digest_file(path / SUMMARY),
            outputs=digest_outputs(path),
        )
    except (FormatError, OSError):
        return None


def _compare_roots(held: RunRoots, found: RunRoots | None) -> list[RunFinding]:
    if found is None:
        return [RunFinding(member=MANIFEST, what="its roots cannot be recomputed")]
    files = {
        "inputs": MANIFEST,
        "trajectories": TRAJECTORIES,
        "verdicts": VERDICTS,
        "summary": SUMMARY,
    }
    findings = [
        RunFinding(
            member=member, what=f"digest is {getattr(found, name)}, the manifest says {getattr(held, name)}"
        )
        for name, member in files.items()
        if getattr(found, name) != getattr(held, name)
    ]
    if not findings and found != held:
        findings.append(RunFinding(member=MANIFEST, what=f"run root is {found.run_root}"))
    return findings


def _check_manifest(path: Path, manifest: RunManifest) -> list[RunFinding]:
    if seal_manifest(manifest) != manifest:
        return [RunFinding(member=MANIFEST, what="does not have the digest of its own record")]
    if (path / MANIFEST).read_bytes() != encode_record(manifest) + b"\n":
        return [RunFinding(member=MANIFEST, what="is not in canonical form")]
    return []


def _finding(member: str, trajectory: Trajectory, what: str) -> RunFinding:
    return RunFinding(member=member, record=f"task {trajectory.task}, trial {trajectory.trial}", what=what)
