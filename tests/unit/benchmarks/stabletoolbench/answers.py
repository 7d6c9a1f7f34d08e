"""Builders of converted answers and outcomes, and an evaluation driven by labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise

from replay.benchmarks.stabletoolbench.benchmark import StableToolBench
from replay.core.protocols import Settings
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Task, Verdict
from tests.support.verdicts import drive, make_task, says

__all__ = ["evaluate", "finish", "labels", "make_answer", "make_outcome"]


def finish(answer: str = "It is noon.", *, return_type: str = "give_answer") -> str:
    """Argument text of a Finish call."""
    return json.dumps({"return_type": return_type, "final_answer": answer})


def make_answer(final: str | None = None, *, tools: tuple[str, ...] = ("clock", "Finish")) -> Json:
    """The `answer` object of a converted answer: a chain of tool calls."""
    text = finish() if final is None else final
    nodes: list[Json] = [
        {"role": "system", "message": "", "next": []},
        {"role": "user", "message": "", "next": []},
    ]
    for name in tools:
        message = {"name": name, "arguments": "{}", "response": ""}
        nodes.append({"role": "tool", "message": message, "next": []})
    for before, after in pairwise(nodes):
        before["next"] = [after]
    return {
        "method": "CoT@1",
        "total_steps": len(nodes),
        "final_answer": text,
        "answer_details": nodes[:1],
    }


def make_outcome(final: str | None = None, *, tools: tuple[str, ...] = ("clock", "Finish")) -> Json:
    """The outcome of an episode that produced a converted answer."""
    answer = make_answer(final, tools=tools)
    return {"converted": {"query": "q", "available_tools": [], "answer": answer}, "raw": None}


def labels(by_rubric: Mapping[str, str | list[str]]) -> Callable[[JudgeRequest], JudgeVerdict | None]:
    """A judge with one label a rubric, or one a run; rubrics and runs without one are misses."""

    def answer(request: JudgeRequest) -> JudgeVerdict | None:
        label = by_rubric.get(request.rubric, "")
        if isinstance(label, list):
            label = label[request.run] if request.run < len(label) else ""
        return says(label, raw=label) if label else None

    return answer


def evaluate(
    outcome: Json,
    judge: Callable[[JudgeRequest], JudgeVerdict | None],
    *,
    metric: str,
    reference: Json = None,
    options: Json = None,
    judge_runs: int = 3,
) -> tuple[Verdict, list[JudgeRequest]]:
    """Evaluate one outcome by one metric; returns the verdict and what was asked."""
    task: Task = make_task()
    chosen = Settings(
        options={"metrics": [metric], **(options or {})}, judge_runs=judge_runs, reference="theirs"
    )
    play = StableToolBench().evaluate(task, outcome, trial=0, settings=chosen, reference=reference)
    verdicts, asked = drive(play, judge)
    assert [metric] == [verdict.metric for verdict in verdicts]
    return verdicts[0], asked
