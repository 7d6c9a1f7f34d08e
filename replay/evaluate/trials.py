"""Repeated trials of one task: pass@k (some of k succeed) and pass^k (all of k succeed).

Both are the unbiased estimators over the trials that were recorded. A k beyond them is refused: repeating one
recorded answer would call it k answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from replay.core.errors import InputError
from replay.evaluate.metrics import mean

__all__ = ["pass_at_k", "pass_hat_k"]


def pass_at_k(trials: Mapping[str, Sequence[bool]], k: int) -> float:
    """Chance that at least one of k trials succeeds, averaged over tasks.

    Units:   fraction in 0..1.
    Errors:  InputError naming every task with fewer than k recorded trials.
    Source:  1 - C(n - c, k) / C(n, k) for c successes of n trials (the HumanEval paper's estimator).
    """
    _check(trials, k)
    return mean([1.0 - math.comb(len(t) - sum(t), k) / math.comb(len(t), k) for t in _sorted(trials)])


def pass_hat_k(trials: Mapping[str, Sequence[bool]], k: int) -> float:
    """Chance that all of k trials succeed, averaged over tasks.

    Units:   fraction in 0..1.
    Errors:  InputError naming every task with fewer than k recorded trials.
    Source:  C(c, k) / C(n, k) for c successes of n trials (the tau-bench paper's estimator).
    """
    _check(trials, k)
    return mean([math.comb(sum(t), k) / math.comb(len(t), k) for t in _sorted(trials)])


def _sorted(trials: Mapping[str, Sequence[bool]]) -> list[Sequence[bool]]:
    return [trials[task] for task in sorted(trials)]


def _check(trials: Mapping[str, Sequence[bool]], k: int) -> None:
    if not trials:
        raise InputError("no trials to estimate from", expected="at least one task with recorded trials")
    if k < 1:
        raise InputError(f"k = {k} trials", expected="k of at least 1")
    short = sorted(task for task, results in trials.items() if len(results) < k)
    if short:
        shown = ", ".join(f"{task} ({len(trials[task])})" for task in short[:5])
        more = f" and {len(short) - 5} more" if len(short) > 5 else ""
        raise InputError(
            f"k = {k} asks for more trials than are recorded",
            where=f"tasks {shown}{more}",
            expected=f"at least {k} recorded trials a task",
            next_step=f"record more trials (--trials {k}) or ask for a smaller k",
        )
