"""Runs single episodes: plays and scores one plan item, or scores what another harness produced.

A worker keeps nothing from one episode to the next, so it does not matter which worker runs which item, and
it runs several at once from as many threads: who answers is made anew for each episode. A worker is built
where it runs, by a factory that is named, not passed: workers in other processes open stores themselves.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from replay.core.canonical import digest
from replay.core.costs import Cost, Costs
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
    "Answerers",
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
    """Never hashed, like the next."""
    costs: dict[str, Cost] = msgspec.field(default_factory=dict)


class EpisodeWorker(Protocol):
    """Runs plan items, from several threads at once where its spec says so."""

    def run(self, item: PlanItem) -> EpisodeResult:
        """Run one item to its end."""
        ...

    def halt(self) -> None:
        """Make running items end soon: they are not wanted any more. Called from another thread."""
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
    width: int = 1
    """How many items a worker runs at once; changes nothing but the time it takes."""


class Answerers:
    """Who answers in one episode; made for it and thrown away after it."""

    def __init__(
        self,
        *,
        chat: Mapping[Role, ChatModelFactory],
        tools: Toolbox,
        judge: Judge,
        drain: Callable[[], tuple[Snapshot, ...]] = tuple,
        costs: Callable[[], Costs] = dict,
    ) -> None:
        """Keep them together.

        drain: returns and forgets the snapshots made so far (PendingOverlay.drain).
        costs: what local models have cost so far (CostMeter.read).
        """
        self.chat = chat
        self.tools = tools
        self.judge = judge
        self.drain = drain
        self.costs = costs


class Scoring:
    """What scoring one episode needs; the same for every episode of a run."""

    def __init__(
        self,
        benchmark: Benchmark,
        *,
        settings: Settings,
        judge: Judge | None = None,
        load: Callable[[str], tuple[Task, tuple[ToolSpec, ...]]],
        reference: Callable[[str, int], Json] | None = None,
    ) -> None:
        """Keep what episodes are scored with.

        judge: asked for episodes that do not bring a judge of their own.
        load: task id -> the task and its tool specs in the task's order.
        reference: (task id, trial) -> outcome of the reference candidate, for preferences.
        """
        self.benchmark = benchmark
        self.settings = settings
        self.judge = judge
        self.load = load
        self.reference = reference

    def score(self, trajectory: Trajectory, judge: Judge | None = None) -> EpisodeVerdicts:
        """Score a finished episode, with its own judge where it has one.

        A run is scored again by calling this on its trajectories.
        """
        asked = judge or self.judge
        if asked is None:
            raise InternalError("an episode is scored without a judge", expected="its own or the run's")
        task, _ = self.load(trajectory.task)
        reference = None if self.reference is None else self.reference(task.id, trajectory.trial)
        return score_episode(
            self.benchmark,
            task,
            trajectory,
            settings=self.settings,
            judge=asked,
            reference=reference,
        )


class PlayWorker:
    """Plays episodes with models and tools, then scores them."""

    def __init__(
        self,
        scoring: Scoring,
        open_answerers: Callable[[], Answerers],
        *,
        count_attempts: Callable[[], int] = int,
        halt: Callable[[], None] | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        """Keep who answers.

        open_answerers: makes the answerers of one episode.
        count_attempts: how many network calls have been refused so far in this process.
        halt: makes models give up what they are computing.
        close: closes stores and models.
        """
        self._scoring = scoring
        self._open = open_answerers
        self._attempts = _Attempts(count_attempts)
        self._halt = halt
        self._close = close

    def run(self, item: PlanItem) -> EpisodeResult:
        """Play and score one item."""
        watch = Stopwatch()
        scoring, answerers = self._scoring, self._open()
        task, tools = scoring.load(item.task)
        context = EpisodeContext(trial=item.trial, seed=item.seed, settings=scoring.settings)
        chat = {
            role: factory.for_episode(item.task, trial=item.trial) for role, factory in answerers.chat.items()
        }
        world = scoring.benchmark.make_world(task, context)
        trajectory = run_episode(
            scoring.benchmark.play(task, tools, context),
            item,
            benchmark=scoring.benchmark.name,
            chat=chat,
            tools=answerers.tools.for_episode(item.task, world=world),
            world=world,
        )
        verdicts = scoring.score(trajectory, answerers.judge)
        return EpisodeResult(
            trajectory=trajectory,
            verdicts=verdicts,
            snapshots=answerers.drain(),
            network_attempts=self._attempts.take(),
            elapsed_s=watch.elapsed_s(),
            costs=answerers.costs(),
        )

    def halt(self) -> None:
        """Make running items end soon."""
        if self._halt is not None:
            self._halt()

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
        open_answerers: Callable[[], Answerers],
        *,
        halt: Callable[[], None] | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        """Keep the outputs by (task id, trial); of the answerers only the judge is asked."""
        self._scoring = scoring
        self._outputs = outputs
        self._open = open_answerers
        self._halt = halt
        self._close = close

    def run(self, item: PlanItem) -> EpisodeResult:
        """Score one output; a planned item without one is scored as missing, never left out."""
        watch = Stopwatch()
        benchmark, answerers = self._scoring.benchmark, self._open()
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
        verdicts = self._scoring.score(trajectory, answerers.judge)
        return EpisodeResult(
            trajectory=trajectory,
            verdicts=verdicts,
            snapshots=answerers.drain(),
            elapsed_s=watch.elapsed_s(),
            costs=answerers.costs(),
        )

    def halt(self) -> None:
        """Make running items end soon."""
        if self._halt is not None:
            self._halt()

    def close(self) -> None:
        """Let go of stores and models."""
        if self._close is not None:
            self._close()


class _Attempts:
    """Refused network calls of this process, each counted for the first episode that ends after it."""

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        self._taken = count()
        self._lock = threading.Lock()

    def take(self) -> int:
        with self._lock:
            before, self._taken = self._taken, self._count()
            return self._taken - before


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
