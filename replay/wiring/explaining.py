"""How an answer came about, what a run missed, and a run's outcomes for other tools."""

from __future__ import annotations

from pathlib import Path

import msgspec

from replay.benchmarks.registry import get_benchmark
from replay.core.errors import DamagedError, InputError
from replay.core.trajectory import CallStep, CompletionStep, NoteStep, Step, Trajectory
from replay.core.types import Json, Key
from replay.engine.episode import MISS_NOTE
from replay.engine.roles import EpisodeVerdicts
from replay.engine.rundir.reading import load_run
from replay.evaluate.states import Unscored
from replay.wiring.library import find_archive, locate_stores, open_library
from replay.wiring.reopening import RunSources, open_archive_of

__all__ = ["explain_key", "explain_task", "export_run", "list_misses"]

_MISS = "-miss"
"""How the names of stops and of unscored reasons end when something was not recorded."""

_KEY_LENGTH = len("sha256:") + 64


def explain_task(run_path: Path, task: str, *, trial: int = 0) -> dict[str, Json]:
    """Tell step by step who answered what in one episode, and every verdict with its reasons.

    Errors:  InputError when the run has no such episode.
    """
    run = load_run(run_path)
    found = next((t for t in run.trajectories() if (t.task, t.trial) == (task, trial)), None)
    if found is None:
        raise InputError(
            f"the run has no episode of task {task!r}, trial {trial}",
            where=run_path.name,
            expected=f"one of its {run.manifest.inputs.planned} planned episodes",
            next_step="the ids are in trajectories.jsonl",
        )
    verdicts = next((v for v in run.verdicts() if (v.task, v.trial) == (task, trial)), None)
    return {
        "task": task,
        "trial": trial,
        "split": found.split,
        "seed": found.seed,
        "root": found.root,
        "stop": found.stop,
        "stop_detail": found.stop_detail,
        "steps": [_step(index, step, found) for index, step in enumerate(found.steps)],
        "verdicts": [] if verdicts is None else msgspec.to_builtins(verdicts.verdicts),
        "judged": [] if verdicts is None else msgspec.to_builtins(verdicts.judged),
    }


def explain_key(archive: str, key: str, *, home: Path | None = None) -> dict[str, Json]:
    """Show every answer recorded under a key: preimage, body, provenance, where it came from.

    Errors:  InputError for what is no key, or for one that the archive does not hold.
    """
    paths, _ = locate_stores(find_archive(archive), home=home)
    if not key.startswith("sha256:") or len(key) != _KEY_LENGTH:
        raise InputError(f"{key!r} is not a key", expected="sha256: and 64 hex digits")
    with open_library(paths) as library:
        count = library.store.count(Key(key))
        answers = [library.store.get(Key(key), sequence) for sequence in range(count)]
    if not answers:
        raise InputError(
            f"no snapshot under {key}",
            where=f"archive {paths.name}",
            expected="a key that the archive holds",
            next_step=f"replay archive list {paths.name} --table snapshots-api",
        )
    return {
        "key": key,
        "archive": paths.name,
        "answers": [
            {"by_alias": snap.key != key, **msgspec.to_builtins(snap)} for snap in answers if snap is not None
        ],
    }


def list_misses(run_path: Path) -> dict[str, Json]:
    """List every miss of a run, with what would have to be recorded: calls, completions and verdicts."""
    run = load_run(run_path)
    wants = [_want(trajectory) for trajectory in run.trajectories() if trajectory.stop.endswith(_MISS)]
    wants += [want for episode in run.verdicts() if (want := _want_verdicts(episode)) is not None]
    return {
        "benchmark": run.manifest.inputs.benchmark,
        "archives": run.manifest.inputs.archives,
        "wants": wants,
    }


def export_run(run_path: Path, folder: Path, sources: RunSources, *, form: str = "") -> tuple[Path, ...]:
    """Write a run's outcomes in a form of the benchmark; returns the files written.

    Errors:  InputError listing the forms; StoreError when the folder cannot be written.
    """
    run = load_run(run_path)
    benchmark = get_benchmark(run.manifest.inputs.benchmark)
    with open_archive_of(run, sources) as library:
        tasks = {task.id: task for task in library.tasks()}
    outcomes = [(t.task, t.trial, t.outcome) for t in run.trajectories()]
    foreign = sorted({task for task, _, _ in outcomes} - tasks.keys())
    if foreign:
        raise DamagedError(
            f"task {foreign[0]!r} is not in the run's archive",
            where="trajectories.jsonl",
            next_step=f"replay verify {run_path}",
        )
    found = ((tasks[task], trial, outcome) for task, trial, outcome in outcomes)
    told = run.summary if isinstance(run.summary, dict) else {}
    name = str(told.get("candidate", ""))
    return benchmark.write_outputs(found, folder, form or benchmark.forms[0], candidate=name)


def _step(index: int, step: Step, trajectory: Trajectory) -> dict[str, Json]:
    shown: dict[str, Json] = {"step": index, "digest": trajectory.digests[index]}
    if isinstance(step, CompletionStep):
        completion = step.completion
        detail = completion.detail if isinstance(completion.detail, dict) else {}
        return shown | {
            "kind": "completion",
            "role": step.role.value,
            "provenance": completion.provenance.value,
            "key": completion.key,
            "finish": completion.finish,
            "reason": detail.get("message"),
            "content": completion.content,
            "calls": [f"{call.name} {call.arguments}" for call in completion.tool_calls],
        }
    if isinstance(step, CallStep):
        result = step.result
        return shown | {
            "kind": "call",
            "call": f"{step.call.name} {step.call.arguments}",
            "tool": step.tool,
            "provenance": result.provenance.value,
            "origin": None if result.origin is None else result.origin.value,
            "lookup": result.lookup,
            "key": result.key,
            "sequence": result.sequence,
            "code": result.code,
            "observation": result.content,
        }
    return shown | {"kind": "note", "name": step.name, "data": step.data}


def _want(trajectory: Trajectory) -> dict[str, Json]:
    notes = [step.data for step in trajectory.steps if isinstance(step, NoteStep) and step.name == MISS_NOTE]
    return {
        "task": trajectory.task,
        "trial": trajectory.trial,
        "stop": trajectory.stop,
        "detail": trajectory.stop_detail,
        "want": notes[-1] if notes else None,
    }


def _want_verdicts(episode: EpisodeVerdicts) -> dict[str, Json] | None:
    """Say which questions to the judge had no answer where a score is missing for want of one."""
    reasons = {verdict.strict.unscored for verdict in episode.verdicts}
    if Unscored.JUDGE_MISS not in reasons:
        return None
    asked = [{"rubric": item.rubric, "run": item.run} for item in episode.judged if item.provenance is None]
    shown = ", ".join(f"{item['rubric']} run {item['run']}" for item in asked)
    return {
        "task": episode.task,
        "trial": episode.trial,
        "stop": Unscored.JUDGE_MISS.value,
        "detail": f"no recorded verdict: {shown}",
        "want": {"kind": "verdict", "questions": asked},
    }
