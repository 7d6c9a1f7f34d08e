"""DFSDT: depth-first search over turns, with diversity prompts and backtracking (spec 4.6).

Owns the order in which nodes are expanded, how far a result climbs, and the pairwise votes of the filtered
form. Written with an explicit stack: upstream recurses once a turn. Source:
toolbench/inference/Algorithms/DFS.py and LLM_rank/rank_candidate.py at aa4ed9f.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.stabletoolbench.playing.nodes import Node, Said
from replay.benchmarks.stabletoolbench.playing.statuses import Status
from replay.benchmarks.stabletoolbench.playing.turns import Candidate, IncompleteCompletionError, StepLimits
from replay.core.protocols import Answer, Ask, note

__all__ = ["TreeSearch"]

_ANSWER_CLIMB: Final = 2
"""How many turns an answer or a give-up climbs: the sibling of its parent is tried next, not its own."""
_ENOUGH: Final = 10_000
"""Climbs past every turn: enough answers were given."""
_EXHAUSTED: Final = 100_000
"""Climbs past every turn: no more queries are allowed."""
_FINISHED_INPUTS: Final = 2


class _Frame:
    """One node being expanded."""

    __slots__ = ("index", "node", "ranked", "split")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.index = 0
        self.split: list[Node] = []
        """Filtered form: the children to be ranked, then expanded in that order."""
        self.ranked = False


class TreeSearch:
    """The search of one episode."""

    def __init__(
        self, candidate: Candidate, limits: StepLimits, *, width: int, with_filter: bool = False
    ) -> None:
        """Prepare a search that makes up to `width` turns from each node."""
        self.limits = limits
        self.width = width
        self.with_filter = with_filter
        self.root = candidate.plant()
        self.answered: list[Node] = []
        self.gave_up: list[Node] = []
        self.stop = ""
        """query-limit or what broke the search off; empty when it came to its own end."""
        self._candidate = candidate
        self._visits = 0

    def run(self) -> Generator[Ask, Answer, None]:
        """Search until enough answers are given, the tree is exhausted or the queries are."""
        try:
            yield from self._search()
        except IncompleteCompletionError as error:
            self.stop = error.stop

    def _search(self) -> Generator[Ask, Answer, None]:
        stack: list[_Frame] = []
        climb = self._visit(self.root, stack)
        while stack:
            frame = stack[-1]
            if climb is not None:
                climb = self._climb_past(frame, climb)
                if climb is not None:
                    stack.pop()
                    continue
            if self.with_filter and not frame.ranked:
                climb = yield from self._split(frame)
                if climb is not None:
                    stack.pop()
                continue
            if frame.index == (len(frame.split) if self.with_filter else self.width):
                stack.pop()
                climb = 1
                continue
            child = frame.split[frame.index] if self.with_filter else (yield from self._turn(frame.node))
            frame.index += 1
            if child is None:
                stack.pop()
                climb = _EXHAUSTED
                continue
            climb = self._visit(child, stack)

    def _visit(self, node: Node, stack: list[_Frame]) -> int | None:
        """Number a node; judge it as a leaf (how far to climb) or put it up for expansion (None)."""
        node.expand_num = self._visits
        self._visits += 1
        if node.terminal:
            self.answered.append(node)
            return _ANSWER_CLIMB
        if node.pruned or self._candidate.is_at_limit(node, self.limits):
            node.pruned = True
            if node.code == Status.GAVE_UP:
                self.gave_up.append(node)
                return _ANSWER_CLIMB
            return self.limits.dead_end_climb
        stack.append(_Frame(node))
        return None

    def _climb_past(self, frame: _Frame, climb: int) -> int | None:
        """How far a child's result climbs past its frame; None when the frame goes on with the next child."""
        if len(self.answered) >= self.limits.answers:
            return _ENOUGH
        if climb > 1:
            if self.with_filter:
                frame.node.mark_finished(_FINISHED_INPUTS)
            return climb - 1
        return None

    def _turn(self, node: Node) -> Generator[Ask, Answer, Node | None]:
        """Make one turn from a node; None when it used up the queries, and what was said is thrown away."""
        diversity = self._candidate.diversity(node)
        if diversity is not None:
            yield from note("diversity", {"depth": node.depth, "earlier": len(node.children)})
            node.history.append(Said(message=diversity))
        completion = yield from self._candidate.ask(node)
        if self._candidate.queries >= self.limits.max_queries:
            self.stop = "query-limit"
            yield from note("query-limit", {"queries": self._candidate.queries})
            return None
        if diversity is not None:
            # Descendants must not see it; the file keeps it, flagged.
            node.history[-1] = replace(node.history[-1], shown=False)
        grown = yield from self._candidate.grow(node, completion)
        step: Node | None = grown
        while step is not None and step is not node:
            if step.code == Status.ANSWERED:
                step.mark_finished(_FINISHED_INPUTS)
            step = step.parent
        return grown

    # ---- the filtered form -----------------------------------------------------------------------------

    def _split(self, frame: _Frame) -> Generator[Ask, Answer, int | None]:
        """Make all turns of a node first, then order them by votes; returns a climb when queries ran out."""
        while len(frame.split) < self.width:
            child = yield from self._turn(frame.node)
            if child is None:
                return _EXHAUSTED
            frame.split.append(child)
        points = yield from self._rank(frame.split)
        order = sorted(range(len(frame.split)), key=lambda index: -points[index])
        if len(order) > 1:
            yield from note("ranked", {"points": points, "order": order})
        frame.split = [frame.split[index] for index in order]
        frame.ranked = True
        return None

    def _rank(self, nodes: list[Node]) -> Generator[Ask, Answer, list[float]]:
        """Compare all pairs in both orders: one point for a win, half a point each for a tie."""
        points = [0.0] * len(nodes)
        for left in range(len(nodes) - 1):
            for right in range(left + 1, len(nodes)):
                first = yield from self._vote(nodes[left], nodes[right])
                second = yield from self._vote(nodes[right], nodes[left])
                lead = first - second
                points[left] += 0.5 + 0.5 * ((lead > 0) - (lead < 0))
                points[right] += 0.5 - 0.5 * ((lead > 0) - (lead < 0))
        return points

    def _vote(self, first: Node, second: Node) -> Generator[Ask, Answer, int]:
        """Ask which of two nodes is better: 1 for the first, -1 for the second, 0 for no vote.

        Source:  rank_candidate.py: the first wins when the answer ends in `a`, in either case; every other
                 answer is a vote for the second, and an empty one stops upstream's program. Differs: an empty
                 answer is no vote; in strict, so is an answer that ends in neither letter.
        """
        text = (yield from self._candidate.ask_vote(first, second)).strip().lower()
        if text.endswith("a"):
            return 1
        unreadable = not text.endswith("b") if self._candidate.rules.strict else not text
        if unreadable:
            yield from note("vote-unreadable", {"answer": text[:80]})
            return 0
        return -1
