"""One conversation against one scenario's milestones and minefields: the numbers that upstream reports.

With the rules OFFICIAL these are upstream's, slips included; each mended defect changes one thing. Nothing is
run: the tables are all that is read, so a stored trajectory is graded again from its record.
Source: upstream common/evaluation.py at 165848b, Evaluation; sections 7 and 13 of the specification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from replay.benchmarks.toolsandbox.records import MAX_MESSAGES, Constraint, Ending, Milestone, Scenario
from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError, OfficialCrashError
from replay.benchmarks.toolsandbox.scoring.exhaustive import search_all
from replay.benchmarks.toolsandbox.scoring.graph import Graph, build_graph
from replay.benchmarks.toolsandbox.scoring.history import History
from replay.benchmarks.toolsandbox.scoring.matching import Matching, Placed, find_best
from replay.benchmarks.toolsandbox.scoring.relations import RelationScorer
from replay.benchmarks.toolsandbox.scoring.rules import Rules
from replay.benchmarks.toolsandbox.scoring.scores import MilestoneScores
from replay.benchmarks.toolsandbox.scoring.turns import TurnCounts, count_turns
from replay.core.types import Record

__all__ = ["Evaluation", "Part", "evaluate_ending"]

_WHOLE: Final = 1 - 1e-6
"""A minefield is hit, in mended scoring, when it is matched wholly; similarities are 32-bit."""


class Part(Record, frozen=True, kw_only=True):
    """One constraint of a milestone and what it scored where the milestone was placed."""

    milestone: int
    constraint: Constraint
    similarity: float


class Evaluation(Record, frozen=True, kw_only=True):
    """What one scoring of a conversation says."""

    similarity: float = 0.0
    milestone_similarity: float = 0.0
    """Mean over listed milestones; officially -1/n on a graph with a circle."""
    minefield_similarity: float = 0.0
    milestones: dict[int, tuple[int, float]] = msgspec.field(default_factory=dict)
    """Milestone to message and score."""
    minefields: dict[int, tuple[int, float]] = msgspec.field(default_factory=dict)
    guardrails: tuple[tuple[tuple[str, int], ...], ...] = ()
    """Automatic guardrails of each listed milestone: table and reference."""
    parts: tuple[Part, ...] = ()
    turn_count: int = 0
    turns: TurnCounts
    crash: str = ""
    """The exception that the official run ends with; its numbers are then 0 and 30 turns."""
    kills_worker: bool = False
    """The exception is of a kind that the official runner does not survive."""
    refused: str = ""
    """Why there is no number at all."""
    is_output_fault: bool = False
    """The refusal is about the conversation, not about the scenario."""


def evaluate_ending(
    scenario: Scenario, ending: Ending, rules: Rules, *, history: History | None = None
) -> Evaluation:
    """Score one conversation. Never raises for what a scenario or a conversation may hold.

    `history` may be given when a conversation is scored more than once.
    """
    history = History(ending.tables) if history is None else history
    turns = count_turns(history.messages())
    if ending.exception is not None and "episode-crash" not in rules:
        crash = f"{ending.exception.type}: {ending.exception.text}"
        return Evaluation(turns=turns, turn_count=MAX_MESSAGES, crash=crash)
    if history.first < 0 and "no-user-message" in rules:
        return Evaluation(turns=turns, refused="no message of the user", is_output_fault=True)
    try:
        return _evaluate(scenario, history, rules, turns)
    except OfficialCrashError as crash:
        return Evaluation(
            turns=turns, turn_count=MAX_MESSAGES, crash=str(crash), kills_worker=crash.kills_worker
        )
    except DefinitionError as error:
        return Evaluation(turns=turns, refused=str(error))


def _evaluate(scenario: Scenario, history: History, rules: Rules, turns: TurnCounts) -> Evaluation:
    relations = RelationScorer(rules)
    graph = build_graph(scenario.milestones, scenario.milestone_edges, rules)
    mines = build_graph(scenario.minefields, scenario.minefield_edges, rules)
    scores = MilestoneScores(graph, history, relations, rules)
    matching = _match(graph, scores, history)
    hits = _match(mines, MilestoneScores(mines, history, relations, rules), history)
    reached = matching.total / graph.size if graph.nodes else 1.0
    tripped = hits.total / mines.size if mines.nodes else 0.0
    is_hit = _is_whole(mines, hits.placed) if "minefield-fraction" in rules else tripped != 0
    return Evaluation(
        similarity=0.0 if is_hit else reached,
        milestone_similarity=reached,
        minefield_similarity=tripped,
        milestones=_plain(matching.placed),
        minefields=_plain(hits.placed),
        guardrails=tuple(
            graph.nodes[number].guardrails if number in graph.nodes else () for number in range(graph.size)
        ),
        parts=_parts(scenario.milestones, graph, scores, matching.placed),
        turn_count=turns.compat,
        turns=turns,
    )


def _match(graph: Graph, scores: MilestoneScores, history: History) -> Matching:
    """Match by the fast search; where the official one may raise, walk its path to see whether it does."""
    if not graph.nodes:
        return Matching({}, 0.0)
    bounds = {"first": history.first, "last": history.last}
    if graph.refers_forward:
        return search_all(graph.predecessors, scores, **bounds)
    try:
        return find_best(graph.predecessors, scores, **bounds)
    except OfficialCrashError as crash:
        try:
            return search_all(graph.predecessors, scores, **bounds)
        except DefinitionError:
            raise crash from None


def _plain(placed: Mapping[int, Placed]) -> dict[int, tuple[int, float]]:
    return {number: (placed[number].message, placed[number].score) for number in sorted(placed)}


def _is_whole(mines: Graph, placed: Mapping[int, Placed]) -> bool:
    """Tell whether some minefield is matched wholly, together with all that must come before it."""
    heads = [
        number for number in mines.nodes if not any(number in before for before in mines.ancestors.values())
    ]
    return any(
        all(one in placed and placed[one].score >= _WHOLE for one in mines.ancestors[head] | {head})
        for head in heads
    )


def _parts(
    milestones: Sequence[Milestone], graph: Graph, scores: MilestoneScores, placed: Mapping[int, Placed]
) -> tuple[Part, ...]:
    found = []
    for number in range(len(milestones)):
        if number not in graph.nodes:
            continue
        for constraint, value in scores.constraint_scores(number, placed):
            found.append(Part(milestone=number, constraint=constraint, similarity=value))
    return tuple(found)
