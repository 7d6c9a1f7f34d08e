"""Log-probabilities of tokens: what the model itself gave them, equal to the bit on every machine.

Specification. With a row x of logits and its largest value m, the log-probability of token t is
(x[t] - m) - log(sum of exp(x[i] - m) over all i), in float64; the sum runs in the order of token ids, over
exp as `sampling.exponential` computes it (values below -700 count as nothing), and log is computed here from
exactly rounded steps only. It is the distribution before temperature, cuts and grammar. Alternatives go by
falling logit, ties by lowest id. What has no chance at all gets `NO_CHANCE`, which JSON can write.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from replay.core.logprobs import NO_CHANCE
from replay.llm.llamacpp.drawing import Row
from replay.llm.llamacpp.weighing import LN2_HIGH, LN2_LOW, exponential

__all__ = ["find_largest", "log_probabilities", "logarithm"]

_HALF_ROOT: Final = float.fromhex("0x1.6a09e667f3bcdp-1")
_TERMS: Final = 12  # of artanh: the next one is below 2^-64 for arguments up to 3 - 2 sqrt(2)


def log_probabilities(row: Row, tokens: Iterable[int]) -> list[float]:
    """Compute the log-probability of some tokens of a row whose largest value is finite.

    Units:   nats; at most 0.
    """
    best = float(row.max())
    distances = row.astype(np.float64)
    distances -= best
    counted = distances[distances >= -700.0]
    whole = logarithm(float(np.add.accumulate(exponential(counted))[-1]))
    found = (float(distances[token]) - whole for token in tokens)
    return [max(value, NO_CHANCE) + 0.0 for value in found]


def find_largest(row: Row, count: int) -> list[int]:
    """List the ids of the `count` largest values, the largest first, equal ones by lowest id."""
    count = min(count, len(row))
    if count == 0:
        return []
    least = np.partition(row, len(row) - count)[len(row) - count]
    ids = np.flatnonzero(row >= least)
    order = np.argsort(-row[ids], kind="stable")
    return [int(token) for token in ids[order[:count]]]


def logarithm(value: float) -> float:
    """Compute the natural logarithm of a positive finite number from exactly rounded steps only.

    Units:   error below 2^-50 of the result, or below 2^-52 where that is more.
    """
    part, power = math.frexp(value)
    if part < _HALF_ROOT:
        part, power = part * 2, power - 1
    ratio = (part - 1) / (part + 1)
    square = ratio * ratio
    series = 0.0
    for term in range(_TERMS, -1, -1):
        series = series * square + 1 / (2 * term + 1)
    return power * LN2_HIGH + (2 * ratio * series + power * LN2_LOW)
