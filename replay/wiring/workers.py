"""Factories of episode workers: named in a WorkerSpec, called where the work is done.

A worker opens its own stores and switches on its own network guard. Nothing open crosses a process border.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec

from replay.benchmarks.registry import get_benchmark
from replay.core.errors import InputError
from replay.core.network import NetworkGuard
from replay.core.protocols import Benchmark, Settings
from replay.core.types import Json, Output, Record, Task, ToolSpec
from replay.engine.worker import EpisodeWorker, OutputWorker, PlayWorker, Scoring, WorkerSpec
from replay.store.layers import LayeredStore
from replay.store.snapshots import SnapshotStore
from replay.wiring.library import Library, LibraryPaths, open_library
from replay.wiring.sources import AnswerPlan, build_answerers

__all__ = [
    "WorkPlan",
    "make_output_worker",
    "make_play_worker",
    "make_scoring",
    "read_candidate_outputs",
    "worker_spec",
]


class WorkPlan(Record, frozen=True, kw_only=True):
    """Everything a worker is built from."""

    library: LibraryPaths
    answers: AnswerPlan
    settings: Settings
    overlay: str = ""
    """Store of an earlier run whose snapshots are read after the archives; empty for none."""


def worker_spec(plan: WorkPlan) -> WorkerSpec:
    """Name the factory that fits the plan's candidate."""
    name = "make_output_worker" if plan.answers.candidate.kind == "outputs" else "make_play_worker"
    return WorkerSpec(factory=f"{__name__}:{name}", spec=msgspec.to_builtins(plan))


def make_play_worker(spec: Json) -> EpisodeWorker:
    """Build the worker that plays episodes."""
    plan = msgspec.convert(spec, WorkPlan)
    with ExitStack() as stack:
        guard = NetworkGuard()
        if plan.answers.modes.is_offline:
            stack.enter_context(guard)
        library, layered = _open(plan, stack)
        answerers = build_answerers(plan.answers, library.store, layered)
        scoring = make_scoring(library, plan.settings, judge=answerers.judge)
        return PlayWorker(
            scoring,
            chat=answerers.chat,
            toolbox=answerers.tools,
            drain=answerers.pending.drain,
            count_attempts=lambda: guard.attempts,
            close=stack.pop_all().close,
        )
    raise AssertionError  # the with block always returns


def make_output_worker(spec: Json) -> EpisodeWorker:
    """Build the worker that scores what another harness produced."""
    plan = msgspec.convert(spec, WorkPlan)
    with ExitStack() as stack:
        if plan.answers.modes.is_offline:
            stack.enter_context(NetworkGuard())
        library, layered = _open(plan, stack)
        answerers = build_answerers(plan.answers, library.store, layered)
        scoring = make_scoring(library, plan.settings, judge=answerers.judge)
        outputs = read_candidate_outputs(
            scoring.benchmark, plan.answers.candidate.path, library, plan.answers.candidate.name
        )
        return OutputWorker(
            scoring,
            {(output.task, output.trial): output for output in outputs},
            drain=answerers.pending.drain,
            close=stack.pop_all().close,
        )
    raise AssertionError  # the with block always returns


def read_candidate_outputs(
    benchmark: Benchmark, path: str, library: Library, candidate: str = ""
) -> tuple[Output, ...]:
    """Read outputs from a path, or from the archive when the path is empty; of one candidate only.

    Errors:  InputError listing the candidates when there are several and none was named.
    """
    if not path:
        return _answers_first(benchmark, library.outputs(candidate))
    found = benchmark.read_outputs(Path(path), {task.id: task for task in library.tasks()})
    names = sorted({output.candidate for output in found})
    if candidate:
        found = tuple(output for output in found if output.candidate == candidate)
    if not found or (len(names) > 1 and not candidate):
        raise InputError(
            f"outputs of {len(names)} candidates" if not candidate else f"no outputs of {candidate!r}",
            where=Path(path).name,
            expected=f"one of: {', '.join(names) or '(none found)'}",
            next_step="name one with --candidate-name",
        )
    return _answers_first(benchmark, found)


def make_scoring(library: Library, settings: Settings, *, judge: Json) -> Scoring:
    """Put together what scores an episode of this archive."""
    benchmark = get_benchmark(library.paths.benchmark)
    tasks = {task.id: task for task in library.tasks()}
    tools = library.tools()

    def load(task_id: str) -> tuple[Task, tuple[ToolSpec, ...]]:
        task = tasks[task_id]
        return task, tuple(tools[name] for name in task.tools)

    return Scoring(
        benchmark,
        settings=settings,
        judge=judge,
        load=load,
        reference=_reference(benchmark, library, tasks, settings.reference),
    )


def _reference(
    benchmark: Benchmark, library: Library, tasks: Mapping[str, Task], name: str
) -> Callable[[str, int], Json] | None:
    if not name:
        return None
    outputs = {
        (output.task, output.trial): output
        for output in reversed(_answers_first(benchmark, library.outputs(name)))
    }
    if not outputs:
        raise InputError(
            f"no outputs of the reference {name!r} in archive {library.label}",
            expected=f"one of: {', '.join(library.output_candidates()) or '(the archive holds no outputs)'}",
            next_step="choose another --reference",
        )

    def find(task_id: str, trial: int) -> Json:
        # A reference with fewer trials is compared with its first one.
        output = outputs.get((task_id, trial)) or outputs.get((task_id, 0))
        return None if output is None else benchmark.outcome_of(output, tasks[task_id])

    return find


def _answers_first(benchmark: Benchmark, outputs: tuple[Output, ...]) -> tuple[Output, ...]:
    """One output for each task and trial: a whole answer before one that holds judge results only."""
    order = {form: place for place, form in enumerate(benchmark.forms)}
    best: dict[tuple[str, int], Output] = {}
    for output in sorted(outputs, key=lambda o: (order.get(o.format, len(order)), o.format)):
        best.setdefault((output.task, output.trial), output)
    return tuple(best[place] for place in sorted(best))


def _open(plan: WorkPlan, stack: ExitStack) -> tuple[Library, LayeredStore]:
    library = stack.enter_context(open_library(plan.library))
    if not plan.overlay:
        return library, library.store
    overlay = stack.enter_context(SnapshotStore.open_reader(Path(plan.overlay)))
    return library, LayeredStore(library.store.frozen, overlay)
