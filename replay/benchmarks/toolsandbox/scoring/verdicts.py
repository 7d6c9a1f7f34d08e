"""One outcome of one scenario -> its verdicts, officially and strictly, side by side.

`similarity` is the official figure. Beside it the same milestones taken apart: `outcome`, what the tables
of the world became; `route`, which calls were traced; `answer`, what the user was told. A scenario has
those that its milestones speak of. Official sub-scores do not exist; their compat side is taken from the
official placement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from replay.benchmarks.toolsandbox.records import Ending, Scenario, read_ending, read_scenario
from replay.benchmarks.toolsandbox.scoring.baselines import BASELINES, make_baseline
from replay.benchmarks.toolsandbox.scoring.differences import SEVERAL
from replay.benchmarks.toolsandbox.scoring.evaluation import Evaluation, Part, evaluate_ending
from replay.benchmarks.toolsandbox.scoring.history import History
from replay.benchmarks.toolsandbox.scoring.relations import GUARDRAIL
from replay.benchmarks.toolsandbox.scoring.rules import FIXES, OFFICIAL, STRICT, Rules
from replay.benchmarks.toolsandbox.world.schema import SANDBOX
from replay.core.errors import InputError
from replay.core.types import Json, Score, Task, Verdict
from replay.evaluate.metrics import mean
from replay.evaluate.states import Unscored, has_same_result, make_verdict, scored, unscored

__all__ = ["ANSWER", "METRICS", "OUTCOME", "ROUTE", "SIMILARITY", "BaselineBook", "judge", "without_score"]

SIMILARITY: Final = "similarity"
OUTCOME: Final = "outcome"
ROUTE: Final = "route"
ANSWER: Final = "answer"
METRICS: Final = (SIMILARITY, OUTCOME, ROUTE, ANSWER)

_GATES: Final = ("unmet-predecessor", "one-message-for-two", "guardrail-exemptions", "damage-outside")
_PARTS: Final[Rules] = STRICT.difference(_GATES)
"""Rules of the strict sub-scores: each part tells what it achieved by itself, whatever came before it."""

_SIDES: Final[dict[str, Rules]] = {"compat": OFFICIAL, "strict": STRICT}


class BaselineBook:
    """Scores of the baseline agents, computed once for scenarios that start and end alike (the variants)."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[bytes, dict[str, dict[str, float | None]]] = {}

    def read(self, scenario: Scenario) -> dict[str, dict[str, float | None]]:
        """Similarity of each baseline by side; None where there is no score."""
        same = msgspec.structs.replace(scenario, name="", base="", categories=(), tools=(), augmentations=())
        key = msgspec.json.encode(same)
        if key not in self._known:
            endings = {name: make_baseline(name, scenario) for name in BASELINES}
            self._known[key] = {
                side: {
                    name: _similarity(evaluate_ending(scenario, ending, rules)).value
                    for name, ending in endings.items()
                }
                for side, rules in _SIDES.items()
            }
        return self._known[key]


def judge(task: Task, outcome: Json, *, trial: int, baselines: BaselineBook) -> tuple[Verdict, ...]:
    """Score one outcome (None: nothing was produced) by every metric that its scenario has."""
    if outcome is None:
        return without_score(task, trial=trial, reason=Unscored.MISSING_OUTPUT, baselines=baselines)
    try:
        scenario = read_scenario(task)
    except InputError:
        return without_score(task, trial=trial, reason=Unscored.DATA_ERROR, baselines=baselines)
    try:
        ending = read_ending(outcome, where=f"task {task.id}, trial {trial}")
    except InputError as error:
        return without_score(
            task, trial=trial, reason=Unscored.UNUSABLE_OUTPUT, baselines=baselines, why=str(error)
        )
    return _judge(task, scenario, ending, trial=trial, baselines=baselines)


def without_score(
    task: Task, *, trial: int, reason: str, baselines: BaselineBook, why: str = ""
) -> tuple[Verdict, ...]:
    """Verdicts of an episode that has nothing to score, by every metric that its scenario has."""
    try:
        scenario = read_scenario(task)
    except InputError as error:
        nothing = unscored(Unscored.DATA_ERROR, why=str(error))
        return (make_verdict(task, trial, metric=SIMILARITY, compat=nothing, strict=nothing),)
    book = baselines.read(scenario)
    verdicts = []
    for metric in _metrics_of(scenario):
        compat, strict = (
            unscored(reason, why=why, detail=_frame(scenario, book[side]) if metric == SIMILARITY else None)
            for side in _SIDES
        )
        verdicts.append(make_verdict(task, trial, metric=metric, compat=compat, strict=strict))
    return tuple(verdicts)


def _judge(
    task: Task, scenario: Scenario, ending: Ending, *, trial: int, baselines: BaselineBook
) -> tuple[Verdict, ...]:
    book = baselines.read(scenario)
    scorings = _Scorings(scenario, ending)
    verdicts = []
    for metric in _metrics_of(scenario):
        read = _reader(metric)
        goal = STRICT if metric == SIMILARITY else _PARTS
        compat, strict = read(scorings.under(OFFICIAL)), read(scorings.under(goal))
        cause = "" if has_same_result(compat, strict) else scorings.cause(read, goal)
        if metric == SIMILARITY:
            compat = _with_detail(compat, scorings.under(OFFICIAL), _frame(scenario, book["compat"]))
            strict = _with_detail(strict, scorings.under(STRICT), _frame(scenario, book["strict"]))
        verdicts.append(make_verdict(task, trial, metric=metric, compat=compat, strict=strict, cause=cause))
    return tuple(verdicts)


class _Scorings:
    """Scorings of one conversation under several sets of rules, each made once."""

    def __init__(self, scenario: Scenario, ending: Ending) -> None:
        self._scenario = scenario
        self._ending = ending
        self._history = History(ending.tables)
        self._made: dict[Rules, Evaluation] = {}

    def under(self, rules: Rules) -> Evaluation:
        if rules not in self._made:
            self._made[rules] = evaluate_ending(self._scenario, self._ending, rules, history=self._history)
        return self._made[rules]

    def cause(self, read: Callable[[Evaluation], Score], goal: Rules) -> str:
        """Find the first defect that alone moves the official score, or alone holds the strict one."""
        compat, strict = read(self.under(OFFICIAL)), read(self.under(goal))
        alone = ""
        names = [name for name in FIXES if name in goal]
        for name in names:
            mended = read(self.under(frozenset({name})))
            if has_same_result(mended, strict):
                return name
            if not alone and not has_same_result(mended, compat):
                alone = name
        if alone:
            return alone
        missing = (name for name in names if not has_same_result(read(self.under(goal - {name})), strict))
        return next(missing, SEVERAL)


# ---- one score -----------------------------------------------------------------------------------------


def _reader(metric: str) -> Callable[[Evaluation], Score]:
    if metric == SIMILARITY:
        return _similarity
    return lambda evaluation: _part_score(evaluation, metric)


def _similarity(evaluation: Evaluation) -> Score:
    nothing = _without_number(evaluation)
    if nothing is not None:
        return nothing
    if evaluation.similarity < 0:
        return unscored(Unscored.DATA_ERROR, why="the edges run in a circle")
    if evaluation.similarity == 0.0 and evaluation.milestone_similarity > 0.0:
        return scored(0.0, why=f"minefield {_first_hit(evaluation)}")
    return scored(min(evaluation.similarity, 1.0), why=_first_missed(evaluation))


def _part_score(evaluation: Evaluation, metric: str) -> Score:
    nothing = _without_number(evaluation)
    if nothing is not None:
        return nothing
    parts = [part for part in evaluation.parts if _kind(part) == metric]
    if not parts:
        return scored(0.0, why="no milestone of this kind was placed")
    tables = {part.constraint.database for part in parts}
    by_table = {
        table: mean([part.similarity for part in parts if part.constraint.database == table])
        for table in sorted(tables)
    }
    value = min(mean([part.similarity for part in parts]), 1.0)
    return scored(value, detail={"tables": by_table} if metric == OUTCOME else None)


def _without_number(evaluation: Evaluation) -> Score | None:
    if evaluation.refused:
        reason = Unscored.UNUSABLE_OUTPUT if evaluation.is_output_fault else Unscored.DATA_ERROR
        return unscored(reason, why=evaluation.refused)
    if evaluation.kills_worker:
        return unscored(Unscored.EVALUATOR_CRASH, why=evaluation.crash)
    return scored(0.0, why=evaluation.crash) if evaluation.crash else None


def _first_hit(evaluation: Evaluation) -> str:
    hits = [number for number, (_, score) in evaluation.minefields.items() if score > 0.0]
    return f"{hits[0]} at message {evaluation.minefields[hits[0]][0]}" if hits else "graph in a circle"


def _first_missed(evaluation: Evaluation) -> str:
    missed = [number for number, (_, score) in evaluation.milestones.items() if score <= 0.0]
    return f"milestone {missed[0]} not reached" if missed else ""


# ---- details -------------------------------------------------------------------------------------------


def _frame(scenario: Scenario, baselines: dict[str, float | None]) -> dict[str, Json]:
    """What stands beside every similarity, scored or not."""
    return {"categories": list(scenario.categories), "baselines": dict(baselines)}


def _with_detail(score: Score, evaluation: Evaluation, frame: dict[str, Json]) -> Score:
    detail = {
        **frame,
        "milestone_similarity": evaluation.milestone_similarity,
        "minefield_similarity": evaluation.minefield_similarity,
        "milestone_mapping": _mapping(evaluation.milestones),
        "minefield_mapping": _mapping(evaluation.minefields),
        "turns": {
            "official": evaluation.turn_count,
            "strict": evaluation.turns.strict,
            "readme": evaluation.turns.readme,
        },
    }
    if score.value is None:
        detail["official_similarity"] = evaluation.similarity
    return msgspec.structs.replace(score, detail=detail)


def _mapping(placed: dict[int, tuple[int, float]]) -> dict[str, Json]:
    return {str(number): [message, score] for number, (message, score) in placed.items()}


def _metrics_of(scenario: Scenario) -> tuple[str, ...]:
    kinds = {
        _kind(Part(milestone=number, constraint=constraint, similarity=0.0))
        for number, milestone in enumerate(scenario.milestones)
        for constraint in milestone.constraints
        if constraint.fn != GUARDRAIL and not constraint.auto
    }
    return (SIMILARITY, *(metric for metric in METRICS if metric in kinds))


def _kind(part: Part) -> str:
    if part.constraint.database != SANDBOX:
        return OUTCOME
    is_traced = part.constraint.fill_to == "tool_trace" or _names(part.constraint.target, "tool_trace")
    return ROUTE if is_traced else ANSWER


def _names(target: Sequence[dict[str, Json]], column: str) -> bool:
    return any(column in row for row in target)
