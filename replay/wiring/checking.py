"""Checks a run against its archive: hashes, scores again, summary again, and on request every step again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec

from replay.benchmarks.registry import get_benchmark
from replay.core.canonical import canonical_bytes
from replay.core.errors import InputError
from replay.core.keys import SIMULATED
from replay.core.network import NetworkGuard
from replay.core.trajectory import CallStep, CompletionStep, Trajectory, find_difference
from replay.core.types import (
    Completion,
    Json,
    Key,
    Mode,
    Provenance,
    Record,
    Role,
    Snapshot,
    SnapshotKind,
    ToolResult,
)
from replay.engine.plan import PlanItem
from replay.engine.rundir.checking import RunFinding, verify_run
from replay.engine.rundir.reading import Run, load_run
from replay.llm.judges import JudgeChain, RecordedJudge
from replay.store.answers import model_scope, read_completion, read_result
from replay.store.layers import LayeredStore
from replay.wiring.candidates import OUTPUTS, choose_candidate
from replay.wiring.library import Library
from replay.wiring.modes import Modes
from replay.wiring.overlays import open_answers_of
from replay.wiring.recomputing import Recomputed, completions_behind
from replay.wiring.recomputing import recompute as recompute_answers
from replay.wiring.reopening import RunSources, open_archive_of
from replay.wiring.requests import FINDER
from replay.wiring.roles import RolePlan
from replay.wiring.serving.request_log import is_served
from replay.wiring.sources import JUDGE_MAKER, RECORDED, AnswerPlan, CandidatePlan
from replay.wiring.summaries import summarize_run
from replay.wiring.workers import WorkPlan, build_output_worker, build_play_worker, make_scoring

__all__ = ["CheckedRun", "check_run", "served_keys"]

DIVERGED, CHECK_FAILED = 8, 1

_MADE = (Provenance.SIMULATED, Provenance.GENERATED)
"""Answers that no archive need hold."""


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
    answers: Recomputed = Recomputed()
    """Generated answers: which were computed again here, and which could not be."""

    @property
    def ok(self) -> bool:
        """True when nothing was found."""
        return not self.findings and not self.diverged and not self.answers.differ

    @property
    def exit_code(self) -> int:
        """0, 8 when something diverged, else 1."""
        diverged = self.diverged or self.answers.differ
        return DIVERGED if diverged else CHECK_FAILED if self.findings else 0

    def to_json(self) -> dict[str, Json]:
        """The document of `verify --json`."""
        return {"ok": self.ok, **msgspec.to_builtins(self)}


def check_run(
    path: Path,
    sources: RunSources,
    *,
    recompute: bool = False,
    finder: str = FINDER,
    progress: Callable[[int, int], None] | None = None,
) -> CheckedRun:
    """Check a run directory.

    Without the run's archive only hashes are checked, and the result says so; recomputing needs it.
    Errors:  InputError when it is no run, or when it is to be recomputed and cannot be; the reason is named.
    """
    run = load_run(path)
    try:
        with (
            open_archive_of(run, sources) as library,
            open_answers_of(run, library, overlay=sources.overlay) as answers,
        ):
            if is_served(run.manifest.inputs.extra):
                return _look_up_again(run, answers)
            found = _score_again(run, library, answers)
            if not recompute:
                return found
            diverged = tuple(_play_again(run, library, answers, sources.candidate, progress))
            # Played from the records first: answers that are computed again prove the records themselves.
            again = recompute_answers(
                _generated(run, answers), finder=finder, home=sources.home, progress=progress
            )
            return msgspec.structs.replace(
                found, recomputed=run.manifest.inputs.planned, diverged=diverged, answers=again
            )
    except InputError as error:
        if sources.archive or recompute:
            raise
        hashed = verify_run(path)
        return CheckedRun(
            root=_root(run),
            episodes=hashed.episodes,
            rescored=0,
            recomputed=0,
            findings=hashed.findings,
            not_rescored=str(error),
        )


def _generated(run: Run, answers: LayeredStore) -> Iterator[Snapshot]:
    """Find the generated completions of a run: all it recorded, and what its episodes were served."""
    own = answers.overlay
    recorded = [] if own is None else list(own.scan(SnapshotKind.COMPLETION))
    yield from recorded
    known = {snapshot.key for snapshot in recorded}
    yield from completions_behind(answers, sorted(served_keys(run) - known))


def served_keys(run: Run) -> set[Key]:
    """Collect the keys of all snapshots that answered in a run: completions, API answers and verdicts."""
    keys = {Key(key) for trajectory in run.trajectories() for key in _keys(trajectory)}
    return keys | {Key(item.key) for episode in run.verdicts() for item in episode.judged if item.key}


def _keys(trajectory: Trajectory) -> Iterator[str]:
    for step in trajectory.steps:
        if isinstance(step, CompletionStep):
            yield step.completion.key
        elif isinstance(step, CallStep):
            yield step.result.key


def _score_again(run: Run, library: Library, answers: LayeredStore) -> CheckedRun:
    inputs = run.manifest.inputs
    judges = [inputs.models[name] for name in ("judge", JUDGE_MAKER) if name in inputs.models]
    chain = JudgeChain([RecordedJudge(answers, judge) for judge in judges])
    scoring = make_scoring(library, inputs.settings, judge=chain)
    found = verify_run(Path(run.path), rescore=scoring.score)
    # A summary of verdicts that are damaged themselves would only say the same again.
    return CheckedRun(
        root=_root(run),
        episodes=found.episodes,
        rescored=found.rescored,
        recomputed=0,
        findings=found.findings or tuple(_check_summary(run)),
    )


def _look_up_again(run: Run, answers: LayeredStore) -> CheckedRun:
    """Check a server's request log: its hashes, and each recorded answer against the archive."""
    checked = verify_run(Path(run.path))
    findings = list(checked.findings)
    looked_up = 0
    for trajectory in run.trajectories():
        for step in trajectory.steps:
            if not isinstance(step, CallStep | CompletionStep):
                continue
            given = step.result if isinstance(step, CallStep) else step.completion
            if not given.key or (given.provenance in _MADE and not answers.count(Key(given.key))):
                continue
            looked_up += 1
            if not _is_recorded(given, answers):
                name = step.tool if isinstance(step, CallStep) else f"the {step.role.value}'s request"
                what = f"{name} was answered otherwise than the archive does"
                findings.append(
                    RunFinding(member="trajectories.jsonl", record=f"task {trajectory.task}", what=what)
                )
    return CheckedRun(
        root=_root(run),
        episodes=checked.episodes,
        rescored=0,
        recomputed=looked_up,
        findings=tuple(findings),
        not_rescored="requests that a server answered have no scores",
    )


def _is_recorded(given: ToolResult | Completion, answers: LayeredStore) -> bool:
    """Tell whether an answer is one of those recorded under its key."""
    key = Key(given.key)
    recorded = (answers.get(key, sequence) for sequence in range(answers.count(key)))
    return any(_says(held, given) for held in recorded if held is not None)


def _says(held: Snapshot, given: ToolResult | Completion) -> bool:
    if isinstance(given, ToolResult):
        return held.kind is SnapshotKind.API and read_result(held, lookup="").content == given.content
    if held.kind is not SnapshotKind.COMPLETION:
        return False
    said = read_completion(held)
    return (said.content, said.tool_calls, said.finish) == (given.content, given.tool_calls, given.finish)


def _check_summary(run: Run) -> Iterator[RunFinding]:
    """Sum the verdicts up again and compare."""
    name = run.summary.get("candidate", "") if isinstance(run.summary, dict) else ""
    plan = tuple(_item(trajectory) for trajectory in run.trajectories())
    again = summarize_run(get_benchmark(run.manifest.inputs.benchmark), run, plan, candidate=str(name))
    if canonical_bytes(msgspec.to_builtins(again)) != canonical_bytes(run.summary):
        yield RunFinding(member="summary.json", what="the verdicts sum up differently now")


def _play_again(
    run: Run,
    library: Library,
    answers: LayeredStore,
    candidate: str,
    progress: Callable[[int, int], None] | None,
) -> Iterator[RunFinding]:
    """Play every episode again from what is recorded; nothing that makes answers is built."""
    plan = _replay_plan(run, library, answers, candidate)
    build = build_output_worker if plan.answers.candidate.kind == OUTPUTS else build_play_worker
    with ExitStack() as stack:
        stack.enter_context(NetworkGuard())
        worker = build(plan, library, answers, stack)
        stack.callback(worker.close)
        for done, recorded in enumerate(run.trajectories(), start=1):
            again = worker.run(_item(recorded)).trajectory
            if again.root != recorded.root:
                yield _name_divergence(recorded, again)
            if progress is not None:
                progress(done, run.manifest.inputs.planned)


def _replay_plan(run: Run, library: Library, answers: LayeredStore, candidate: str) -> WorkPlan:
    inputs = run.manifest.inputs
    return WorkPlan(
        library=library.paths,
        settings=inputs.settings,
        answers=AnswerPlan(
            benchmark=inputs.benchmark,
            archive=library.paths.name,
            # The overlay is read as well, and no maker is named: only what is recorded can answer. A script
            # that was recorded as it spoke speaks with keys.
            modes=Modes(candidate=Mode.RECORD) if _recorded_its_candidate(run) else Modes(),
            candidate=_find_candidate(run, library, answers, candidate),
            judge=inputs.models.get("judge"),
            user_model=_role(inputs.models, Role.USER.value),
            simulator_model=_role(inputs.models, SIMULATED),
            judge_model=_role(inputs.models, JUDGE_MAKER),
            seed=inputs.settings.seed,
            without=_without(inputs.extra),
        ),
    )


def _without(extra: Json) -> tuple[str, ...]:
    return tuple(extra.get("without", ())) if isinstance(extra, dict) else ()


def _role(models: Mapping[str, Json], name: str) -> RolePlan | None:
    """Whoever played a role, to be read from the records alone."""
    return RolePlan(name=name, identity=models[name]) if name in models else None


def _recorded_its_candidate(run: Run) -> bool:
    modes = run.manifest.conditions.get("modes")
    return isinstance(modes, dict) and modes.get("candidate") == Mode.RECORD


def _find_candidate(run: Run, library: Library, answers: LayeredStore, word: str) -> CandidatePlan:
    """Find who played the run: the file that is named, or completions in the archive or an overlay."""
    identity = run.manifest.inputs.models.get("candidate")
    scope = model_scope(identity)
    if word:
        plan = choose_candidate(word, scope, get_benchmark(library.paths.benchmark), library)
        if canonical_bytes(plan.identity) == canonical_bytes(identity):
            return plan
        raise InputError(
            "this is not the candidate of the run", where=f"--candidate {word}", expected=f"{identity!r}"
        )
    overlays = answers.layers[len(library.store.frozen) :]
    frozen = [canonical_bytes(row.identity) for row in library.candidates().values()]
    if canonical_bytes(identity) in frozen or any(
        scope in layer.scopes(SnapshotKind.COMPLETION) for layer in overlays
    ):
        return CandidatePlan(kind=RECORDED, name=scope, identity=identity)
    raise InputError(
        "the run's candidate is not recorded, so it cannot be played again from the archive",
        where=f"archive {library.label}",
        expected=f"completions of {identity!r}",
        next_step="name its file with --candidate scripted:FILE or outputs:PATH, or leave out --recompute",
    )


def _name_divergence(recorded: Trajectory, again: Trajectory) -> RunFinding:
    difference = find_difference(recorded, again)
    if difference is None:
        what = "its chained digests differ"
    elif difference.index >= max(len(recorded.steps), len(again.steps)):
        what = f"its end differs at {difference.path}"
    else:
        what = f"step {difference.index} differs at {difference.path}"
    record = f"task {recorded.task}, trial {recorded.trial}"
    return RunFinding(member="trajectories.jsonl", record=record, what=what)


def _item(trajectory: Trajectory) -> PlanItem:
    return PlanItem(
        task=trajectory.task, split=trajectory.split, trial=trajectory.trial, seed=trajectory.seed
    )


def _root(run: Run) -> str:
    return run.manifest.roots.run_root if run.manifest.roots is not None else "none"
