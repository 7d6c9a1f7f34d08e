"""Runs single episodes: plays and scores one plan item, or scores what another harness produced.

A worker keeps nothing from one episode to the next, so it does not matter which worker runs which item. It
is built where it runs, by a factory that is named, not passed: workers in other processes open stores
themselves.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Protocol

from replay.core.canonical import digest
from replay.core.determinism import Stopwatch
from replay.core.errors import InternalError
from replay.core.protocols import (
    Benchmark,
    ChatModelFactory,
    EpisodeContext,
    Judge,
    Settings,
    Toolbox,
)
from replay.core.trajectory import NoteStep, Trajectory, make_trajectory
from replay.core.types import Json, Output, Record, Role, Snapshot, Task, ToolSpec
from replay.engine.episode import run_episode
from replay.engine.plan import PlanItem
from replay.engine.roles import EpisodeVerdicts, score_episode

__all__ = [
    "EpisodeResult",
    "EpisodeWorker",
    "OutputWorker",
    "PlayWorker",
    "Scoring",
    "WorkerSpec",
    "make_worker",
]


class EpisodeResult(Record, frozen=True, kw_only=True):
    """Everything one episode gave."""

    trajectory: Trajectory
    verdicts: EpisodeVerdicts
    snapshots: tuple[Snapshot, ...] = ()
    """New snapshots to be written to the overlay, sorted."""
    network_attempts: int = 0
    elapsed_s: float = 0.0
    """Never hashed."""


class EpisodeWorker(Protocol):
    """Runs plan items one after another."""

    def run(self, item: PlanItem) -> EpisodeResult:
        """Run one item to its end."""
        ...

    def close(self) -> None:
        """Let go of stores and models."""
        ...


class WorkerSpec(Record, frozen=True, kw_only=True):
    """How to build a worker in any process."""

    factory: str
    """`module:function`; the function takes `spec` and returns an EpisodeWorker."""
    spec: Json = None
    """Plain JSON: paths, settings, names. Never an open thing."""


class Scoring:
    """What scoring one episode needs; the same for every episode of a run."""

    def __init__(
        self,
        benchmark: Benchmark,
        *,
        settings: Settings,
        judge: Judge,
        load: Callable[[str], tuple[Task, tuple[ToolSpec, ...]]],
        reference: Callable[[str, int], Json] | None = None,
    ) -> None:
        """Keep what episodes are scored with.

        load: task id -> the task and its tool specs in the task's order.
        reference: (task id, trial) -> outcome of the reference candidate, for preferences.
        """
        self.benchmark = benchmark
        self.settings = settings
        self.judge = judge
        self.load = load
        self.reference = reference

    def score(self, trajectory: Trajectory) -> EpisodeVerdicts:
        """Score a finished episode. A run is scored again by calling this on its trajectories."""
        task, _ = self.load(trajectory.task)
        reference = None if self.reference is None else self.reference(task.id, trajectory.trial)
        return score_episode(
            self.benchmark,
            task,
            trajectory,
            settings=self.settings,
            judge=self.judge,
            reference=reference,
        )


class PlayWorker:
    """Plays episodes with models and tools, then scores them."""

    def __init__(
        self,
        scoring: Scoring,
        *,
        chat: Mapping[Role, ChatModelFactory],
        toolbox: Toolbox,
        drain: Callable[[], tuple[Snapshot, ...]] = tuple,
        count_attempts: Callable[[], int] = int,
        close: Callable[[], None] | None = None,
    ) -> None:
        """Keep who answers.

        drain: returns and forgets the snapshots made since it was last called (PendingOverlay.drain).
        count_attempts: how many network calls have been refused so far in this process.
        close: closes stores and models.
        """
        self._scoring = scoring
        self._chat = chat
        self._toolbox = toolbox
        self._drain = drain
        self._count_attempts = count_attempts
        self._close = close

    def run(self, item: PlanItem) -> EpisodeResult:
        """Play and score one item."""
        watch = Stopwatch()
        before = self._count_attempts()
        scoring = self._scoring
        task, tools = scoring.load(item.task)
        context = EpisodeContext(trial=item.trial, seed=item.seed, settings=scoring.settings)
        chat = {
            role: factory.for_episode(item.task, trial=item.trial) for role, factory in self._chat.items()
        }
        world = scoring.benchmark.make_world(task, context)
        trajectory = run_episode(
            scoring.benchmark.play(task, tools, context),
            item,
            benchmark=scoring.benchmark.name,
            chat=chat,
            tools=self._toolbox.for_episode(item.task, world=world),
        )
        verdicts = scoring.score(trajectory)
        return EpisodeResult(
            trajectory=trajectory,
            verdicts=verdicts,
            snapshots=self._drain(),
            network_attempts=self._count_attempts() - before,
            elapsed_s=watch.elapsed_s(),
        )

    def close(self) -> None:
        """Let go of stores and models."""
        if self._close is not None:
            self._close()


class OutputWorker:
    """Scores what another harness produced; plays nothing."""

    def __init__(
        self,
        scoring: Scoring,
        outputs: Mapping[tuple[str, int], Output],
        *,
        drain: Callable[[], tuple[Snapshot, ...]] = tuple,
        close: Callable[[], None] | None = None,
    ) -> None:
        """Keep the outputs by (task id, trial)."""
        self._scoring = scoring
        self._outputs = outputs
        self._drain = drain
        self._close = close

    def run(self, item: PlanItem) -> EpisodeResult:
        """Score one output; a planned item without one is scored as missing, never left out."""
        watch = Stopwatch()
        benchmark = self._scoring.benchmark
        task, _ = self._scoring.load(item.task)
        output = self._outputs.get((item.task, item.trial))
        trajectory = make_trajectory(
            benchmark=benchmark.name,
            task=item.task,
            split=item.split,
            trial=item.trial,
            seed=item.seed,
            steps=() if output is None else (_output_note(output),),
            stop="missing-output" if output is None else "finished",
            stop_detail=f"nothing was produced for task {item.task}" if output is None else "",
            outcome=None if output is None else benchmark.outcome_of(output, task),
        )
        verdicts = self._scoring.score(trajectory)
        return EpisodeResult(
            trajectory=trajectory, verdicts=verdicts, snapshots=self._drain(), elapsed_s=watch.elapsed_s()
        )

    def close(self) -> None:
        """Let go of stores."""
        if self._close is not None:
            self._close()


def make_worker(spec: WorkerSpec) -> EpisodeWorker:
    """Build a worker from its spec. Raises InternalError when the factory cannot be found."""
    module, _, name = spec.factory.partition(":")
    factory = getattr(importlib.import_module(module), name, None) if module and name else None
    if not callable(factory):
        raise InternalError(f"worker factory {spec.factory!r} does not exist", expected="module:function")
    worker: EpisodeWorker = factory(spec.spec)
    return worker


def _output_note(output: Output) -> NoteStep:
    data = {
        "candidate": output.candidate,
        "format": output.format,
        "source": output.source,
        "digest": digest("output", output.data),
    }
    return NoteStep(name="output", data=data)
