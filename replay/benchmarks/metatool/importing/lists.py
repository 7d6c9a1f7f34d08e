"""Candidate lists, built again from the embeddings by upstream's rules; no list is read from anywhere.

Source: spec 2, "Building the tool lists"; prompt_construction.py before and at 35e81bb (the published
multi-tool file came from the first version; the current one draws from pairs and cannot run).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replay.benchmarks.metatool.importing.embeddings import NeighbourTable
from replay.benchmarks.metatool.importing.queries import SEED
from replay.benchmarks.metatool.importing.upstream_random import python_sample, python_shuffle, seed_python

__all__ = ["ListBuilder"]

LIST_LENGTH: Final = 10
EXCLUDED: Final = 20
"""Nearest tools that never stand beside a removed or wanted tool, itself among them."""


class ListBuilder:
    """Builds the three kinds of lists; equal questions give equal lists."""

    def __init__(self, tools: Sequence[str], table: NeighbourTable) -> None:
        """Keep the tools in upstream's order and their neighbours."""
        self._tools = tuple(tools)
        self._table = table
        self._reliability: dict[str, tuple[str, ...]] = {}
        self._multi: dict[tuple[str, str], tuple[str, ...]] = {}

    def similar(self, truth: str) -> tuple[str, ...]:
        """The nearest tools in order of distance, the truth first."""
        return tuple(self._table.nearest(truth, LIST_LENGTH))

    def reliability(self, removed: str) -> tuple[str, ...]:
        """Tools that are far from the removed one."""
        known = self._reliability.get(removed)
        if known is None:
            pool = self._far_from(removed)
            known = tuple(python_sample(seed_python(SEED), pool, min(len(pool), LIST_LENGTH)))
            self._reliability[removed] = known
        return known

    def multi(self, first: str, second: str) -> tuple[str, ...]:
        """Two tools among eight that are far from both; the shuffle is not seeded anew."""
        known = self._multi.get((first, second))
        if known is None:
            stream = seed_python(SEED)
            pool = self._far_from(first, second)
            chosen = [*python_sample(stream, pool, min(len(pool), LIST_LENGTH - 2)), first, second]
            python_shuffle(stream, chosen)
            known = self._multi[first, second] = tuple(chosen)
        return known

    def _far_from(self, *tools: str) -> list[str]:
        near = {name for tool in tools for name in self._table.nearest(tool, EXCLUDED)}
        return [name for name in self._tools if name not in near]
