"""Which observed call stands for which expected step (spec 6.3).

Two official matchers (an ordered one that walks forward with a cursor, a greedy one for order-free steps) and
the corrected one, which pairs order-free steps so that as many as possible match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from replay.benchmarks.codexomics.records import ExpectedCall, ObservedCall
from replay.benchmarks.codexomics.scoring.tables import equivalents_of

__all__ = ["Fits", "accepts_tool", "is_exact_sequence", "pair_calls"]

Fits = Callable[[int, int], bool]
"""Tell whether the arguments of a call (second index) match those of a step (first index)."""


def accepts_tool(step: ExpectedCall, tool: str, *, completion: bool) -> bool:
    """Tell whether a tool is the step's; equivalents stand for each other under the completion tiers."""
    if tool in step.tools:
        return True
    return completion and any(tool in equivalents_of(name) for name in step.tools)


def is_exact_sequence(steps: Sequence[ExpectedCall], calls: Sequence[ObservedCall]) -> bool:
    """Tell whether calls are the steps position by position, order-free runs permuted within themselves."""
    if not steps or len(steps) != len(calls):
        return False
    for start, end in _windows(steps):
        tools = [call.key for call in calls[start:end]]
        if not _covers(steps[start:end], tools):
            return False
    return True


def pair_calls(
    steps: Sequence[ExpectedCall],
    calls: Sequence[ObservedCall],
    fits: Fits,
    *,
    completion: bool,
    best: bool = False,
) -> list[int | None]:
    """Pair each step with a distinct call, or None.

    Source:  spec 6.3 and 6.4. Ordered steps: the next call of the tool after the last one found. Order-free
             steps: the first unused call that matches, else the first unused one of the tool.
             Differs: with `best` order-free steps are paired for as many matches as can be had, and under the
             strict tiers inside their own window.
    """
    pairs: list[int | None] = [None] * len(steps)
    used: set[int] = set()
    free = [i for i, step in enumerate(steps) if completion or step.is_order_free]
    if best:
        if not completion:
            fits = _inside_windows(steps, calls, fits)
        for index, j in _best_pairs(steps, calls, fits, free, completion=completion).items():
            pairs[index] = j
            used.add(j)
    cursor = 0
    for index, step in enumerate(steps):
        if pairs[index] is not None:
            continue
        mine = [
            j
            for j, call in enumerate(calls)
            if j not in used and accepts_tool(step, call.key, completion=completion)
        ]
        if index in free:
            found = next((j for j in mine if fits(index, j)), mine[0] if mine else None)
        else:
            found = next((j for j in mine if j >= cursor), None)
            cursor = cursor if found is None else found + 1
        if found is not None:
            used.add(found)
            pairs[index] = found
    return pairs


def _windows(steps: Sequence[ExpectedCall]) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(steps):
        end = start + 1
        while steps[start].is_order_free and end < len(steps) and steps[end].is_order_free:
            end += 1
        yield start, end
        start = end


def _inside_windows(steps: Sequence[ExpectedCall], calls: Sequence[ObservedCall], fits: Fits) -> Fits:
    """Hold order-free steps to their window where the sequence is exact: there places are the same."""
    if not is_exact_sequence(steps, calls):
        return fits
    window = {i: range(start, end) for start, end in _windows(steps) for i in range(start, end)}
    return lambda i, j: j in window[i] and fits(i, j)


def _covers(steps: Sequence[ExpectedCall], tools: Sequence[str]) -> bool:
    """Tell whether the tools can be dealt to the steps one to one."""
    edges = [[j for j, tool in enumerate(tools) if tool in step.tools] for step in steps]
    return len(_augment(edges)) == len(steps)


def _best_pairs(
    steps: Sequence[ExpectedCall],
    calls: Sequence[ObservedCall],
    fits: Fits,
    free: Sequence[int],
    *,
    completion: bool,
) -> dict[int, int]:
    """Pair order-free steps that can match; those left over are paired by name afterwards."""
    edges = [
        [
            j
            for j, call in enumerate(calls)
            if accepts_tool(steps[i], call.key, completion=completion) and fits(i, j)
        ]
        for i in free
    ]
    return {free[place]: call for place, call in _augment(edges).items()}


def _augment(edges: Sequence[Sequence[int]]) -> dict[int, int]:
    """Maximum bipartite matching, left to right and lowest first, so that it is always the same one."""
    owner: dict[int, int] = {}

    def grow(left: int, seen: set[int]) -> bool:
        for right in edges[left]:
            if right not in seen:
                seen.add(right)
                if right not in owner or grow(owner[right], seen):
                    owner[right] = left
                    return True
        return False

    for left in range(len(edges)):
        grow(left, set())
    return {left: right for right, left in sorted(owner.items(), key=lambda item: item[1])}
