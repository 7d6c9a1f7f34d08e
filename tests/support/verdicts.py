"""Builders of tasks, scores and verdicts, and a judge that answers from a function."""

from __future__ import annotations

from collections.abc import Callable

from replay.core.protocols import EvaluationPlay
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Score, Task, Verdict
from replay.evaluate.states import make_verdict, scored, unscored

__all__ = ["drive", "make_task", "make_verdict_of", "says", "score_of"]

Answerer = Callable[[JudgeRequest], JudgeVerdict | None]


def make_task(
    task: str = "1", *, split: str = "G1_instruction", query: str = "What is the time in Oslo?"
) -> Task:
    """Build a task of the StableToolBench kind."""
    return Task(id=task, split=split, data={"query": query, "relevant_apis": [], "upstream": {}})


def score_of(value: float | str, *, runs: tuple[float, ...] = (), abstained: int = 0) -> Score:
    """A score from a number, or an unscored one from a reason."""
    if isinstance(value, str):
        return unscored(value)
    return scored(value, runs=runs, abstained=abstained)


def make_verdict_of(
    task: str,
    value: float | str,
    *,
    split: str = "G1_instruction",
    metric: str = "SoPR",
    strict: float | str | None = None,
    trial: int = 0,
) -> Verdict:
    """A verdict with equal scores on both sides unless `strict` is given."""
    compat = score_of(value)
    other = compat if strict is None else score_of(strict)
    return make_verdict(
        make_task(task, split=split), trial, metric=metric, compat=compat, strict=other, cause="built"
    )


def says(label: str, *, reason: str = "", raw: str = "") -> JudgeVerdict:
    """A judge's verdict."""
    return JudgeVerdict(label=label, reason=reason, raw=raw, judge="test judge")


def drive(play: EvaluationPlay, answer: Answerer) -> tuple[tuple[Verdict, ...], list[JudgeRequest]]:
    """Run an evaluation with an answerer; returns the verdicts and every question in order."""
    asked: list[JudgeRequest] = []
    sent: Json = None
    try:
        while True:
            request = play.send(sent)
            asked.append(request)
            sent = answer(request)
    except StopIteration as done:
        return done.value, asked
