"""Milestones to messages: the placement with the greatest sum that keeps both orders.

Milestones are placed one after another in a topological order, each at a message not before the last one
taken. The official search walks every such sequence, best score first (ties: lower milestone, then earlier
message), and keeps the first of the greatest sums. This one finds the same placement: the rest of a search
depends only on which milestones remain, from which message on, and what the places taken can still do to
the remaining scores; so each such state is solved once, and candidates that cannot beat the best are left
out. Source: upstream common/evaluation.py at 165848b, MilestoneMatcher._dfs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple, Protocol

from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError

__all__ = ["Matching", "Placed", "Scores", "find_best"]

TIE: Final = 1e-12
"""Sums closer than this are one sum added up in another order, and the first one found is kept."""

_MOST_STATES: Final = 200_000
"""A search over more is given up by name; k = 6 milestones over n = 30 messages need some hundreds."""


class Placed(NamedTuple):
    """Where a milestone was placed and what it scored there."""

    message: int
    score: float


class Scores(Protocol):
    """What the search asks: scores that depend on the milestones placed before."""

    def score(self, number: int, index: int, placed: Mapping[int, Placed]) -> float:
        """Score of a milestone at a message, in 0..1."""
        ...

    def bound(self, number: int, index: int) -> float:
        """Most that `score` can say there."""
        ...

    def floor(self, index: int) -> int:
        """Earliest message for the next milestone after one at `index`."""
        ...

    def open_key(self, placed: Mapping[int, Placed], remaining: frozenset[int], start: int) -> Hashable:
        """Equal for placements between which no score of the remaining, from `start` on, can tell."""
        ...


class Matching(NamedTuple):
    """The best placement; on a graph with a circle there is none, and the official sum is -1."""

    placed: dict[int, Placed]
    total: float


_Steps = tuple[tuple[int, Placed], ...]


def find_best(
    predecessors: Mapping[int, frozenset[int]], scores: Scores, *, first: int, last: int
) -> Matching:
    """Place every milestone at a message in first..last.

    Units:   the total is the sum of the scores, in order of placement.
    Errors:  whatever `scores` raises; DefinitionError when there are more states than can be searched.
    """
    search = _Search(predecessors, scores, last)
    found = search.solve({}, frozenset(predecessors), first)
    if found is None:
        return Matching({}, -1.0)
    total = 0.0
    for _, place in found[1]:
        total += place.score
    return Matching(dict(found[1]), total)


class _Search:
    """One search with its memory."""

    def __init__(self, predecessors: Mapping[int, frozenset[int]], scores: Scores, last: int) -> None:
        self._predecessors = predecessors
        self._scores = scores
        self._last = last
        self._solved: dict[Hashable, tuple[float, _Steps] | None] = {}
        self._best_from: dict[tuple[int, int], float] = {}

    def solve(
        self, placed: dict[int, Placed], remaining: frozenset[int], start: int
    ) -> tuple[float, _Steps] | None:
        """Best sum and steps of the remaining milestones; None when they cannot all be placed."""
        if not remaining:
            return 0.0, ()
        key = (remaining, start, self._scores.open_key(placed, remaining, start))
        if key not in self._solved:
            if len(self._solved) >= _MOST_STATES:
                raise DefinitionError(f"more than {_MOST_STATES} states to match milestones in")
            self._solved[key] = self._solve(placed, remaining, start)
        return self._solved[key]

    def _solve(
        self, placed: dict[int, Placed], remaining: frozenset[int], start: int
    ) -> tuple[float, _Steps] | None:
        best: tuple[float, _Steps] | None = None
        for number, place in self._candidates(placed, remaining, start):
            rest = remaining - {number}
            floor = max(start, self._scores.floor(place.message))
            if best is not None and place.score + self._hope(rest, floor) <= best[0] + TIE:
                continue
            found = self.solve({**placed, number: place}, rest, floor)
            if found is not None and (best is None or place.score + found[0] > best[0] + TIE):
                best = place.score + found[0], ((number, place), *found[1])
        return best

    def _candidates(
        self, placed: Mapping[int, Placed], remaining: frozenset[int], start: int
    ) -> list[tuple[int, Placed]]:
        """Every place of every milestone that is ready, in the official order."""
        found = [
            (number, Placed(index, self._scores.score(number, index, placed)))
            for number in sorted(remaining)
            if not self._predecessors[number] & remaining
            for index in range(start, self._last + 1)
        ]
        return sorted(found, key=lambda one: (-one[1].score, one[0], one[1].message))

    def _hope(self, remaining: frozenset[int], start: int) -> float:
        return sum(self._from(number, start) for number in remaining)

    def _from(self, number: int, start: int) -> float:
        """Most that a milestone can score at or after a message."""
        known = self._best_from.get((number, start))
        if known is None:
            known = 0.0
            for index in range(self._last, start - 1, -1):
                known = max(known, self._scores.bound(number, index))
                self._best_from[number, index] = known
        return known
