"""ACEBench as one benchmark: candidate protocols, sandbox, checkers, figures, outputs, known differences.

Assembles the modules of this folder behind `core.protocols.Benchmark` and holds no rule of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from pathlib import Path

from replay.benchmarks.acebench.differences import DIFFERENCES
from replay.benchmarks.acebench.importing.outputs import FORMS, outcome_of, read_outputs, write_outputs
from replay.benchmarks.acebench.playing.play import make_world, play
from replay.benchmarks.acebench.records import BENCHMARK
from replay.benchmarks.acebench.scoring.cases import CaseBook
from replay.benchmarks.acebench.scoring.summary import summarize
from replay.benchmarks.acebench.scoring.verdicts import METRICS, judge, without_score
from replay.benchmarks.acebench.settings import check_settings
from replay.core.protocols import (
    EpisodeContext,
    EpisodePlay,
    EvaluationPlay,
    KnownDifference,
    Settings,
    Summary,
    World,
)
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Output, Task, ToolSpec, Verdict

__all__ = ["AceBench"]


class AceBench:
    """The benchmark's adapter; keeps nothing between calls but the tasks it has decoded."""

    name: str = BENCHMARK
    metrics: tuple[str, ...] = METRICS
    differences: tuple[KnownDifference, ...] = DIFFERENCES
    forms: tuple[str, ...] = FORMS

    def __init__(self) -> None:
        """Decode nothing yet."""
        self._cases = CaseBook()

    def play(self, task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:  # noqa: ARG002
        """Run the candidate protocol of the task's category; the prompt itself shows the tools."""
        return play(task, context)

    def make_world(self, task: Task, context: EpisodeContext) -> World | None:
        """Fresh sandbox of an agent task; none for other categories."""
        return make_world(task, context)

    def check_settings(self, settings: Settings) -> Settings:
        """Fill in defaults and refuse what is unknown. Raises InputError listing the allowed values."""
        return check_settings(settings)

    def read_outputs(self, path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
        """Read official result files, or lines of ids and outputs."""
        return read_outputs(path, tasks)

    def write_outputs(
        self,
        outcomes: Iterable[tuple[Task, int, Json]],
        folder: Path,
        form: str,
        *,
        candidate: str = "",  # noqa: ARG002
    ) -> tuple[Path, ...]:
        """Write official result files; returns the files written."""
        return write_outputs(outcomes, folder, form)

    def outcome_of(self, output: Output, task: Task) -> Json:
        """Turn an outside output into the outcome that the checkers read."""
        return outcome_of(output, task)

    def evaluate(
        self,
        task: Task,
        outcome: Json,
        *,
        trial: int,
        settings: Settings,  # noqa: ARG002 - both readings are always made
        reference: Json,  # noqa: ARG002 - no metric compares candidates
    ) -> EvaluationPlay:
        """Score one outcome; no question is ever put to a judge."""
        return _without_questions(task, outcome, trial, self._cases)

    def unscored(self, task: Task, *, trial: int, reason: str) -> tuple[Verdict, ...]:
        """Verdicts of an episode that could not be scored, one per metric of its category."""
        return without_score(task, task.split.rpartition("/")[2], trial=trial, reason=reason)

    def summarize(self, plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
        """Aggregate verdicts over a plan of (task, split, trial)."""
        return summarize(plan, verdicts)


def _without_questions(
    task: Task, outcome: Json, trial: int, cases: CaseBook
) -> Generator[JudgeRequest, JudgeVerdict | None, tuple[Verdict, ...]]:
    yield from ()
    return judge(task, outcome, trial=trial, cases=cases)
