"""Made-up milestone scores for the search, and the plainest search there is."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from replay.benchmarks.toolsandbox.scoring.matching import Placed

__all__ = ["MadeScores", "best_sum"]


class MadeScores:
    """Scores from a table; a milestone that refers to another counts only on messages of the same colour."""

    def __init__(
        self,
        table: Mapping[int, tuple[float, ...]],
        references: Mapping[int, frozenset[int]],
        colours: tuple[int, ...],
    ) -> None:
        """Take the score of each milestone by message, what it refers to, and the colour of each message."""
        self._table = table
        self._references = references
        self._colours = colours
        self.asked = 0

    def score(self, number: int, index: int, placed: Mapping[int, Placed]) -> float:
        """Half the score for each reference at a message of another colour."""
        self.asked += 1
        return self._halved(number, index, placed)

    def _halved(self, number: int, index: int, placed: Mapping[int, Placed]) -> float:
        value = self._table[number][index]
        for reference in sorted(self._references[number]):
            if reference in placed and self._colours[placed[reference].message] != self._colours[index]:
                value /= 2
        return value

    def bound(self, number: int, index: int) -> float:
        """The score without its references."""
        return self._table[number][index]

    def hope(self, number: int, start: int, placed: Mapping[int, Placed]) -> float:
        """Most from a message on, at the colours of what is placed."""
        return max(
            (self._halved(number, index, placed) for index in range(start, len(self._colours))), default=0.0
        )

    def floor(self, index: int) -> int:
        """No batches."""
        return index

    def open_key(
        self,
        placed: Mapping[int, Placed],
        remaining: frozenset[int],
        start: int,
    ) -> Hashable:
        """Colours of what is still referred to."""
        return tuple(
            (number, reference, self._colours[placed[reference].message])
            for number in sorted(remaining)
            for reference in sorted(self._references[number])
            if reference in placed
        )


def best_sum(predecessors: Mapping[int, frozenset[int]], scores: MadeScores, *, last: int) -> float:
    """Greatest sum over every topological order and every message for each milestone, without any pruning."""
    return max(_sums({}, frozenset(predecessors), 0, predecessors, scores, last), default=-1.0)


def _sums(
    placed: dict[int, Placed],
    remaining: frozenset[int],
    start: int,
    predecessors: Mapping[int, frozenset[int]],
    scores: MadeScores,
    last: int,
) -> Iterator[float]:
    if not remaining:
        yield sum(place.score for place in placed.values())
    for number in remaining:
        if predecessors[number] & remaining:
            continue
        for index in range(start, last + 1):
            taken = {**placed, number: Placed(index, scores.score(number, index, placed))}
            yield from _sums(taken, remaining - {number}, index, predecessors, scores, last)
