"""The official search step by step, for graphs on which it may raise.

Whether it does hangs on its exact path. A milestone that refers to one not placed, or a constraint that
cannot be computed, stops the official evaluator when, and only when, its search comes by. So this one
prunes where the official one prunes, by sums from the start. It also stands as the law that the fast
search is tested against. Source: upstream common/evaluation.py at 165848b, MilestoneMatcher._dfs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError
from replay.benchmarks.toolsandbox.scoring.matching import Matching, Placed, Scores

__all__ = ["search_all"]

_MOST_VISITS: Final = 20_000


def search_all(
    predecessors: Mapping[int, frozenset[int]],
    scores: Scores,
    *,
    first: int,
    last: int,
    most_visits: int = _MOST_VISITS,
) -> Matching:
    """Place every milestone as the official search does, visit by visit.

    Errors:  whatever `scores` raises on the way; DefinitionError after `most_visits` states.
    """
    search = _Search(predecessors, scores, last=last, most_visits=most_visits)
    placed, total = search.visit({}, 0.0, frozenset(predecessors), first)
    return Matching(placed, total)


class _Search:
    def __init__(
        self, predecessors: Mapping[int, frozenset[int]], scores: Scores, *, last: int, most_visits: int
    ) -> None:
        self._predecessors = predecessors
        self._scores = scores
        self._last = last
        self._most_visits = most_visits
        self.visits = 0

    def visit(
        self, placed: dict[int, Placed], so_far: float, remaining: frozenset[int], start: int
    ) -> tuple[dict[int, Placed], float]:
        """Best placement and its sum from here, {} and -1 when there is none."""
        if not remaining:
            return placed, so_far
        self.visits += 1
        if self.visits > self._most_visits:
            raise DefinitionError(f"the official search takes more than {self._most_visits} visits")
        candidates = [
            (-self._scores.score(number, index, placed), number, index)
            for number in sorted(remaining)
            if not self._predecessors[number] & remaining
            for index in range(start, self._last + 1)
        ]
        best: tuple[dict[int, Placed], float] = {}, -1.0
        for negative, number, index in sorted(candidates):
            if so_far - negative + len(remaining) - 1 <= best[1]:
                continue
            floor = max(start, self._scores.floor(index))
            taken = {**placed, number: Placed(index, -negative)}
            found = self.visit(taken, so_far - negative, remaining - {number}, floor)
            if found[1] > best[1]:
                best = found
        return best
