"""CodeXomics as one benchmark: rounds, evaluators, metrics, outputs, known differences.

Assembles the modules of this folder behind `core.protocols.Benchmark` and holds no rule of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from replay.benchmarks.codexomics.differences import DIFFERENCES
from replay.benchmarks.codexomics.importing.outputs import FORMAT, read_outputs
from replay.benchmarks.codexomics.playing.choices import check_settings, read_choices
from replay.benchmarks.codexomics.playing.play import make_world, play
from replay.benchmarks.codexomics.records import BENCHMARK
from replay.benchmarks.codexomics.scoring.summary import summarize
from replay.benchmarks.codexomics.scoring.verdicts import METRICS, judge_outcome, unscored_verdicts
from replay.benchmarks.codexomics.writing import FORMS, write_report
from replay.core.asks import EpisodePlay, EvaluationPlay
from replay.core.errors import InputError
from replay.core.protocols import EpisodeContext, KnownDifference, Settings, Summary, World
from replay.core.types import Json, Output, Task, ToolSpec, Verdict

__all__ = ["CodeXomics"]


class CodeXomics:
    """The benchmark's adapter; keeps nothing between calls."""

    name: str = BENCHMARK
    metrics: tuple[str, ...] = METRICS
    differences: tuple[KnownDifference, ...] = DIFFERENCES
    forms: tuple[str, ...] = FORMS

    def play(self, task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:
        """Run the rounds of one task under the chosen mode."""
        return play(task, tools, context)

    def make_world(self, task: Task, context: EpisodeContext) -> World | None:
        """Make the genome session, the generator of synthetic results, or nobody."""
        return make_world(task, context)

    def check_settings(self, settings: Settings) -> Settings:
        """Fill in defaults and refuse what is unknown. Raises InputError listing the allowed values."""
        return check_settings(settings)

    def read_outputs(self, path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
        """Read reports, records, in-app results or plain call lists of another harness."""
        return read_outputs(path, tasks)

    def write_outputs(
        self, outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str, *, candidate: str = ""
    ) -> tuple[Path, ...]:
        """Write outcomes as upstream's report; returns the files written."""
        return write_report(outcomes, folder, form, candidate=candidate)

    def outcome_of(self, output: Output, task: Task) -> Json:
        """Turn an outside output into the outcome that the evaluators read."""
        if output.format != FORMAT:
            raise InputError(f"unknown form {output.format!r}", where=f"task {task.id}", expected=FORMAT)
        return output.data

    def evaluate(
        self,
        task: Task,
        outcome: Json,
        *,
        trial: int,
        settings: Settings,
        reference: Json,  # noqa: ARG002  nothing is compared with a reference
    ) -> EvaluationPlay:
        """Score one outcome under the chosen tier, officially and corrected; no judge is asked."""
        yield from ()
        return judge_outcome(task, outcome, read_choices(settings).tier, trial=trial)

    def unscored(self, task: Task, *, trial: int, reason: str) -> tuple[Verdict, ...]:
        """Verdicts of an episode that produced nothing to score, one per metric."""
        return unscored_verdicts(task, trial, reason)

    def summarize(self, plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
        """Aggregate verdicts over a plan; figures of different scope are refused."""
        return summarize(plan, verdicts)
