"""ToolSandbox: matching milestones against the official search step by step, and grading trajectories.

Both searches score the same graphs through the same object, so that only the search differs; the opponent
prunes exactly as upstream does, without its copies of graphs and mappings and without polars, and is given up
after a fixed number of visits. Both must find the same placement. Grading reads outcomes as `replay score`
does: both readings, all metrics, baselines beside every score, and the cause of every difference.
"""

from __future__ import annotations

import json
import time
from typing import Any, Final

from replay.benchmarks.toolsandbox.importing.importer import ToolSandboxImporter
from replay.benchmarks.toolsandbox.records import Ending, make_context, make_outcome, read_scenario
from replay.benchmarks.toolsandbox.scoring.baselines import make_baseline
from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError
from replay.benchmarks.toolsandbox.scoring.evaluation import evaluate_ending
from replay.benchmarks.toolsandbox.scoring.exhaustive import search_all
from replay.benchmarks.toolsandbox.scoring.matching import Matching, find_best
from replay.benchmarks.toolsandbox.scoring.rules import OFFICIAL
from replay.benchmarks.toolsandbox.scoring.summary import summarize
from replay.benchmarks.toolsandbox.scoring.verdicts import BaselineBook, judge
from replay.benchmarks.toolsandbox.world.schema import AGENT, ENVIRONMENT, SANDBOX
from replay.core.determinism import Stream
from replay.core.types import Json, Task
from tests.support.data import find_shared_data
from tests.support.toolsandbox_graphs import MadeScores
from tests.support.toolsandbox_rows import make_ending, make_scenario

__all__ = ["run"]

MOST_VISITS: Final = 30_000
BATCHES: Final = 12
REPEATS: Final = 3


def run() -> dict[str, object]:
    """Time the searches, then grading; units in the names."""
    shared = find_shared_data()
    figures: dict[str, object] = {"matching": _matching(), "whole_evaluation_k6_n30_ms": _worst_evaluation()}
    if shared is None or not (shared / "toolsandbox").is_dir():
        return {**figures, "grading": "skipped: no upstream ToolSandbox data (set REPLAY_TEST_DATA)"}
    tasks = ToolSandboxImporter().load(shared / "toolsandbox", {}).tasks
    bases = [task for task in tasks if task.split == "NO_DISTRACTION_TOOLS"]
    return {**figures, "grading": {"bases": _grade(bases), "all": _grade(list(tasks))}}


# ---- matching ------------------------------------------------------------------------------------------

CHAIN: Final = "chain"
DIAMOND: Final = "diamond"
WIDE: Final = "wide"


def _matching() -> list[dict[str, object]]:
    cases = [
        (CHAIN, 3, 30, "zero"),
        (CHAIN, 4, 20, "zero"),
        (CHAIN, 4, 20, "random"),
        (DIAMOND, 6, 8, "random"),
        (CHAIN, 6, 30, "zero"),
        (CHAIN, 6, 30, "random"),
        (DIAMOND, 6, 30, "random"),
        (WIDE, 6, 30, "random"),
    ]
    return [_compare(shape, k, n, fill) for shape, k, n, fill in cases]


def _compare(shape: str, k: int, n: int, fill: str) -> dict[str, object]:
    predecessors = _graph(shape, k)
    ours_s, ours = _best(lambda: find_best(predecessors, _scores(predecessors, n, fill), first=0, last=n - 1))
    theirs: Matching | None = None
    started = time.process_time()
    try:
        scores = _scores(predecessors, n, fill)
        theirs = search_all(predecessors, scores, first=0, last=n - 1, most_visits=MOST_VISITS)
    except DefinitionError:
        theirs = None
    theirs_s = time.process_time() - started
    return {
        "case": f"{shape} k={k} n={n} {fill}",
        "ours_ms": round(ours_s * 1e3, 2),
        "step_by_step_ms": round(theirs_s * 1e3, 1) if theirs else f"given up after {round(theirs_s, 1)} s",
        "same_placement": None if theirs is None else theirs == ours,
    }


def _graph(shape: str, k: int) -> dict[int, frozenset[int]]:
    if shape == CHAIN:
        return {number: frozenset({number - 1} if number else ()) for number in range(k)}
    middle = range(1, k - 1) if shape == DIAMOND else range(k - 1)
    graph = {number: frozenset({0} if shape == DIAMOND else ()) for number in middle}
    if shape == DIAMOND:
        graph[0] = frozenset()
    return dict(sorted({**graph, k - 1: frozenset(middle)}.items()))


def _scores(predecessors: dict[int, frozenset[int]], n: int, fill: str) -> MadeScores:
    """Scores in eighths; every milestone refers to its predecessors, messages have four colours."""
    stream = Stream("bench-toolsandbox", len(predecessors), n)
    table = {
        number: tuple(0.0 if fill == "zero" else stream.next_bits() % 8 / 8 for _ in range(n))
        for number in predecessors
    }
    return MadeScores(table, predecessors, tuple(stream.next_bits() % 4 for _ in range(n)))


def _best(work: Any) -> tuple[float, Any]:
    times, found = [], None
    for _ in range(REPEATS):
        started = time.process_time()
        found = work()
        times.append(time.process_time() - started)
    return min(times), found


def _worst_evaluation() -> float:
    """Six chained text milestones with guardrails over thirty messages, none of them wholly met."""
    texts = [f"word{number} is never quite what anyone said here" for number in range(6)]
    target = {"sender": "AGENT", "recipient": "USER"}
    milestones = [
        {"constraints": [{"database": "SANDBOX", "target": [{**target, "content": text}]}]} for text in texts
    ]
    messages = [{"sender": "USER", "recipient": "AGENT", "content": "q"}] + [
        {**target, "content": f"reply {number} is what word{number % 6} said"} for number in range(30)
    ]
    scenario, ending = make_scenario(milestones), make_ending(messages)
    return round(_best(lambda: evaluate_ending(scenario, ending, OFFICIAL))[0] * 1e3, 2)


# ---- grading -------------------------------------------------------------------------------------------


def _grade(tasks: list[Task]) -> dict[str, object]:
    texts = {task.id: _stored(task) for task in tasks}
    started, cpu = time.perf_counter(), time.process_time()
    book = BaselineBook()
    verdicts = [
        verdict
        for task in tasks
        for verdict in judge(task, json.loads(texts[task.id]), trial=0, baselines=book)
    ]
    graded, graded_cpu = time.perf_counter(), time.process_time()
    summary = summarize([(task.id, task.split, 0) for task in tasks], verdicts)
    ended = time.process_time()
    return {
        "trajectories": len(tasks),
        "stored_bytes": sum(map(len, texts.values())),
        "grade_wall_s": round(graded - started, 2),
        "grade_cpu_s": round(graded_cpu - cpu, 2),
        "figures_both_sides_cpu_s": round(ended - graded_cpu, 2),
        "differing": len(summary.differing),
        "compat": summary.compat["similarity"].value,
        "strict": summary.strict["similarity"].value,
    }


def _stored(task: Task) -> str:
    """A trajectory of 24 calls and replies that help nothing, then the expected last sentence."""
    scenario = read_scenario(task)
    tables = make_baseline("last-sentence", scenario).tables
    said = tables.messages()[-1]["content"]
    for number in range(BATCHES):
        call = {"sender": AGENT, "recipient": ENVIRONMENT, "content": f"call {number}"}
        trace = {"tool_name": "get_wifi_status", "arguments": {}, "result": True}
        reply = {
            "sender": ENVIRONMENT,
            "recipient": AGENT,
            "content": "True",
            "tool_trace": [json.dumps(trace)],
        }
        for row in (call, reply):
            tables.add(SANDBOX, [{**row, "visible_to": [AGENT, ENVIRONMENT]}])
    tables.add(
        SANDBOX, [{"sender": AGENT, "recipient": "USER", "content": said, "visible_to": [AGENT, "USER"]}]
    )
    outcome: Json = make_outcome(make_context(Ending(tables=tables).tables, scenario))
    return json.dumps(outcome)
