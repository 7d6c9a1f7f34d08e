"""One outcome of one task -> its verdicts, officially and strictly, side by side.

Owns which checks a category has: `accuracy` for all, `process` for agents besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replay.benchmarks.acebench.differences import cause_of
from replay.benchmarks.acebench.records import AGENT
from replay.benchmarks.acebench.scoring.call_checks import CRASH, FORMAT_ERROR, check_calls
from replay.benchmarks.acebench.scoring.cases import Case, CaseBook, Errors
from replay.benchmarks.acebench.scoring.official_agent import check_end_state, measure_process
from replay.benchmarks.acebench.scoring.official_special import check_special
from replay.benchmarks.acebench.scoring.official_values import OfficialCrashError
from replay.benchmarks.acebench.scoring.strict_agent import check_strict_state, measure_strict_process
from replay.benchmarks.acebench.scoring.strict_special import check_strict_special
from replay.core.types import Json, Score, Task, Verdict
from replay.evaluate.states import Unscored, make_verdict, scored, unscored

__all__ = ["ACCURACY", "METRICS", "PROCESS", "judge", "metrics_of", "without_score"]

ACCURACY: Final = "accuracy"
PROCESS: Final = "process"
METRICS: Final = (ACCURACY, PROCESS)

_RIGHT: Final = scored(1.0)


def metrics_of(category: str) -> tuple[str, ...]:
    """Metrics of a category."""
    return METRICS if category in AGENT else (ACCURACY,)


def judge(task: Task, outcome: Json, *, trial: int, cases: CaseBook) -> tuple[Verdict, ...]:
    """Score one outcome by every metric of its category."""
    case = cases.read(task)
    if outcome is None:
        return without_score(task, case.category, trial=trial, reason=Unscored.MISSING_OUTPUT)
    if case.category in AGENT:
        return _judge_agent(task, case, outcome, trial=trial)
    output = outcome.get("output") if isinstance(outcome, dict) and "output" in outcome else outcome
    return (_judge_text(task, case, output, trial=trial),)


def without_score(task: Task, category: str, *, trial: int, reason: str) -> tuple[Verdict, ...]:
    """Verdicts of a task that has nothing to score: upstream stops at a missing line, so both sides agree."""
    nothing = unscored(reason)
    return tuple(
        make_verdict(task, trial, metric=metric, compat=nothing, strict=nothing)
        for metric in metrics_of(category)
    )


# ---- texts ---------------------------------------------------------------------------------------------


def _judge_text(task: Task, case: Case, output: Json, *, trial: int) -> Verdict:
    is_special = case.category.startswith("special")
    official_error, strict_error = _check_refusal(case, output) if is_special else check_calls(case, output)
    strict = _score(strict_error)
    if official_error.startswith(CRASH):
        compat, cause = unscored(Unscored.EVALUATOR_CRASH, why=official_error), "evaluator-crash"
    else:
        compat, cause = _score(official_error), ""
        if bool(official_error) != bool(strict_error):
            cause = cause_of(
                case.category,
                official_error,
                strict_error,
                several=_has_several(case.truth),
                flags=task.flags,
            )
    return make_verdict(task, trial, metric=ACCURACY, compat=compat, strict=strict, cause=cause)


def _check_refusal(case: Case, output: Json) -> Errors:
    try:
        official_error = check_special(output, case.truth, case.category)
    except OfficialCrashError as crash:
        official_error = f"{CRASH}{crash}"
    if not isinstance(output, str):
        return official_error, FORMAT_ERROR
    return official_error, check_strict_special(output, case.truth, case.category)


def _score(error: str) -> Score:
    return scored(0.0, why=error) if error else _RIGHT


def _has_several(truth: Json) -> bool:
    pool = truth if isinstance(truth, list) else [truth]
    return any(isinstance(calls, dict) and len(calls) > 1 for calls in pool)


# ---- agents --------------------------------------------------------------------------------------------


def _judge_agent(task: Task, case: Case, outcome: Json, *, trial: int) -> tuple[Verdict, ...]:
    result, process = _agent_parts(outcome)
    if process is None:
        return without_score(task, case.category, trial=trial, reason=Unscored.UNUSABLE_OUTPUT)
    strict = _score(check_strict_state(result, case.truth, tuple(task.data["involved_classes"])))
    try:
        official_error = check_end_state(result, case.truth)
        compat = _score(official_error)
    except OfficialCrashError as crash:
        official_error = f"{CRASH}{crash}"
        compat = unscored(Unscored.EVALUATOR_CRASH, why=official_error)
    cause = "evaluator-crash" if compat.value is None else "state-half-compared"
    return (
        make_verdict(task, trial, metric=ACCURACY, compat=compat, strict=strict, cause=cause),
        _judge_process(task, case, process, trial=trial, official_error=official_error),
    )


def _judge_process(
    task: Task, case: Case, process: Sequence[str], *, trial: int, official_error: str
) -> Verdict:
    share = measure_strict_process(process, case.alternatives)
    strict = (
        unscored(Unscored.DATA_ERROR, why="a milestone that is no call") if share is None else scored(share)
    )
    if official_error.startswith(CRASH):
        compat = unscored(Unscored.EVALUATOR_CRASH, why=official_error)
    elif not official_error:
        compat = scored(1.0, why="right end state")
    else:
        try:
            compat = scored(measure_process(process, case.alternatives))
        except OfficialCrashError as crash:
            compat = unscored(Unscored.EVALUATOR_CRASH, why=f"{CRASH}{crash}")
    cause = "milestone-unreadable" if share is None else "process-prefix"
    return make_verdict(task, trial, metric=PROCESS, compat=compat, strict=strict, cause=cause)


def _agent_parts(outcome: Json) -> tuple[Json, tuple[str, ...] | None]:
    """End state and messages of an agent's outcome; None for messages that are no texts."""
    if not isinstance(outcome, dict):
        return None, None
    process = outcome.get("process")
    if not isinstance(process, (list, tuple)) or not all(isinstance(item, str) for item in process):
        return None, None
    return outcome.get("result"), tuple(process)
