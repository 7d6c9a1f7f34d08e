"""Scoring 10,000 verdict records: frozen verdicts to scores, and scores to figures with intervals."""

from __future__ import annotations

import time

from replay.benchmarks.stabletoolbench.benchmark import StableToolBench
from replay.benchmarks.stabletoolbench.scoring.summary import GROUPS
from replay.core.protocols import Settings
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Task, Verdict
from replay.evaluate.bootstrap import RESAMPLES

__all__ = ["run"]

RECORDS = 10_000
RUNS = 3
LABELS = ("Solved", "Solved", "Unsolved", "Unsure")


def run() -> dict[str, object]:
    """Score and sum up; units in the names."""
    bench = StableToolBench()
    settings = bench.check_settings(Settings(judge_runs=RUNS, options={"metrics": ["SoPR"]}))
    tasks = [
        Task(id=str(number), split=GROUPS[number % len(GROUPS)], data={"query": f"Query {number}?"})
        for number in range(RECORDS)
    ]
    started = time.perf_counter()
    verdicts = [verdict for task in tasks for verdict in _score(bench, task, settings)]
    scored = time.perf_counter()
    summary = bench.summarize([(task.id, task.split, 0) for task in tasks], verdicts)
    ended = time.perf_counter()
    figure = summary.strict["SoPR"]
    return {
        "records": RECORDS,
        "judge_runs": RUNS,
        "resamples": RESAMPLES,
        "score_s": round(scored - started, 3),
        "summarize_both_sides_s": round(ended - scored, 3),
        "records_per_s": round(RECORDS / (ended - started)),
        "value": figure.value,
        "interval": figure.interval,
    }


def _score(bench: StableToolBench, task: Task, settings: Settings) -> tuple[Verdict, ...]:
    play = bench.evaluate(task, _outcome(), trial=0, settings=settings, reference=None)
    answer: Json = None
    try:
        while True:
            request = play.send(answer)
            answer = _judge(task, request)
    except StopIteration as done:
        verdicts: tuple[Verdict, ...] = done.value
        return verdicts


def _judge(task: Task, request: JudgeRequest) -> JudgeVerdict:
    return JudgeVerdict(label=LABELS[(int(task.id) // 7 + request.run * (int(task.id) % 3)) % len(LABELS)])


def _outcome() -> Json:
    finish = {"role": "tool", "message": {"name": "Finish", "arguments": "{}", "response": ""}, "next": []}
    answer = {
        "method": "CoT@1",
        "total_steps": 3,
        "final_answer": '{"return_type": "give_answer", "final_answer": "done"}',
        "answer_details": [{"role": "system", "message": "", "next": [finish]}],
    }
    return {"converted": {"query": "", "available_tools": [], "answer": answer}, "raw": None}
