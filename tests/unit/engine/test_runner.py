"""A run gives the same bytes however many processes it takes and wherever it was stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.errors import DamagedError, InputError, InternalError
from replay.core.types import Json, Snapshot
from replay.engine.plan import PlanItem
from replay.engine.runner import Progress, run_plan
from replay.engine.worker import WorkerSpec, make_worker
from tests.support.demo_run import FACTORY, demo_plan, finish_demo, open_folder, run_demo

HASHED = ("manifest.json", "trajectories.jsonl", "verdicts.jsonl", "summary.json")


def read_hashed(path: Path) -> dict[str, bytes]:
    """Bytes of everything but the timings."""
    return {name: (path / name).read_bytes() for name in HASHED}


def run_part(path: Path, spec: dict[str, Json], *, jobs: int = 1) -> int:
    """Run until something fails; return how many episodes are done."""
    plan = demo_plan(spec["tasks"])
    with open_folder(path, plan) as folder:
        try:
            run_plan(plan, folder, WorkerSpec(factory=FACTORY, spec=spec), jobs=jobs)
        finally:
            done = folder.done
    return done


def test_a_run_holds_its_five_files(tmp_path: Path) -> None:
    """Nothing else is left in the folder."""
    run_demo(tmp_path / "run", {"tasks": 3})
    assert sorted([*HASHED, "timings.jsonl"]) == sorted(entry.name for entry in (tmp_path / "run").iterdir())


def test_two_runs_give_one_root(tmp_path: Path) -> None:
    """Another folder and another time change nothing."""
    first, second = (run_demo(tmp_path / name, {"tasks": 5}, trials=2) for name in ("a", "b/c"))
    assert first == second
    assert read_hashed(tmp_path / "a") == read_hashed(tmp_path / "b/c")


def test_misses_are_counted_and_the_run_goes_on(tmp_path: Path) -> None:
    """A miss is one unscored episode; the plan stays the denominator."""
    plan = demo_plan(4)
    with open_folder(tmp_path / "run", plan) as folder:
        spec = {"tasks": 4, "recorded": [0, 1, 3]}
        run_plan(plan, folder, WorkerSpec(factory=FACTORY, spec=spec))
        finish_demo(folder, plan)
        summary = folder.read().summary
    shown = [summary[name] for name in ("planned", "scored", "unscored", "stops")]
    assert [4, 3, {"tool-miss": 1}, {"finished": 3, "tool-miss": 1}] == shown


def test_answers_are_counted_by_origin(tmp_path: Path) -> None:
    """Every class of answer is in the summary, by kind and in total."""
    plan = demo_plan(3)
    with open_folder(tmp_path / "run", plan) as folder:
        spec = {"tasks": 3, "recorded": [0], "simulate": True}
        run_plan(plan, folder, WorkerSpec(factory=FACTORY, spec=spec))
        finish_demo(folder, plan)
        summary = folder.read().summary
    assert {"recorded": 1, "simulated": 2} == summary["answers"]["calls"]
    assert {"recorded": 4, "scripted": 3, "simulated": 2} == summary["provenance"]
    assert {"canonical": 3} == summary["lookups"]


def test_new_snapshots_reach_the_sink_in_plan_order(tmp_path: Path) -> None:
    """What was simulated is handed over before its episode counts as done."""
    sink: list[Snapshot] = []
    run_demo(tmp_path / "run", {"tasks": 4, "recorded": [1], "simulate": True}, sink=sink)
    assert [0, 2, 3] == [snapshot.request["arguments"]["n"] for snapshot in sink]


def test_progress_is_told_in_plan_order(tmp_path: Path) -> None:
    """One message an episode."""
    plan = demo_plan(3)
    told: list[Progress] = []
    with open_folder(tmp_path / "run", plan) as folder:
        worker = WorkerSpec(factory=FACTORY, spec={"tasks": 3})
        run_plan(plan, folder, worker, progress=told.append)
    assert [(1, 3, "t0"), (2, 3, "t1"), (3, 3, "t2")] == [(p.done, p.planned, p.task) for p in told]


def test_a_failing_worker_leaves_a_resumable_run(tmp_path: Path) -> None:
    """Damage ends the run at its item; once repaired, the run ends as if nothing had happened."""
    with pytest.raises(DamagedError, match=r"does not have its digest \(task t2\)"):
        run_part(tmp_path / "run", {"tasks": 5, "faults": {"t2": "damaged"}})
    run_demo(tmp_path / "run", {"tasks": 5})
    run_demo(tmp_path / "whole", {"tasks": 5})
    assert read_hashed(tmp_path / "whole") == read_hashed(tmp_path / "run")


def test_a_finished_run_is_left_as_it_is(tmp_path: Path) -> None:
    """Running again runs nothing and writes the same bytes."""
    run_demo(tmp_path / "run", {"tasks": 3})
    before = read_hashed(tmp_path / "run")
    run_demo(tmp_path / "run", {"tasks": 3, "faults": {"t0": "damaged"}})
    assert before == read_hashed(tmp_path / "run")


@pytest.mark.parametrize("factory", ["tests.support.demo_run:absent", "tests.support.demo_run", ":x"])
def test_a_factory_that_is_not_there_is_our_bug(factory: str) -> None:
    """Workers are named by module and function."""
    with pytest.raises(InternalError, match="does not exist"):
        make_worker(WorkerSpec(factory=factory))


def test_less_than_one_job_is_refused(tmp_path: Path) -> None:
    """Zero jobs would never end."""
    plan = demo_plan(1)
    with open_folder(tmp_path / "run", plan) as folder, pytest.raises(InputError, match="jobs 0"):
        run_plan(plan, folder, WorkerSpec(factory=FACTORY, spec={"tasks": 1}), jobs=0)


def test_an_episode_knows_nothing_of_the_one_before() -> None:
    """One worker gives the same result for an item first or last."""
    worker = make_worker(WorkerSpec(factory=FACTORY, spec={"tasks": 3, "recorded": [0], "simulate": True}))
    items: tuple[PlanItem, ...] = demo_plan(3)
    first = worker.run(items[2])
    for item in items:
        again = worker.run(item)
    assert (first.trajectory, first.verdicts, first.snapshots) == (
        again.trajectory,
        again.verdicts,
        again.snapshots,
    )


# ---- several processes ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_jobs_give_the_bytes_of_one(tmp_path: Path) -> None:
    """Whoever finishes first, lines and snapshots come in plan order."""
    spec = {"tasks": 8, "recorded": [1, 2], "simulate": True, "faults": {"t0": "slow"}}
    alone: list[Snapshot] = []
    together: list[Snapshot] = []
    run_demo(tmp_path / "one", spec, sink=alone)
    run_demo(tmp_path / "two", spec, sink=together, jobs=2)
    assert read_hashed(tmp_path / "one") == read_hashed(tmp_path / "two")
    assert alone == together


@pytest.mark.slow
def test_a_worker_that_dies_is_named_and_the_run_resumes(tmp_path: Path) -> None:
    """Everything before the lost item is kept; the next run ends with the same bytes."""
    spec = {"tasks": 6, "faults": {"t3": "die"}}
    with pytest.raises(
        InternalError, match=r"worker process died \(signal 9\) \(task t3, trial 0\).*resumes"
    ):
        run_part(tmp_path / "run", spec, jobs=2)
    assert len((tmp_path / "run/trajectories.jsonl").read_bytes().splitlines()) == 3
    run_demo(tmp_path / "run", {"tasks": 6}, jobs=2)
    run_demo(tmp_path / "whole", {"tasks": 6})
    assert read_hashed(tmp_path / "whole") == read_hashed(tmp_path / "run")


@pytest.mark.slow
def test_a_workers_error_keeps_its_class(tmp_path: Path) -> None:
    """What goes wrong in another process is the same error here, exit code included."""
    spec = {"tasks": 4, "faults": {"t1": "damaged"}}
    with pytest.raises(DamagedError, match=r"does not have its digest \(task t1\)"):
        run_part(tmp_path / "run", spec, jobs=2)


@pytest.mark.slow
def test_a_worker_that_cannot_start_is_one_error(tmp_path: Path) -> None:
    """A factory that fails is reported as itself."""
    plan = demo_plan(2)
    worker = WorkerSpec(factory="tests.support.demo_run:absent")
    with open_folder(tmp_path / "run", plan) as folder, pytest.raises(InternalError, match="does not exist"):
        run_plan(plan, folder, worker, jobs=2)
