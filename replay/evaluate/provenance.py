"""Where the answers behind a score came from: counts and shares by provenance class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from replay.core.trajectory import CallStep, CompletionStep, Trajectory

__all__ = ["count_provenance", "provenance_shares"]


def count_provenance(trajectories: Iterable[Trajectory]) -> dict[str, dict[str, int]]:
    """Count answers by who was asked (`tools`, `candidate`, `user`, ...), then by class, both sorted."""
    counts: dict[str, Counter[str]] = {}
    for trajectory in trajectories:
        for step in trajectory.steps:
            if isinstance(step, CallStep):
                counts.setdefault("tools", Counter())[step.result.provenance.value] += 1
            elif isinstance(step, CompletionStep):
                counts.setdefault(step.role.value, Counter())[step.completion.provenance.value] += 1
    return {asked: dict(sorted(counts[asked].items())) for asked in sorted(counts)}


def provenance_shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Turn counts into fractions of their total, sorted by class; empty for nothing counted."""
    total = sum(counts.values())
    return {name: counts[name] / total for name in sorted(counts)} if total else {}
