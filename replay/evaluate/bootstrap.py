"""Seeded bootstrap of a mean: the same items give the same interval in any order, on any platform.

Draws come from SHAKE-128 over (seed, resample number), so they depend on no generator state. A draw is a
40-bit number u and takes cluster floor(u * n / 2^40). Scores have few distinct values, so what matters is
how many draws fall on each: the high byte alone settles nearly all of them, counted by whole-buffer
operations, and the low 32 bits are made only for draws whose high byte straddles two values. Integers
decide, libm never does.
"""

from __future__ import annotations

import hashlib
import math
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

__all__ = ["LEVEL", "RESAMPLES", "Cluster", "percentile_interval", "resample_means"]

RESAMPLES: Final = 1000
"""Enough that the ends of a 95 % interval move by a few tenths of a standard error at most."""

LEVEL: Final = 0.95

_FEW: Final = 48
"""Above this many distinct values most high bytes straddle two of them, and single draws are faster."""

Cluster = tuple[float, int]
"""Sum and number of the scores that belong together (the trials of one task) and are drawn together."""


def resample_means(
    clusters: Mapping[str, Cluster], *, seed: int, resamples: int = RESAMPLES
) -> tuple[float, ...]:
    """Draw whole clusters with replacement and take the mean of their scores, `resamples` times.

    Shape:   one mean a resample; empty when there are no clusters or none holds a score.
    """
    kept = sorted((name, cluster) for name, cluster in clusters.items() if cluster[1] > 0)
    if not kept:
        return ()
    weights = Counter(cluster for _, cluster in kept)
    if len(weights) == 1:
        (total, count) = kept[0][1]
        return (total / count,) * resamples
    if len(weights) <= _FEW:
        return _by_value(weights, seed, resamples)
    return _by_cluster([cluster for _, cluster in kept], seed, resamples)


def percentile_interval(
    means: Sequence[float], *, value: float, level: float = LEVEL
) -> tuple[float, float] | None:
    """Cut the middle `level` out of resampled means; always holds the value itself, None without means."""
    if not means:
        return None
    ordered = sorted(means)
    tail = (1.0 - level) / 2.0
    low = ordered[min(len(ordered) - 1, math.floor(tail * len(ordered)))]
    high = ordered[max(0, math.ceil((1.0 - tail) * len(ordered)) - 1)]
    # The mean is exact while resampled means add products: they may differ in the last bit.
    return (min(low, value), max(high, value))


def _by_value(weights: Mapping[Cluster, int], seed: int, resamples: int) -> tuple[float, ...]:
    values = sorted(weights)
    ends = list(accumulate(weights[value] for value in values))
    size = ends[-1]
    pure = [_pure_bytes(end - weights[value], end, size) for value, end in zip(values, ends, strict=True)]
    mixed = sorted(set(range(256)) - {byte for run in pure for byte in run})
    means = []
    for index in range(resamples):
        draws = hashlib.shake_128(b"%d:%d:high" % (seed, index)).digest(size)
        counts = [size - len(draws.translate(None, run)) if run else 0 for run in pure]
        for value_index in _settle(draws, mixed, ends=ends, label=b"%d:%d:low" % (seed, index)):
            counts[value_index] += 1
        total = math.fsum(count * value[0] for count, value in zip(counts, values, strict=True))
        number = sum(count * value[1] for count, value in zip(counts, values, strict=True))
        means.append(total / number)
    return tuple(means)


def _pure_bytes(start: int, end: int, size: int) -> bytes:
    """High bytes all of whose draws fall on clusters start..end of `size`."""
    first = -(-start * 256 // size)
    last = end * 256 // size
    return bytes(range(first, last)) if last > first else b""


def _settle(draws: bytes, mixed: Sequence[int], *, ends: Sequence[int], label: bytes) -> list[int]:
    """Finish the draws whose high byte straddles two values; returns the value index of each."""
    highs = [byte for byte in mixed for _ in range(draws.count(byte))]
    lows = struct.unpack(f"<{len(highs)}I", hashlib.shake_128(label).digest(4 * len(highs)))
    size = ends[-1]
    return [
        bisect_right(ends, (((high << 32) | low) * size) >> 40) for high, low in zip(highs, lows, strict=True)
    ]


def _by_cluster(clusters: Sequence[Cluster], seed: int, resamples: int) -> tuple[float, ...]:
    size = len(clusters)
    sums = [cluster[0] for cluster in clusters]
    counts = [cluster[1] for cluster in clusters]
    means = []
    for index in range(resamples):
        raw = hashlib.shake_128(b"%d:%d:each" % (seed, index)).digest(4 * size)
        chosen = [(draw * size) >> 32 for draw in struct.unpack(f"<{size}I", raw)]
        total = math.fsum(map(sums.__getitem__, chosen))
        means.append(total / sum(map(counts.__getitem__, chosen)))
    return tuple(means)
