"""What an evaluator says of one case, and the partial score (spec section 7)."""

from __future__ import annotations

import math
from typing import Final

from replay.benchmarks.codexomics.records import Tier
from replay.benchmarks.codexomics.scoring.arguments import ArgumentMatch
from replay.core.types import Record

__all__ = ["Assessment", "Counts", "StepMatch", "partial_score", "share", "weighted_ratio"]

_CONTRACT_WEIGHTS: Final = (0.45, 0.35, 0.20)
_EXECUTION_WEIGHTS: Final = (0.35, 0.25, 0.15, 0.10, 0.15)
"""Shares of tools, arguments, schema, executed and succeeded calls."""


class StepMatch(Record, frozen=True, kw_only=True):
    """One expected step and the call that stands for it."""

    expected_index: int
    expected_tool: str
    actual_index: int | None
    arguments: ArgumentMatch | None = None
    """None when no call stands for the step."""


class Counts(Record, frozen=True, kw_only=True):
    """What was counted of one case."""

    expected: int
    observed: int
    tool_matches: int
    parameter_matches: int
    schema_valid: int
    executed: int
    succeeded: int
    failed: int
    sequence_ok: bool

    @property
    def arguments_ok(self) -> bool:
        """All expected arguments match; nothing expected is not all."""
        return self.parameter_matches == self.expected > 0

    @property
    def schemas_ok(self) -> bool:
        """Every observed call is valid; no call is not every call."""
        return self.schema_valid == self.observed > 0

    @property
    def execution_ok(self) -> bool:
        """Every expected call ran and succeeded."""
        return self.executed == self.succeeded == self.expected > 0

    def shares(self) -> tuple[float, ...]:
        """Shares of tools, arguments, schema, executed and succeeded calls, for the partial score."""
        return (
            share(self.tool_matches, self.expected),
            share(self.parameter_matches, self.expected),
            share(self.schema_valid, self.observed),
            share(self.executed, self.expected),
            share(self.succeeded, self.expected),
        )


class Assessment(Record, frozen=True, kw_only=True):
    """One verdict with its evidence."""

    success: bool
    score: int
    max_score: int
    weighted_ratio: float
    tier: Tier
    """Tier of the verdict; another one than was asked for when a call-only test switched it."""
    asked_tier: Tier
    scorer: str
    counts: Counts
    expected_tools: tuple[str, ...]
    actual_tools: tuple[str, ...]
    unexpected_calls: tuple[str, ...]
    matches: tuple[StepMatch, ...]
    schema_flags: tuple[bool, ...]
    """One per observed call."""
    errors: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    recovered: int = 0
    """Rejected or failed calls that were put right later; only the corrected evaluator sets them aside."""

    @property
    def ratio(self) -> float:
        """Score over maximum: what average partial scores are made of."""
        return self.score / self.max_score


def share(count: int, of: int) -> float:
    """Part of a whole; 0 of nothing."""
    return count / of if of else 0.0


def weighted_ratio(shares: tuple[float, ...], *, with_execution: bool) -> float:
    """Weigh the shares of tools, arguments, schema (and executed, succeeded), as upstream adds them up."""
    weights = _EXECUTION_WEIGHTS if with_execution else _CONTRACT_WEIGHTS
    total = 0.0
    for weight, share in zip(weights, shares, strict=False):
        total += weight * share
    return total


def partial_score(ratio: float, max_score: int, *, success: bool) -> int:
    """Full score for a pass; else at most one under it."""
    if success:
        return max_score
    # A sum of weights may end a hair under the number it is: 0.35 + 0.25 + 0.15 + 0.15 is 0.8999...
    return min(max_score - 1, math.floor(round(max_score * ratio, 9)))
