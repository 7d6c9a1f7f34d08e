"""Weights of tokens: e^x to the last bits on every processor, and bounds of what many weigh together.

A vocabulary has 50,000 to 260,000 tokens, and at temperature 1 nearly all of them weigh something. Their
exact weights cost milliseconds; bounds of what all but the heaviest weigh together cost a fifth of that, and
mostly decide a draw (`drawing`).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["LN2_HIGH", "LN2_LOW", "Bounds", "CoarseSum", "Doubles", "Singles", "exponential"]

Doubles = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

_ONE_OVER_LN2: Final = float.fromhex("0x1.71547652b82fep+0")
LN2_HIGH: Final = float.fromhex("0x1.62e42feep-1")  # ends in zeros: its multiples up to 2^10 are exact
LN2_LOW: Final = float.fromhex("0x1.a39ef35793c76p-33")
_DEGREE: Final = 13  # the next term is below 2^-57 for arguments up to ln(2) / 2
_COEFFICIENTS: Final = tuple(1 / math.factorial(power) for power in range(_DEGREE, -1, -1))
_BIAS, _MANTISSA_BITS = 1023.0, 52
_BLOCK: Final = 6144
"""Values computed with at once: three arrays of them stay in the processor's fast memory."""

_COARSE: Final = tuple(np.float32(math.log(2) ** power / math.factorial(power)) for power in range(4, -1, -1))
_COARSE_BIAS: Final = np.float32(127)
_COARSE_ULPS: Final = np.float32(1 << 23)
_COARSE_LEAST: Final = np.float32(-80)
_COARSE_ONE_OVER_LN2: Final = np.float32(_ONE_OVER_LN2)
_COARSE_ERROR: Final = 1e-3
"""Relative error, generously: 2^f for f in -0.5..0.5 by a polynomial is off by 5e-5, float32 sums by 3e-5."""
_LANES: Final = 256


class Bounds(NamedTuple):
    """Two numbers between which a sum lies."""

    low: float
    high: float


def exponential(values: Doubles) -> Doubles:
    """Compute e^x for x in -700..0 from exactly rounded steps only, so that no two processors differ.

    Units:   relative error below 2^-50.
    """
    result = np.empty_like(values)
    halvings, rest = np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(0, len(values), _BLOCK):
        part = values[start : start + _BLOCK]
        count = len(part)
        _exponential(part, result[start : start + count], halvings[:count], rest[:count])
    return result


def _exponential(values: Doubles, result: Doubles, halvings: Doubles, rest: Doubles) -> None:
    """Range reduction to a power of two, then a polynomial; everything goes into arrays that are there."""
    np.multiply(values, _ONE_OVER_LN2, out=halvings)
    np.rint(halvings, out=halvings)
    np.multiply(halvings, LN2_HIGH, out=result)
    np.subtract(values, result, out=rest)
    np.multiply(halvings, LN2_LOW, out=result)
    np.subtract(rest, result, out=rest)
    result[:] = _COEFFICIENTS[0]
    for coefficient in _COEFFICIENTS[1:]:
        np.multiply(result, rest, out=result)
        np.add(result, coefficient, out=result)
    np.add(halvings, _BIAS, out=halvings)
    np.multiply(result, _powers(halvings), out=result)


def _powers(exponents: Doubles) -> Doubles:
    """Make the powers of two with these biased exponents, which are whole and normal."""
    bits = exponents.astype(np.int64)
    bits <<= _MANTISSA_BITS
    return bits.view(np.float64)


class CoarseSum:
    """Bounds the sum of e^x over many values; keeps its memory, which costs more to get than to use."""

    def __init__(self, size: int) -> None:
        """Make room for so many values."""
        self._lanes = -(-size // _LANES)
        self._scaled, self._halvings = np.empty(size, np.float32), np.empty(size, np.float32)
        self._bits = np.empty(size, np.int32)
        self._weights = np.zeros(self._lanes * _LANES, np.float32)
        self._size = size

    def bound(self, values: Singles) -> Bounds:
        """Bound the sum over as many values of at most 0 as there is room for, in float32 and a fixed order.

        Values under -80 count as that: a vocabulary of them weighs less than any error.
        """
        scaled, halvings, weights = self._scaled, self._halvings, self._weights[: self._size]
        np.maximum(values, _COARSE_LEAST, out=scaled)
        np.multiply(scaled, _COARSE_ONE_OVER_LN2, out=scaled)
        np.rint(scaled, out=halvings)
        np.subtract(scaled, halvings, out=scaled)
        weights[:] = _COARSE[0]
        for coefficient in _COARSE[1:]:
            np.multiply(weights, scaled, out=weights)
            np.add(weights, coefficient, out=weights)
        np.add(halvings, _COARSE_BIAS, out=halvings)
        np.multiply(halvings, _COARSE_ULPS, out=self._bits, casting="unsafe")
        np.multiply(weights, self._bits.view(np.float32), out=weights)
        lanes = np.add.reduce(self._weights.reshape(self._lanes, _LANES), axis=0)
        total = float(np.add.accumulate(lanes, dtype=np.float64)[-1])
        return Bounds(total * (1 - _COARSE_ERROR), total * (1 + _COARSE_ERROR))
