"""Evaluations are driven with any judge and leave a note of every question."""

from __future__ import annotations

import pytest

from replay.core.errors import DamagedError, MissError
from replay.core.protocols import EvaluationPlay, Settings, judge
from replay.core.trajectory import make_trajectory
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Provenance, Score, Verdict
from replay.engine.episode import UNSCORED_STOPS
from replay.engine.roles import Judged, run_evaluation, score_episode
from tests.support.demo_run import DemoBenchmark, FineJudge, demo_tasks


class FailingJudge:
    """Raises."""

    identity: Json = "failing"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Fail."""
        raise self._error


def play_questions(runs: int) -> EvaluationPlay:
    """Ask one question several times; score the share of answers."""
    labels = []
    for run in range(runs):
        answer = yield from judge(
            JudgeRequest(benchmark="squares", rubric="fine", rubric_digest="sha256:0", evidence=1, run=run)
        )
        labels.append(answer.label if answer else "none")
    score = Score(value=labels.count("fine") / runs)
    return (Verdict(task="t0", split="even", metric="exact", compat=score, strict=score),)


def test_every_question_is_noted_with_its_origin() -> None:
    """What the judge said, who said it and where it was recorded."""
    _, judged = run_evaluation(play_questions(2), FineJudge())
    expected = [
        Judged(rubric="fine", run=run, label="fine", provenance=Provenance.RECORDED, judge="fine-judge")
        for run in range(2)
    ]
    assert expected == list(judged)


def test_a_judge_miss_is_an_answer() -> None:
    """No verdict is None for the benchmark and a note for the record, never a made-up label."""
    verdicts, judged = run_evaluation(play_questions(1), FailingJudge(MissError("no verdict")))
    assert (0.0, (Judged(rubric="fine", run=0),)) == (verdicts[0].strict.value, judged)


def test_a_damaged_verdict_ends_the_run() -> None:
    """Corrupt is not missing."""
    with pytest.raises(DamagedError, match="cut"):
        run_evaluation(play_questions(1), FailingJudge(DamagedError("cut")))


@pytest.mark.parametrize("stop", sorted(UNSCORED_STOPS))
def test_what_could_not_be_answered_is_unscored_by_name(stop: str) -> None:
    """A miss is neither 0 nor 1 nor left out."""
    trajectory = make_trajectory(
        benchmark="squares", task="t0", split="even", trial=0, seed=1, steps=(), stop=stop
    )
    found = score_episode(
        DemoBenchmark(), demo_tasks(1)[0], trajectory, settings=Settings(), judge=FineJudge()
    )
    assert [(None, stop)] == [(v.strict.value, v.strict.unscored) for v in found.verdicts]


def test_scoring_twice_gives_the_same() -> None:
    """A run can be scored again from its trajectory alone."""
    trajectory = make_trajectory(
        benchmark="squares",
        task="t0",
        split="even",
        trial=0,
        seed=1,
        steps=(),
        stop="finished",
        outcome={"answer": 0},
    )
    first, second = (
        score_episode(DemoBenchmark(), demo_tasks(1)[0], trajectory, settings=Settings(), judge=FineJudge())
        for _ in range(2)
    )
    assert (1.0, first) == (first.verdicts[0].strict.value, second)
