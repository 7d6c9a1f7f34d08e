"""The step-level questions to a judge, and one asking of each: what the three metrics have in common.

Owns the rubric files (our own words) and the memory of one evaluation, so that metrics that need the same
verdict share it. Frozen top-level verdicts of upstream have their requests in `evidence`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from replay.benchmarks.stabletoolbench.evidence import BENCHMARK
from replay.benchmarks.stabletoolbench.scoring.outcomes import Outcome
from replay.core.canonical import digest
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Record, Score, Task
from replay.evaluate.judge import ERROR, ask_judge
from replay.evaluate.rubrics import Rubric, load_rubric
from replay.evaluate.states import Unscored, unscored

__all__ = ["RUBRICS", "Case", "Question", "Questions", "Rubrics", "RunStatus", "absent_scores", "miss_reason"]

RUBRICS: Final = ("answer-status", "completeness", "preference", "task-solvable", "whole-answer-status")
"""Names of the rubric files."""

Question = Generator[JudgeRequest, JudgeVerdict | None, JudgeVerdict | None]


class Case(Record, frozen=True, kw_only=True):
    """One trial of one task as the metrics see it."""

    task: Task
    trial: int
    query: str
    runs: int
    """Judge repeats per question."""
    seed: int
    reason_first: bool = True
    ask_solvable: bool = False
    candidate: Outcome | None
    """None: nothing was produced."""
    reference: Outcome | None = None
    reference_name: str = ""


class RunStatus(Record, frozen=True, kw_only=True):
    """What one run of the judge says of one answer."""

    label: str
    """A status label, `error`, or empty when no verdict was to be had."""
    by: str
    """file (a result file said so), frozen (recorded top-level verdict) or steps (asked step by step)."""
    verdict: JudgeVerdict | None = None


class Rubrics:
    """The rubric files, each read once and only when asked for."""

    def __init__(self) -> None:
        """Start with none read."""
        self._read: dict[str, Rubric] = {}

    def get(self, name: str) -> Rubric:
        """One rubric by name. Raises InputError when its file is absent or malformed."""
        if name not in self._read:
            self._read[name] = load_rubric("replay.benchmarks.stabletoolbench.scoring", name)
        return self._read[name]


class Questions:
    """Asks each step-level question of one evaluation once."""

    def __init__(self, case: Case, rubrics: Rubrics) -> None:
        """Start with nothing asked."""
        self._case = case
        self._rubrics = rubrics
        self.statuses: dict[str, tuple[RunStatus, ...]] = {}
        """Statuses of a side (candidate, reference) once they are known."""
        self._known: dict[tuple[str, int, str], JudgeVerdict | None] = {}

    def put(self, name: str, evidence: dict[str, Json], *, run: int = 0) -> Question:
        """Render one of the rubrics about some evidence and ask, unless that was asked before."""
        key = (name, run, digest("evidence", evidence))
        if key not in self._known:
            rubric = self._rubrics.get(name)
            request = rubric.ask(BENCHMARK, evidence, run=run, reason_first=self._case.reason_first)
            self._known[key] = yield from ask_judge(request)
        return self._known[key]


def absent_scores(case: Case) -> tuple[Score, Score]:
    """Compat and strict score of a task for which nothing was produced."""
    compat = unscored(Unscored.NOT_IN_RESULT_FILE, why="no output, so the result file has no record")
    return compat, unscored(Unscored.MISSING_OUTPUT, why=f"no output for task {case.task.id}")


def miss_reason(labels: list[str]) -> Unscored:
    """Why no run of a judge counted: it answered unreadably at least once, or never at all."""
    return Unscored.JUDGE_ERROR if ERROR in labels else Unscored.JUDGE_MISS
