"""CoT@n: one chain of turns, tried up to n times until it answers (spec 4.5).

Owns the loop and when a try ends. Source: toolbench/inference/Algorithms/single_chain.py at aa4ed9f.
"""

from __future__ import annotations

from collections.abc import Generator

from replay.benchmarks.stabletoolbench.playing.nodes import Node
from replay.benchmarks.stabletoolbench.playing.statuses import Status
from replay.benchmarks.stabletoolbench.playing.turns import Candidate, IncompleteCompletionError, StepLimits
from replay.core.protocols import Answer, Ask, note

__all__ = ["ChainSearch"]


class ChainSearch:
    """The tries of one episode."""

    def __init__(self, candidate: Candidate, limits: StepLimits, *, tries: int) -> None:
        """Prepare up to `tries` tries."""
        self.limits = limits
        self.tries = tries
        self.ends: list[Node] = []
        """Last node of each try."""
        self.wins: list[bool] = []
        """Whether an earlier try had already answered when a try was filed, as upstream writes it."""
        self.answers = 0
        self.stop = "step-limit"
        self._candidate = candidate

    def run(self) -> Generator[Ask, Answer, None]:
        """Try until enough answers are given or all tries are used."""
        for number in range(self.tries):
            if number:
                yield from note("next-try", {"try": number + 1, "of": self.tries})
            try:
                end = yield from self._run_chain(self._candidate.plant())
            except IncompleteCompletionError as error:
                self.stop = error.stop
                return
            if end.terminal:
                self.answers += 1
                self.stop = "finished"
            if self.answers >= self.limits.answers:
                return

    def _run_chain(self, root: Node) -> Generator[Ask, Answer, Node]:
        """Run one try to its end and file it, also when strict rules break it off."""
        node = root
        asked = 0
        try:
            while not (node.pruned or node.terminal):
                if asked >= self.limits.max_queries:
                    # Only turns without text and calls come here: upstream would ask for ever.
                    node.pruned = True
                    self._set_stop("query-limit")
                    yield from note("query-limit", {"queries": asked})
                    break
                completion = yield from self._candidate.ask(node)
                asked += 1
                grown = yield from self._candidate.grow(node, completion)
                node = grown
                if self._candidate.is_at_limit(node, self.limits) and not node.terminal:
                    node.pruned = True
                    self._set_stop("step-limit")
        finally:
            self.ends.append(_deepest(node))
            self.wins.append(self.answers > 0)
        if node.code == Status.GAVE_UP:
            self._set_stop("gave-up")
        elif node.code == Status.NO_COMPLETION:
            self._set_stop("refused")
        return node

    def _set_stop(self, stop: str) -> None:
        if not self.answers:
            self.stop = stop


def _deepest(node: Node) -> Node:
    """Follow a chain to its end: a turn that was broken off has grown below the node it was asked from."""
    while node.children:
        node = node.children[-1]
    return node
