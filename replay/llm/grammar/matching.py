"""Does a string match a pattern? Answered in time linear in the string, whatever the pattern.

All ways through the pattern are followed side by side (Thompson's construction), so nothing is tried twice
and no pattern of the subset can run for ever. Steps are counted against a budget all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from replay.llm.grammar.expressions import Ranges
from replay.llm.grammar.patterns import Branch, Node, One, Pattern, Row, Times

__all__ = ["Matcher"]

_MATCHED: Final = -1


class Matcher:
    """One pattern, ready to be looked for in strings."""

    def __init__(self, pattern: Pattern) -> None:
        """Lay out the states of every alternative."""
        self._machines = tuple(_Machine(branch) for branch in pattern.branches)

    def matches(self, text: str, spend: Callable[[int], None]) -> bool:
        """Tell whether the pattern is found in a string; each state visited is spent."""
        return any(machine.matches(text, spend) for machine in self._machines)


class _Machine:
    """States of one alternative: each reads a character of a class, or leads on to others unread."""

    def __init__(self, branch: Branch) -> None:
        self._reads: list[tuple[Ranges, int] | None] = []
        self._free: list[tuple[int, ...]] = []
        self._branch = branch
        self._start = self._build(branch.node, _MATCHED)

    def _add(self, reads: tuple[Ranges, int] | None, free: tuple[int, ...]) -> int:
        self._reads.append(reads)
        self._free.append(free)
        return len(self._reads) - 1

    def _build(self, node: Node, after: int) -> int:
        """Lay out a node that leads on to a state, and return the state it begins with."""
        if isinstance(node, One):
            return self._add((node.ranges, after), ())
        if isinstance(node, Row):
            for part in reversed(node.parts):
                after = self._build(part, after)
            return after
        if isinstance(node, Times):
            return self._build_times(node, after)
        return self._add(None, tuple(self._build(option, after) for option in node.options))

    def _build_times(self, node: Times, after: int) -> int:
        if node.high is None:
            loop = self._add(None, ())
            self._free[loop] = (self._build(node.item, loop), after)
            entry = loop
        else:
            entry = after
            for _ in range(node.high - node.low):
                entry = self._add(None, (self._build(node.item, entry), after))
        for _ in range(node.low):
            entry = self._build(node.item, entry)
        return entry

    def matches(self, text: str, spend: Callable[[int], None]) -> bool:
        states = self._spread({self._start})
        for char in text:
            if _MATCHED in states and not self._branch.to_end:
                return True
            spend(len(states) + 1)
            point = ord(char)
            after = {
                reads[1]
                for state in states
                if state != _MATCHED and (reads := self._reads[state]) is not None and _holds(reads[0], point)
            }
            if not self._branch.from_start:
                after.add(self._start)
            if not after:
                return False
            states = self._spread(after)
        return _MATCHED in states

    def _spread(self, states: set[int]) -> set[int]:
        """Follow everything that leads on without reading."""
        found: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state in found:
                continue
            found.add(state)
            if state != _MATCHED:
                waiting += self._free[state]
        return found


def _holds(ranges: Ranges, point: int) -> bool:
    return any(low <= point <= high for low, high in ranges)
