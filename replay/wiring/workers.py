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
from replay.core.protocols import Benchmark, Judge, Settings
from replay.core.types import Json, Output, Record, Task, ToolSpec
from replay.engine.worker import EpisodeWorker, OutputWorker, PlayWorker, Scoring, WorkerSpec
from replay.store.layers import LayeredStore
from replay.store.snapshots import SnapshotStore
from replay.wiring.engines import ModelPool
from replay.wiring.library import Library, LibraryPaths, open_library
from replay.wiring.sources import AnswerPlan, episodes_at_once, open_answerers

__all__ = [
    "WorkPlan",
    "build_output_worker",
    "build_play_worker",
    "make_output_worker",
    "make_play_worker",
    "make_scoring",
    "read_candidate_outputs",
    "read_reference",
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
    return WorkerSpec(
        factory=f"{__name__}:{name}",
        spec=msgspec.to_builtins(plan),
        width=episodes_at_once(plan.answers),
    )


def make_play_worker(spec: Json) -> EpisodeWorker:
    """Open the stores and build the worker that plays episodes."""
    plan = msgspec.convert(spec, WorkPlan)
    with ExitStack() as stack:
        library, layered = _open(plan, stack)
        return build_play_worker(plan, library, layered, stack)
    raise AssertionError  # the with block always returns


def make_output_worker(spec: Json) -> EpisodeWorker:
    """Open the stores and build the worker that scores what another harness produced."""
    plan = msgspec.convert(spec, WorkPlan)
    with ExitStack() as stack:
        library, layered = _open(plan, stack)
        return build_output_worker(plan, library, layered, stack)
    raise AssertionError  # the with block always returns


def build_play_worker(
    plan: WorkPlan, library: Library, layered: LayeredStore, stack: ExitStack
) -> EpisodeWorker:
    """Build the worker that plays episodes from open stores.

    stack: what is to be closed with the worker; it is emptied into it.
    """
    guard = NetworkGuard()
    if plan.answers.modes.is_offline:
        stack.enter_context(guard)
    pool = ModelPool()
    stack.callback(pool.close)
    return PlayWorker(
        make_scoring(library, plan.settings),
        open_answerers(plan.answers, library.store, layered, pool),
        count_attempts=lambda: guard.attempts,
        halt=pool.halt,
        close=stack.pop_all().close,
    )


def build_output_worker(
    plan: WorkPlan, library: Library, layered: LayeredStore, stack: ExitStack
) -> EpisodeWorker:
    """Build the worker that scores outputs from open stores; `stack` as for the one that plays."""
    if plan.answers.modes.is_offline:
        stack.enter_context(NetworkGuard())
    pool = ModelPool()
    stack.callback(pool.close)
    scoring = make_scoring(library, plan.settings)
    outputs = read_candidate_outputs(
        scoring.benchmark, plan.answers.candidate.path, library, plan.answers.candidate.name
    )
    return OutputWorker(
        scoring,
        {(output.task, output.trial): output for output in outputs},
        open_answerers(plan.answers, library.store, layered, pool),
        halt=pool.halt,
        close=stack.pop_all().close,
    )


def read_candidate_outputs(
    benchmark: Benchmark, path: str, library: Library, candidate: str = ""
) -> tuple[Output, ...]:
    """Read outputs from a path, or from the archive when the path is empty; of one candidate only.

    Errors:  InputError listing the candidates when there are several and none was named.
    """
    if not path:
        return _answers_first(benchmark, library.outputs(_named(candidate, library)))
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


def make_scoring(library: Library, settings: Settings, *, judge: Judge | None = None) -> Scoring:
    """Put together what scores an episode of this archive; without a judge each episode brings its own."""
    benchmark = get_benchmark(library.paths.benchmark)
    tasks = {task.id: task for task in library.tasks()}
    tools = library.tools()

    def load(task_id: str) -> tuple[Task, tuple[ToolSpec, ...]]:
        if task_id not in tasks:
            raise InputError(f"no task {task_id!r} in archive {library.label}", expected="a task of the plan")
        task = tasks[task_id]
        return task, tuple(tools[name] for name in task.tools)

    return Scoring(
        benchmark,
        settings=settings,
        judge=judge,
        load=load,
        reference=_reference(benchmark, library, tasks, settings.reference),
    )


def read_reference(benchmark: Benchmark, library: Library, name: str) -> tuple[Output, ...]:
    """Read the outputs of the candidate that preferences compare with; none when none is named.

    Errors:  InputError listing the candidates whose outputs the archive holds.
    """
    outputs = _answers_first(benchmark, library.outputs(name)) if name else ()
    if name and not outputs:
        raise InputError(
            f"no outputs of the reference {name!r} in archive {library.label}",
            expected=f"one of: {', '.join(library.output_candidates()) or '(the archive holds no outputs)'}",
            next_step="choose another --reference",
        )
    return outputs


def _reference(
    benchmark: Benchmark, library: Library, tasks: Mapping[str, Task], name: str
) -> Callable[[str, int], Json] | None:
    if not name:
        return None
    outputs = {(output.task, output.trial): output for output in read_reference(benchmark, library, name)}

    def find(task_id: str, trial: int) -> Json:
        # A reference with fewer trials is compared with its first one.
        output = outputs.get((task_id, trial)) or outputs.get((task_id, 0))
        return None if output is None else benchmark.outcome_of(output, tasks[task_id])

    return find


def _named(candidate: str, library: Library) -> str:
    """Choose whose outputs of the archive are meant: the one that is named, or the only one there is."""
    names = library.output_candidates()
    if candidate in names or (not candidate and len(names) == 1):
        return candidate or names[0]
    raise InputError(
        f"no outputs of candidate {candidate!r}"
        if candidate
        else f"outputs of {len(names)} candidates and none was named",
        where=f"archive {library.label}",
        expected=f"one of: {', '.join(names) or '(the archive holds no outputs)'}",
        next_step="name one with --candidate, or give the files with --outputs",
    )


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
