"""A benchmark of one question and one tool, and workers that run it: for tests of the engine.

Every task asks for the square of its number; the tool `square` knows some of them. Specs of workers say what
goes wrong: see `make_demo_worker`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from replay.core.errors import DamagedError
from replay.core.protocols import (
    EpisodeContext,
    EpisodeEnd,
    EpisodePlay,
    EvaluationPlay,
    KnownDifference,
    Metric,
    Settings,
    Summary,
    World,
    ask,
    call,
    judge,
    note,
)
from replay.core.types import (
    CallRequest,
    ChatRequest,
    Completion,
    Json,
    JudgeRequest,
    JudgeVerdict,
    Message,
    Output,
    Provenance,
    Role,
    Score,
    Snapshot,
    Task,
    ToolCall,
    ToolResult,
    ToolSpec,
    Verdict,
)
from replay.engine.plan import PlanItem, digest_plan, make_plan
from replay.engine.rundir.manifest import RunInputs, RunManifest
from replay.engine.rundir.writing import RunFolder
from replay.engine.runner import run_plan
from replay.engine.worker import Answerers, EpisodeResult, PlayWorker, Scoring, WorkerSpec
from replay.store.pending import PendingOverlay
from replay.tools.keys import recipe_for
from replay.tools.misses import MissReporter
from replay.tools.recording import RecordingSource
from replay.tools.resolver import Resolver, SnapshotSource
from tests.support.answering import MemoryStore, make_answer
from tests.support.run_summary import summarize_run

__all__ = ["DemoBenchmark", "demo_plan", "demo_tasks", "make_demo_worker", "open_folder", "run_demo"]

NAME = "squares"
FACTORY = "tests.support.demo_run:make_demo_worker"


class DemoBenchmark:
    """Asks for squares; one metric by a checker and a judge."""

    name = NAME
    metrics: tuple[str, ...] = ("exact",)
    differences: tuple[KnownDifference, ...] = ()
    forms: tuple[str, ...] = ()

    def play(self, task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:
        """One completion, one call, one answer."""
        question = Message(role="user", content=f"square of {task.data}")
        completion = yield from ask(ChatRequest(role=Role.CANDIDATE, messages=(question,)))
        yield from note("thinking", {"trial": context.trial})
        request = CallRequest(
            benchmark=NAME, tool="square", arguments={"n": task.data}, call=completion.tool_calls[0]
        )
        result = yield from call(request)
        return EpisodeEnd(stop="finished", outcome={"answer": result.body})

    def make_world(self, task: Task, context: EpisodeContext) -> World | None:
        """No world."""
        return None

    def check_settings(self, settings: Settings) -> Settings:
        """Everything goes."""
        return settings

    def read_outputs(self, path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
        """Nothing to read."""
        return ()

    def write_outputs(
        self, outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str, *, candidate: str = ""
    ) -> tuple[Path, ...]:
        """Nothing to write."""
        return ()

    def outcome_of(self, output: Output, task: Task) -> Json:
        """An output is an outcome."""
        return output.data

    def evaluate(
        self, task: Task, outcome: Json, *, trial: int, settings: Settings, reference: Json
    ) -> EvaluationPlay:
        """Compare with the square and ask the judge whether that is fine."""
        if outcome is None:
            return self.unscored(task, trial=trial, reason="missing-output")
        question = JudgeRequest(benchmark=NAME, rubric="fine", rubric_digest="sha256:0", evidence=outcome)
        verdict = yield from judge(question)
        if verdict is None:
            return self.unscored(task, trial=trial, reason="judge-miss")
        score = Score(value=float(outcome["answer"] == task.data**2))
        return (
            Verdict(task=task.id, trial=trial, split=task.split, metric="exact", compat=score, strict=score),
        )

    def unscored(self, task: Task, *, trial: int, reason: str) -> tuple[Verdict, ...]:
        """Say why."""
        score = Score(value=None, unscored=reason)
        return (
            Verdict(task=task.id, trial=trial, split=task.split, metric="exact", compat=score, strict=score),
        )

    def summarize(self, plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
        """Mean over the plan."""
        planned = len(list(plan))
        values = [verdict.strict.value for verdict in verdicts if verdict.strict.value is not None]
        metric = Metric(value=sum(values) / planned, n=len(values), planned=planned)
        return Summary(compat={"exact": metric}, strict={"exact": metric})


class DemoModel:
    """Calls the tool; its call ids come from seed and trial."""

    identity: Json = "demo-model"

    def for_episode(self, task: str, *, trial: int) -> DemoModel:
        """Nothing to keep."""
        return self

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Call square."""
        tool_call = ToolCall(id=f"call_{seed}_{trial}", name="square", arguments="{}")
        return Completion(tool_calls=(tool_call,), finish="tool_calls", provenance=Provenance.SCRIPTED)


class FineJudge:
    """Finds everything fine."""

    identity: Json = "fine-judge"

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Fine."""
        return JudgeVerdict(label="fine", judge="fine-judge", provenance=Provenance.RECORDED)


class SquareSimulator:
    """Makes up the squares that were not recorded."""

    name = "simulator"

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Compute it."""
        square = request.arguments["n"] ** 2
        return ToolResult(content=str(square), body=square, provenance=Provenance.SIMULATED)


class FaultyWorker:
    """Runs items until a fault is due."""

    def __init__(self, inner: PlayWorker, faults: dict[str, str], pause_s: float) -> None:
        self._inner = inner
        self._faults = faults
        self._pause_s = pause_s

    def run(self, item: PlanItem) -> EpisodeResult:
        """Run, wait, fail or die."""
        fault = self._faults.get(item.task)
        time.sleep(self._pause_s)
        if fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "bug":
            raise ZeroDivisionError
        if fault == "slow":
            time.sleep(0.3)
        if fault == "damaged":
            raise DamagedError("object does not have its digest", where=f"task {item.task}")
        return self._inner.run(item)

    def halt(self) -> None:
        """Halt the inner worker."""
        self._inner.halt()

    def close(self) -> None:
        """Close the inner worker."""
        self._inner.close()


def make_demo_worker(spec: Json) -> FaultyWorker:
    """Build a worker.

    spec: tasks (how many), recorded (numbers whose squares are in the store), simulate (bool), faults (task
    id to `die`, `slow`, `bug` or `damaged`), pause_s.
    """
    tasks = {task.id: task for task in demo_tasks(spec["tasks"])}
    recipe = recipe_for(NAME)
    frozen = MemoryStore(
        *(
            make_answer(CallRequest(benchmark=NAME, tool="square", arguments={"n": number}), str(number**2))
            for number in spec.get("recorded", range(spec["tasks"]))
        )
    )

    def answer() -> Answerers:
        overlay = PendingOverlay(frozen)
        simulators = (RecordingSource(SquareSimulator(), overlay, recipe),) if spec.get("simulate") else ()
        toolbox = Resolver((SnapshotSource(overlay, recipe), *simulators), recipe, MissReporter(frozen))
        return Answerers(
            chat={Role.CANDIDATE: DemoModel()}, tools=toolbox, judge=FineJudge(), drain=overlay.drain
        )

    scoring = Scoring(
        DemoBenchmark(), settings=Settings(), judge=FineJudge(), load=lambda task: (tasks[task], ())
    )
    return FaultyWorker(PlayWorker(scoring, answer), spec.get("faults", {}), spec.get("pause_s", 0.0))


def demo_tasks(count: int) -> tuple[Task, ...]:
    """Build tasks t0, t1, ... in splits even and odd."""
    return tuple(
        Task(id=f"t{number}", split="odd" if number % 2 else "even", data=number) for number in range(count)
    )


def demo_plan(count: int, *, trials: int = 1) -> tuple[PlanItem, ...]:
    """Plan all tasks."""
    return make_plan(demo_tasks(count), benchmark=NAME, trials=trials)


def demo_manifest(plan: tuple[PlanItem, ...], *, seed: int = 0, mode: str = "replay") -> RunManifest:
    """Build the manifest of a run over a plan."""
    return RunManifest(
        inputs=RunInputs(
            benchmark=NAME,
            archives={"squares-1": "sha256:ar"},
            models={"candidate": DemoModel.identity},
            settings=Settings(seed=seed),
            plan=digest_plan(plan),
            planned=len(plan),
            recipe_version=1,
        ),
        conditions={"modes": {"tools": mode}},
    )


def open_folder(path: Path, plan: tuple[PlanItem, ...], **changes: Json) -> RunFolder:
    """Open a run folder for a plan."""
    return RunFolder(path, demo_manifest(plan, **changes), plan)


def run_demo(
    path: Path, spec: dict[str, Json], *, jobs: int = 1, trials: int = 1, sink: list[Snapshot] | None = None
) -> RunManifest:
    """Run a demo to its end, or on from where it stopped; return the final manifest.

    spec: that of the worker, and `width` for how many episodes it runs at once.
    """
    plan = demo_plan(spec["tasks"], trials=trials)
    worker = WorkerSpec(factory=FACTORY, spec=spec, width=spec.get("width", 1))
    with open_folder(path, plan) as folder:
        run_plan(plan, folder, worker, jobs=jobs, sink=None if sink is None else sink.extend)
        return finish_demo(folder, plan)


def finish_demo(folder: RunFolder, plan: tuple[PlanItem, ...]) -> RunManifest:
    """Summarize and close a run."""
    run = folder.read()
    summary = summarize_run(DemoBenchmark(), plan, trajectories=run.trajectories(), verdicts=run.verdicts())
    return folder.finish(msgspec.to_builtins(summary))
