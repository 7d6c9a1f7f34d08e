"""Several episodes at once give what one after another gives."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from replay.core.costs import Cost
from replay.core.errors import DamagedError, InternalError
from replay.core.trajectory import make_trajectory
from replay.core.types import Json, Snapshot
from replay.engine.lanes import run_lanes
from replay.engine.plan import PlanItem
from replay.engine.roles import EpisodeVerdicts
from replay.engine.rundir.lines import Timing, decode_record, encode_episode
from replay.engine.worker import EpisodeResult
from tests.support.demo_run import demo_plan, run_demo

HASHED = ("manifest.json", "trajectories.jsonl", "verdicts.jsonl", "summary.json")


class ShuffledWorker:
    """Finishes its items in an order of its own: none before those that are to finish earlier."""

    def __init__(self, order: list[int], width: int, fails: dict[int, Exception] | None = None) -> None:
        self.finished: list[int] = []
        self.halted = threading.Event()
        self._gates = {number: threading.Event() for number in order}
        self._after = {number: order[place - 1] for place, number in enumerate(order) if place}
        self._fails = fails or {}

    def run(self, item: PlanItem) -> EpisodeResult:
        """Wait for the item before it in the order, then finish."""
        number = int(item.task.removeprefix("t"))
        before = self._after.get(number)
        if before is not None:
            while not self._gates[before].wait(0.01):
                if self.halted.is_set():
                    raise DamagedError("halted")
        self.finished.append(number)
        self._gates[number].set()
        if number in self._fails:
            raise self._fails[number]
        return make_result(item)

    def halt(self) -> None:
        """Let go of everyone who waits."""
        self.halted.set()

    def close(self) -> None:
        """Nothing to close."""


def make_result(item: PlanItem, **changes: Json) -> EpisodeResult:
    """Build the result of an empty episode."""
    trajectory = make_trajectory(
        benchmark="squares",
        task=item.task,
        split=item.split,
        trial=item.trial,
        seed=item.seed,
        steps=(),
        stop="finished",
        outcome=None,
    )
    verdicts = EpisodeVerdicts(task=item.task, split=item.split, trial=item.trial, verdicts=())
    return EpisodeResult(trajectory=trajectory, verdicts=verdicts, **changes)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
def test_results_come_in_plan_order_whoever_finishes_first(order: list[int]) -> None:
    """Four lanes, finished in any order."""
    worker = ShuffledWorker(order, 4)
    lines = list(run_lanes(worker, demo_plan(4), width=4))
    assert ["t0", "t1", "t2", "t3"] == [line.task for line in lines]
    assert order == worker.finished


def test_an_error_comes_at_its_place_and_halts_the_rest() -> None:
    """Everything before it is handed over first; what still runs is not waited for to its end."""
    never = ShuffledWorker([1, 0, 9, 2], 3, {1: DamagedError("broken")})
    seen: list[str] = []
    with pytest.raises(DamagedError, match="broken"):
        seen.extend(line.task for line in run_lanes(never, demo_plan(3), width=3))
    assert never.halted.is_set()


def test_a_closed_generator_halts_the_worker() -> None:
    """Ctrl-C in whoever takes the results ends the threads."""
    worker = ShuffledWorker([0, 9, 1, 2], 3)
    lanes = run_lanes(worker, demo_plan(3), width=3)
    assert "t0" == next(iter(lanes)).task
    lanes.close()  # type: ignore[attr-defined]
    assert worker.halted.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lane")]


@pytest.mark.parametrize("width", [2, 5])
def test_lanes_change_no_byte(tmp_path: Path, width: int) -> None:
    """Hashed files and the snapshots for the overlay are those of one episode at a time."""
    spec = {"tasks": 6, "recorded": [1, 2], "simulate": True, "faults": {"t0": "slow"}}
    alone: list[Snapshot] = []
    together: list[Snapshot] = []
    run_demo(tmp_path / "one", spec, sink=alone, trials=2)
    run_demo(tmp_path / "many", {**spec, "width": width}, sink=together, trials=2)
    for name in HASHED:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "many" / name).read_bytes()
    assert alone == together


@pytest.mark.slow
def test_lanes_in_several_processes_change_no_byte(tmp_path: Path) -> None:
    """Two jobs of three lanes each."""
    spec = {"tasks": 9, "recorded": [1, 2], "simulate": True, "faults": {"t0": "slow", "t4": "slow"}}
    alone: list[Snapshot] = []
    together: list[Snapshot] = []
    run_demo(tmp_path / "one", spec, sink=alone)
    run_demo(tmp_path / "many", {**spec, "width": 3}, sink=together, jobs=2)
    for name in HASHED:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "many" / name).read_bytes()
    assert alone == together


@pytest.mark.slow
def test_a_bug_in_a_lane_of_another_process_is_told(tmp_path: Path) -> None:
    """The parent does not wait for ever for an item whose thread has died."""
    with pytest.raises(InternalError, match=r"internal error, ZeroDivisionError.*task t2"):
        run_demo(tmp_path / "run", {"tasks": 4, "faults": {"t2": "bug"}, "width": 2}, jobs=2)


@pytest.mark.slow
def test_a_process_that_dies_takes_all_its_lanes_and_the_run_resumes(tmp_path: Path) -> None:
    """The first lost item in plan order is named."""
    with pytest.raises(InternalError, match="worker process died"):
        run_demo(tmp_path / "run", {"tasks": 6, "faults": {"t3": "die"}, "width": 2}, jobs=2)
    run_demo(tmp_path / "run", {"tasks": 6, "width": 2}, jobs=2)
    run_demo(tmp_path / "whole", {"tasks": 6})
    for name in HASHED:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_costs_go_to_the_timings() -> None:
    """Never to a hashed line."""
    (item,) = demo_plan(1)
    cost = Cost(requests=2, prompt_tokens=30, reused_tokens=10, generated_tokens=5, seconds=0.25)
    lines = encode_episode(make_result(item, costs={"candidate": cost}))
    assert {"candidate": cost} == decode_record(lines.timing, Timing, where="timings").costs
    bare = encode_episode(make_result(item))
    assert (bare.trajectory, bare.verdicts) == (lines.trajectory, lines.verdicts)
