"""The query files: which query belongs to which tool, and the samples that upstream draws of them.

Source: spec 1 and 2; prompt_construction.py at 35e81bb: rows of one tool in file order; more rows than wanted
are sampled with NumPy's old generator under seed 48.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Final

import msgspec

from replay.benchmarks.metatool.importing.files import Checkout
from replay.benchmarks.metatool.importing.upstream_random import numpy_choice, seed_numpy

__all__ = ["GOLDEN", "QUERIES", "GoldenPair", "QueryBook", "read_golden"]

QUERIES: Final = "data/all_clean_data.csv"
GOLDEN: Final = "data/multi_tool_query_golden.json"
SEED: Final = 48
_COLUMNS: Final = ["Query", "Tool"]
_MAX_FIELD: Final = 1 << 20


class GoldenPair(msgspec.Struct, frozen=True):
    """One multi-tool query with the two tools it needs, in the file's order."""

    query: str
    tool: tuple[str, str]


class QueryBook:
    """Single-tool queries by tool, in file order."""

    def __init__(self, checkout: Checkout) -> None:
        """Read the query file where there is one."""
        self.by_tool: dict[str, list[str]] = {}
        self.labels: dict[str, list[str]] = {}
        """Tools of each query, each once, in file order."""
        self.counts: Counter[str] = Counter()
        """How often each query occurs."""
        self.rows = 0
        if checkout.has(QUERIES):
            text = checkout.read_text(QUERIES)
            if text is not None:
                self._read(checkout, text)

    def sample(self, tool: str, count: int) -> list[str]:
        """Draw queries of one tool as upstream does; all of them when there are no more than `count`."""
        queries = self.by_tool.get(tool, [])
        if len(queries) <= count:
            return list(queries)
        return [queries[place] for place in numpy_choice(seed_numpy(SEED), len(queries), count)]

    def _read(self, checkout: Checkout, text: str) -> None:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            if next(reader, []) != _COLUMNS:
                checkout.fault("the first line is not `Query,Tool`", file=QUERIES)
                return
            for number, row in enumerate(reader):
                if len(row) != len(_COLUMNS) or len(row[0]) > _MAX_FIELD:
                    checkout.fault(f"{len(row)} columns, not a query and a tool", file=QUERIES, record=number)
                else:
                    self._add(*row)
        except csv.Error as error:
            checkout.fault(f"not a table: {error}", file=QUERIES, record=self.rows)
        checkout.count(QUERIES, self.rows)

    def _add(self, query: str, tool: str) -> None:
        self.rows += 1
        self.by_tool.setdefault(tool, []).append(query)
        self.counts[query] += 1
        labels = self.labels.setdefault(query, [])
        if tool not in labels:
            labels.append(tool)


def read_golden(checkout: Checkout) -> tuple[GoldenPair, ...]:
    """Read the multi-tool queries; none where the file is not there."""
    if not checkout.has(GOLDEN):
        return ()
    return tuple(checkout.read_json(GOLDEN, list[GoldenPair]) or ())
