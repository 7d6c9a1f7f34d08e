"""MetaTool as one benchmark: one question a task, three readings of its answer, the paper's figures.

Assembles the modules of this folder behind `core.protocols.Benchmark` and holds no rule of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from replay.benchmarks.metatool.differences import DIFFERENCES
from replay.benchmarks.metatool.importing.outputs import outcome_of, read_outputs
from replay.benchmarks.metatool.playing.outputs import FORMS, write_outputs
from replay.benchmarks.metatool.playing.play import play_task
from replay.benchmarks.metatool.playing.prompts import PromptBook
from replay.benchmarks.metatool.records import BENCHMARK, METRICS, sample_of
from replay.benchmarks.metatool.scoring.outcomes import read_outcome
from replay.benchmarks.metatool.scoring.summary import summarize
from replay.benchmarks.metatool.scoring.verdicts import Matchers
from replay.benchmarks.metatool.settings import DEFAULTS, check_settings
from replay.core.protocols import (
    EpisodeContext,
    EpisodePlay,
    EvaluationPlay,
    KnownDifference,
    Settings,
    Summary,
    World,
)
from replay.core.types import Json, Output, Task, ToolSpec, Verdict
from replay.evaluate.states import Unscored, make_verdict, unscored

__all__ = ["MetaTool"]


class MetaTool:
    """The benchmark's adapter; keeps nothing between calls but prompts and name lists it has prepared."""

    name: str = BENCHMARK
    metrics: tuple[str, ...] = METRICS
    differences: tuple[KnownDifference, ...] = DIFFERENCES
    forms: tuple[str, ...] = FORMS

    def __init__(self) -> None:
        """Read nothing yet."""
        self._prompts = PromptBook()
        self._matchers = Matchers()

    def play(self, task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:
        """Ask the task's one question."""
        return play_task(task, tools, context, self._prompts)

    def make_world(self, task: Task, context: EpisodeContext) -> World | None:  # noqa: ARG002
        """No world: the tools of this benchmark are only named, never carried out."""
        return None

    def check_settings(self, settings: Settings) -> Settings:
        """Fill in defaults and refuse what is unknown. Raises InputError listing the allowed values."""
        return check_settings(settings)

    def read_outputs(self, path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
        """Read upstream's result files or answers one a line."""
        return read_outputs(path, tasks)

    def write_outputs(
        self, outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str, *, candidate: str = ""
    ) -> tuple[Path, ...]:
        """Write answers in upstream's result form or one a line; returns the files written."""
        return write_outputs(outcomes, folder, form, candidate=candidate)

    def outcome_of(self, output: Output, task: Task) -> Json:
        """Turn an outside output into the outcome that the evaluator reads."""
        return outcome_of(output, task)

    def evaluate(
        self,
        task: Task,
        outcome: Json,
        *,
        trial: int,
        settings: Settings,
        reference: Json,  # noqa: ARG002
    ) -> EvaluationPlay:
        """Score one answer by its subtask's metric."""
        sample = sample_of(task)
        if outcome is None:
            return self.unscored(task, trial=trial, reason=Unscored.MISSING_OUTPUT)
        said = read_outcome(outcome, sample)
        if isinstance(said, str):
            score = unscored(Unscored.UNUSABLE_OUTPUT, why=said)
            return (make_verdict(task, trial, metric=sample.subtask, compat=score, strict=score),)
        options = {**DEFAULTS, **(settings.options or {})}
        scores = yield from self._matchers.score(sample, said, with_judge=options["open_answers"] == "judge")
        return (
            make_verdict(
                task,
                trial,
                metric=sample.subtask,
                compat=scores.compat,
                strict=scores.strict,
                cause=scores.cause,
            ),
        )

    def unscored(self, task: Task, *, trial: int, reason: str) -> tuple[Verdict, ...]:
        """The verdict of an episode that produced nothing to score."""
        score = unscored(reason)
        subtask = sample_of(task).subtask
        return (make_verdict(task, trial, metric=subtask, compat=score, strict=score),)

    def summarize(self, plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
        """Aggregate verdicts over a plan of (task, split, trial)."""
        return summarize(plan, verdicts)
