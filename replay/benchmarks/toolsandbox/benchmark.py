"""ToolSandbox as one benchmark: a conversation a task, milestones and minefields, the paper's figures.

Assembles the modules of this folder behind `core.protocols.Benchmark` and holds no rule of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from replay.benchmarks.toolsandbox.differences import DIFFERENCES
from replay.benchmarks.toolsandbox.importing.outputs import outcome_of, read_outputs
from replay.benchmarks.toolsandbox.libraries import check_libraries
from replay.benchmarks.toolsandbox.playing.output_files import FORMS, write_outputs
from replay.benchmarks.toolsandbox.playing.play import play
from replay.benchmarks.toolsandbox.records import BENCHMARK, read_scenario
from replay.benchmarks.toolsandbox.scoring.summary import summarize
from replay.benchmarks.toolsandbox.scoring.verdicts import METRICS, BaselineBook, judge, without_score
from replay.benchmarks.toolsandbox.settings import check_settings
from replay.benchmarks.toolsandbox.world.world import SandboxWorld
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

__all__ = ["ToolSandbox"]


class ToolSandbox:
    """The benchmark's adapter; keeps nothing between calls but the baselines' scores."""

    name: str = BENCHMARK
    metrics: tuple[str, ...] = METRICS
    differences: tuple[KnownDifference, ...] = DIFFERENCES
    forms: tuple[str, ...] = FORMS

    def __init__(self) -> None:
        """Score no baseline yet."""
        self._baselines = BaselineBook()

    def play(self, task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:
        """Run one scenario: agent, simulated user and world until one of them ends it."""
        return play(task, tools, context)

    def make_world(self, task: Task, context: EpisodeContext) -> World | None:  # noqa: ARG002
        """Make the scenario's world. Raises MissingExtraError when a library it needs is not there."""
        check_libraries()
        return SandboxWorld(read_scenario(task))

    def check_settings(self, settings: Settings) -> Settings:
        """Fill in defaults and refuse what is unknown. Raises InputError listing the allowed values."""
        return check_settings(settings)

    def read_outputs(self, path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
        """Read upstream's result folders, single execution contexts or lines."""
        return read_outputs(path, tasks)

    def write_outputs(
        self, outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str, *, candidate: str = ""
    ) -> tuple[Path, ...]:
        """Write outcomes in upstream's trajectory folders or as lines; returns the files written."""
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
        settings: Settings,  # noqa: ARG002
        reference: Json,  # noqa: ARG002
    ) -> EvaluationPlay:
        """Score one conversation from its record; no judge is asked."""
        yield from ()
        return judge(task, outcome, trial=trial, baselines=self._baselines)

    def unscored(self, task: Task, *, trial: int, reason: str) -> tuple[Verdict, ...]:
        """Verdicts of an episode that produced nothing to score, one per metric."""
        return without_score(task, trial=trial, reason=reason, baselines=self._baselines)

    def summarize(self, plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
        """Aggregate verdicts over a plan of (task, split, trial)."""
        return summarize(plan, verdicts)
