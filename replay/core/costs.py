"""What answers of local models cost: tokens and seconds, counted by the part of a run that asked.

Costs depend on what ran before and beside (reused tokens, seconds), so they go to timings.jsonl and to the
screen and are never hashed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from replay.core.types import Record

__all__ = ["Cost", "CostMeter", "Costs", "sum_costs"]


class Cost(Record, frozen=True, kw_only=True):
    """What one or more generations cost."""

    requests: int = 0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    """Prompt tokens that did not have to be evaluated again; a part of `prompt_tokens`."""
    generated_tokens: int = 0
    seconds: float = 0.0
    """From asking to answer. Requests that ran side by side each count their whole time."""
    overflowed: int = 0
    """Requests that the model's context had no room for."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            requests=self.requests + other.requests,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            reused_tokens=self.reused_tokens + other.reused_tokens,
            generated_tokens=self.generated_tokens + other.generated_tokens,
            seconds=round(self.seconds + other.seconds, 6),
            overflowed=self.overflowed + other.overflowed,
        )


Costs = dict[str, Cost]
"""Part of a run (candidate, user, simulator, judge) to what it cost."""


class CostMeter:
    """Counts the costs of one episode; safe to use from many threads."""

    def __init__(self) -> None:
        self._parts: Costs = {}
        self._lock = threading.Lock()

    def add(self, part: str, cost: Cost) -> None:
        """Count one more generation of a part."""
        with self._lock:
            self._parts[part] = self._parts.get(part, Cost()) + cost

    def read(self) -> Costs:
        """Return what was counted so far, parts sorted by name."""
        with self._lock:
            return {part: self._parts[part] for part in sorted(self._parts)}


def sum_costs(many: Iterable[Mapping[str, Cost]]) -> Costs:
    """Add costs up part by part."""
    meter = CostMeter()
    for costs in many:
        for part, cost in costs.items():
            meter.add(part, cost)
    return meter.read()
