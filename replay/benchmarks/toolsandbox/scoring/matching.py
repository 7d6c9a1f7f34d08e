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

    def hope(self, number: int, start: int, placed: Mapping[int, Placed]) -> float:
        """Most that a milestone can score at or after a message, as far as the places taken tell."""
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


def find_best(
    predecessors: Mapping[int, frozenset[int]], scores: Scores, *, first: int, last: int
) -> Matching:
    """Place every milestone at a message in first..last.

    Units:   the total is the sum of the scores, in order of placement.
    Errors:  whatever `scores` raises; DefinitionError when there are more states than can be searched.
    """
    search = _Search(predecessors, scores, last)
    found = search.solve({}, frozenset(predecessors), start=first, need=-1.0)
    if found is None:
        return Matching({}, -1.0)
    total = 0.0
    for _, place in found.steps:
        total += place.score
    return Matching(dict(found.steps), total)


class _Solved(NamedTuple):
    """Best sum of a state and the steps to it; without steps only that no sum is greater."""

    total: float
    steps: tuple[tuple[int, Placed], ...] | None


class _Best(NamedTuple):
    total: float
    steps: tuple[tuple[int, Placed], ...]


class _Search:
    """One search with its memory."""

    def __init__(self, predecessors: Mapping[int, frozenset[int]], scores: Scores, last: int) -> None:
        self._predecessors = predecessors
        self._scores = scores
        self._last = last
        self._solved: dict[Hashable, _Solved] = {}

    def solve(
        self, placed: dict[int, Placed], remaining: frozenset[int], *, start: int, need: float
    ) -> _Best | None:
        """Best sum and steps of the remaining milestones; None when no sum is greater than `need`."""
        if not remaining:
            return _Best(0.0, ()) if need < 0.0 else None
        key = (remaining, start, self._scores.open_key(placed, remaining, start))
        known = self._solved.get(key)
        if known is None or (known.steps is None and known.total > need):
            if len(self._solved) >= _MOST_STATES:
                raise DefinitionError(f"more than {_MOST_STATES} states to match milestones in")
            best = self._solve(placed, remaining, start=start, need=need)
            known = _Solved(need, None) if best is None else _Solved(*best)
            self._solved[key] = known
        if known.steps is None or known.total <= need:
            return None
        return _Best(known.total, known.steps)

    def _solve(
        self, placed: dict[int, Placed], remaining: frozenset[int], *, start: int, need: float
    ) -> _Best | None:
        best: _Best | None = None
        for place, number in self._candidates(placed, remaining, start, need):
            rest = remaining - {number}
            floor = max(start, self._scores.floor(place.message))
            taken = {**placed, number: place}
            if place.score + self._hope(rest, floor, taken) <= need:
                continue
            found = self.solve(taken, rest, start=floor, need=need - place.score)
            if found is not None:
                best = _Best(place.score + found.total, ((number, place), *found.steps))
                need = best.total + TIE
        return best

    def _candidates(
        self, placed: Mapping[int, Placed], remaining: frozenset[int], start: int, need: float
    ) -> list[tuple[Placed, int]]:
        """Every place of every ready milestone that can be a part of more than `need`, in official order."""
        found = []
        for number in sorted(remaining):
            if self._predecessors[number] & remaining:
                continue
            hope = self._hope(remaining - {number}, start, placed)
            found += [
                (Placed(index, self._scores.score(number, index, placed)), number)
                for index in range(start, self._last + 1)
                if self._scores.bound(number, index) + hope > need
            ]
        return sorted(found, key=lambda one: (-one[0].score, one[1], one[0].message))

    def _hope(self, remaining: frozenset[int], start: int, placed: Mapping[int, Placed]) -> float:
        """Most that the remaining milestones can score together from a message on."""
        return sum(self._scores.hope(number, start, placed) for number in remaining)
