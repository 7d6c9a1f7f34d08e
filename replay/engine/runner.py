"""Runs a plan into a run directory: in this process or in several, resumed where an earlier run stopped.

The number of jobs, and of items that each runs at once, changes nothing but the time it takes: items go out
and come back in plan order, new snapshots are written before the lines of their episode, and no episode sees
what another one has recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from replay.core.errors import InputError
from replay.core.types import Record, Snapshot
from replay.engine.lanes import run_lanes
from replay.engine.plan import PlanItem
from replay.engine.processes import WorkerCrew
from replay.engine.rundir.lines import EpisodeLines, decode_snapshots, encode_episode
from replay.engine.rundir.writing import RunFolder
from replay.engine.worker import WorkerSpec, make_worker

__all__ = ["Progress", "run_plan"]

SnapshotSink = Callable[[tuple[Snapshot, ...]], None]
"""Writes new snapshots to the overlay, durably, before it returns; writing the same again changes nothing."""


class Progress(Record, frozen=True, kw_only=True):
    """One more episode is done."""

    done: int
    planned: int
    task: str
    trial: int
    stop: str
    elapsed_s: float


def run_plan(
    plan: Sequence[PlanItem],
    folder: RunFolder,
    worker: WorkerSpec,
    *,
    jobs: int = 1,
    sink: SnapshotSink | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> None:
    """Run what is left of a plan and append it to the folder.

    jobs: 1 runs in this process; more run in that many spawned processes.
    sink: takes the new snapshots of each episode, in plan order.

    Errors:  the first error of a worker, in plan order; StoreError when the disk is full. After any of them,
             and after Ctrl-C (KeyboardInterrupt passes through), the folder can be resumed.
    """
    if jobs < 1:
        raise InputError(f"jobs {jobs}", expected="1 or more")
    rest = plan[folder.done :]
    if not rest:
        return
    results = _run_here(rest, worker) if jobs == 1 else _run_apart(rest, worker, jobs)
    try:
        for lines in results:
            if lines.snapshots and sink is not None:
                sink(decode_snapshots(lines))
            folder.append(lines)
            if progress is not None:
                progress(
                    Progress(
                        done=folder.done,
                        planned=len(plan),
                        task=lines.task,
                        trial=lines.trial,
                        stop=lines.stop,
                        elapsed_s=lines.elapsed_s,
                    )
                )
    finally:
        results.close()


def _run_here(items: Sequence[PlanItem], spec: WorkerSpec) -> Generator[EpisodeLines, None, None]:
    worker = make_worker(spec)
    try:
        if spec.width == 1:
            for item in items:
                yield encode_episode(worker.run(item))
        else:
            yield from run_lanes(worker, items, width=spec.width)
    finally:
        worker.close()


def _run_apart(items: Sequence[PlanItem], spec: WorkerSpec, jobs: int) -> Generator[EpisodeLines, None, None]:
    with WorkerCrew(spec, jobs=min(jobs, len(items))) as crew:
        yield from crew.run(items)
