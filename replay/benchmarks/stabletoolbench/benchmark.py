"""StableToolBench as one benchmark: candidate protocols, evaluators, metrics, outputs, known differences.

Assembles the modules of this folder behind `core.protocols.Benchmark` and holds no rule of its own beyond
which metrics an evaluation has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from replay.benchmarks.stabletoolbench.differences import DIFFERENCES
from replay.benchmarks.stabletoolbench.evidence import BENCHMARK
from replay.benchmarks.stabletoolbench.importing.outputs import outcome_of, read_outputs
from replay.benchmarks.stabletoolbench.playing.answer_files import FORMS, write_answers
from replay.benchmarks.stabletoolbench.playing.play import play
from replay.benchmarks.stabletoolbench.scoring.fac import judge_fac
from replay.benchmarks.stabletoolbench.scoring.outcomes import Outcome, read_outcome
from replay.benchmarks.stabletoolbench.scoring.questions import Case, Questions, Rubrics
from replay.benchmarks.stabletoolbench.scoring.sopr import judge_sopr
from replay.benchmarks.stabletoolbench.scoring.sowr import judge_sowr
from replay.benchmarks.stabletoolbench.scoring.summary import summarize
from replay.benchmarks.stabletoolbench.settings import JUDGE_DEFAULTS, METRICS, check_settings
from replay.core.errors import InputError
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

__all__ = ["StableToolBench"]

_JUDGES = {"SoPR": judge_sopr, "SoWR": judge_sowr, "FAC": judge_fac}


class StableToolBench:
    """The benchmark's adapter; keeps nothing between calls but rubric files it has read."""

    name: str = BENCHMARK
    metrics: tuple[str, ...] = METRICS
    differences: tuple[KnownDifference, ...] = DIFFERENCES
    forms: tuple[str, ...] = FORMS

    def __init__(self) -> None:
        """Read nothing yet."""
        self._rubrics = Rubrics()

    def play(self, task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:
        """Run the chosen candidate protocol on one task."""
        return play(task, tools, context)

    def make_world(self, task: Task, context: EpisodeContext) -> World | None:  # noqa: ARG002
        """No world: every API of this benchmark is answered from records."""
        return None

    def check_settings(self, settings: Settings) -> Settings:
        """Fill in defaults and refuse what is unknown. Raises InputError listing the allowed values."""
        return check_settings(settings)

    def read_outputs(self, path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
        """Read answers and judge results of another harness, whichever of upstream's forms they have."""
        return read_outputs(path, tasks)

    def write_outputs(
        self,
        outcomes: Iterable[tuple[Task, int, Json]],
        folder: Path,
        form: str,
        *,
        candidate: str = "",  # noqa: ARG002
    ) -> tuple[Path, ...]:
        """Write answers in an upstream form; returns the files written."""
        return write_answers(outcomes, folder, form)

    def outcome_of(self, output: Output, task: Task) -> Json:
        """Turn an outside output into the outcome that the evaluators read."""
        return outcome_of(output, task)

    def evaluate(
        self, task: Task, outcome: Json, *, trial: int, settings: Settings, reference: Json
    ) -> EvaluationPlay:
        """Score one outcome by every metric that was asked for, or that the outcome allows."""
        options = {**JUDGE_DEFAULTS, **(settings.options or {})}
        case = Case(
            task=task,
            trial=trial,
            query=_query_of(task),
            runs=settings.judge_runs,
            seed=settings.seed,
            reason_first=options["judge_order"] == "reason-first",
            ask_solvable=options["ask_solvable"],
            candidate=read_outcome(outcome),
            reference=read_outcome(reference),
            reference_name=settings.reference,
        )
        questions = Questions(case, self._rubrics)
        verdicts = []
        for metric in options["metrics"] or _allowed(case.candidate, with_reference=bool(settings.reference)):
            verdict = yield from _JUDGES[metric](case, questions)
            verdicts.append(verdict)
        return tuple(verdicts)

    def unscored(self, task: Task, *, trial: int, reason: str) -> tuple[Verdict, ...]:
        """Verdicts of an episode that produced nothing to score, one per metric.

        Compat: upstream would have no answer file, so the task leaves the denominator. Strict: the reason.
        """
        compat = unscored(Unscored.NOT_IN_RESULT_FILE, why=reason)
        strict = unscored(reason)
        return tuple(
            make_verdict(
                task, trial, metric=metric, compat=compat, strict=strict, cause="result-file-denominator"
            )
            for metric in METRICS
        )

    def summarize(self, plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
        """Aggregate verdicts over a plan of (task, split, trial)."""
        return summarize(plan, verdicts)


def _allowed(outcome: Outcome | None, *, with_reference: bool) -> list[str]:
    """Metrics an outcome allows: all for an answer (SoWR needs a reference), else what result files tell."""
    held = {"SoPR", "FAC"}
    compared = with_reference
    if outcome is not None:
        told = {"SoPR": outcome.statuses is not None, "FAC": outcome.fac is not None}
        compared = compared or bool(outcome.preferences)
        # An outcome that tells nothing keeps both, so that it is unscored by name.
        if outcome.answer is None and (any(told.values()) or outcome.preferences):
            held = {metric for metric, is_told in told.items() if is_told}
    return [metric for metric in METRICS if metric in held or (metric == "SoWR" and compared)]


def _query_of(task: Task) -> str:
    query = task.data.get("query") if isinstance(task.data, dict) else None
    if not isinstance(query, str):
        raise InputError("the task has no text `query`", where=f"task {task.id}")
    return query
