"""Drives an evaluation: hands a benchmark's scoring the verdicts it asks for, notes where they came from."""

from __future__ import annotations

from replay.core.errors import MissError
from replay.core.protocols import Benchmark, EvaluationPlay, Judge, Settings
from replay.core.trajectory import Trajectory
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Provenance, Record, Task, Verdict
from replay.engine.episode import UNSCORED_STOPS

__all__ = ["EpisodeVerdicts", "Judged", "run_evaluation", "score_episode"]


class Judged(Record, frozen=True, kw_only=True):
    """One question that was put to a judge."""

    rubric: str
    run: int
    label: str = ""
    """What the judge said; empty when no verdict was to be had."""
    provenance: Provenance | None = None
    judge: str = ""
    key: str = ""
    """Key of the verdict that answered."""


class EpisodeVerdicts(Record, frozen=True, kw_only=True):
    """Everything that was said about one episode."""

    task: str
    split: str
    trial: int
    verdicts: tuple[Verdict, ...]
    judged: tuple[Judged, ...] = ()
    """Questions in the order they were asked."""


def run_evaluation(play: EvaluationPlay, judge: Judge) -> tuple[tuple[Verdict, ...], tuple[Judged, ...]]:
    """Run an evaluation to its end; return its verdicts and the questions that were asked.

    Errors:  whatever a damaged store raises; a judge that has no verdict is an answer (None), not an error.
    """
    judged: list[Judged] = []
    answer: JudgeVerdict | None = None
    try:
        while True:
            request = play.send(answer)
            answer = _decide(judge, request)
            judged.append(_note(request, answer))
    except StopIteration as done:
        return tuple(done.value), tuple(judged)
    finally:
        play.close()


def score_episode(
    benchmark: Benchmark,
    task: Task,
    trajectory: Trajectory,
    *,
    settings: Settings,
    judge: Judge,
    reference: Json = None,
) -> EpisodeVerdicts:
    """Score a finished episode, or leave it unscored under the name of its stop.

    A pure function of its arguments, so a run can be scored again from its trajectories alone.
    """
    verdicts: tuple[Verdict, ...]
    judged: tuple[Judged, ...] = ()
    if trajectory.stop in UNSCORED_STOPS:
        verdicts = benchmark.unscored(task, trial=trajectory.trial, reason=trajectory.stop)
    else:
        play = benchmark.evaluate(
            task, trajectory.outcome, trial=trajectory.trial, settings=settings, reference=reference
        )
        verdicts, judged = run_evaluation(play, judge)
    return EpisodeVerdicts(
        task=task.id, split=task.split, trial=trajectory.trial, verdicts=verdicts, judged=judged
    )


def _decide(judge: Judge, request: JudgeRequest) -> JudgeVerdict | None:
    try:
        return judge.decide(request)
    except MissError:
        return None


def _note(request: JudgeRequest, answer: JudgeVerdict | None) -> Judged:
    if answer is None:
        return Judged(rubric=request.rubric, run=request.run)
    return Judged(
        rubric=request.rubric,
        run=request.run,
        label=answer.label,
        provenance=answer.provenance,
        judge=answer.judge,
        key=answer.key,
    )
