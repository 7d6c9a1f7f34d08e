"""From a row of logits to a token: greedy or seeded, equal to the bit on every machine.

Specification. Greedy (temperature 0) takes the largest logit; ties go to the lowest token id. Otherwise, with
a row x and its largest value m:

1. s = (x - m) / temperature in float64; tokens with s < -37 are out (2^-53 of the best token's weight, which
   a draw of 53 bits can hardly meet);
2. top-k keeps the k largest; of tokens equal to the last kept, those with the lowest ids;
3. weight = exp(s), by range reduction and a polynomial of degree 13 in plain multiplications and additions,
   because the exponential functions of numpy differ between processors;
4. top-p keeps the shortest run of tokens, by falling weight and rising id, whose weights sum to at least
   top_p of the whole, summed in that order;
5. weights are summed in the order of token ids; the first token whose running sum exceeds u times the whole
   is drawn, u being the next `fraction()` of the job's own `Stream`. Nothing is asked of the library.

With a grammar, the token chosen so is offered to it first; only when it is refused is the vocabulary masked,
and chosen from once more (a seeded draw takes a new u): without cuts that is exactly the distribution over
the allowed tokens.

The margin of a choice is how far, in nats, the logits are from another choice: for greedy the difference
of the two largest logits; for a draw the distance from u to the nearest end of the token's share, turned from
probability into log-odds at that end (first order). `NO_RIVAL` stands for a choice without alternative.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from replay.core.determinism import Stream
from replay.core.errors import GrammarError, ModelError
from replay.core.types import Sampling

__all__ = ["NO_RIVAL", "Choice", "Constraint", "Sampler", "choose_greedy", "exponential"]

Row = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ids = npt.NDArray[np.intp]

NO_RIVAL: Final = 1e6
"""Margin of a choice without alternative; finite, so that it can be written as JSON."""

_FLOOR: Final = -37.0
_LEAST: Final = float(np.finfo(np.float32).min)
_WIDENING: Final = (-4.0, -8.0, -16.0)  # where top-p looks first: sorting a whole vocabulary is slow
_ONE_OVER_LN2: Final = float.fromhex("0x1.71547652b82fep+0")
_LN2_HIGH: Final = float.fromhex("0x1.62e42feep-1")  # ends in zeros: its multiples up to 2^10 are exact
_LN2_LOW: Final = float.fromhex("0x1.a39ef35793c76p-33")
_DEGREE: Final = 13  # the next term is below 2^-57 for arguments up to ln(2) / 2
_COEFFICIENTS: Final = tuple(1 / math.factorial(power) for power in range(_DEGREE, -1, -1))


class Constraint(Protocol):
    """What may be said next. It sees tokens one by one; the end of generation is a token like any other."""

    def allows(self, token: int) -> bool:
        """Tell whether a token may come next."""
        ...

    def mask(self, logits: Row) -> None:
        """Set the logit of every token that may not come next to minus infinity, in place."""
        ...

    def accept(self, token: int) -> None:
        """Move on by an allowed token."""
        ...

    def close(self) -> None:
        """Give back what it holds; it is not used after that."""
        ...


class Choice(NamedTuple):
    """One decision."""

    token: int
    margin: float
    """Nats."""


class Sampler:
    """Makes the choices of one job; its random stream belongs to the job alone."""

    def __init__(self, sampling: Sampling, *, seed: int) -> None:
        self._sampling = sampling
        self._greedy = sampling.temperature == 0
        self._stream = Stream("sampling", seed)

    def choose(self, row: Row, constraint: Constraint | None = None) -> Choice:
        """Choose the next token; `row` is left as it was, and the constraint is moved on.

        Errors:  ModelError when the logits are not numbers; GrammarError when nothing is allowed.
        """
        choice = self._pick(row)
        if constraint is None:
            return choice
        if not constraint.allows(choice.token):
            masked = row.copy()
            constraint.mask(masked)
            if masked.max() == -math.inf:
                raise GrammarError("the grammar allows no token here", expected="a grammar that can end")
            choice = self._pick(masked)
        constraint.accept(choice.token)
        return choice

    def _pick(self, row: Row) -> Choice:
        return choose_greedy(row) if self._greedy else self._draw(row)

    def _draw(self, row: Row) -> Choice:
        best = _finite(row[row.argmax()])
        ids = _may_be_kept(row, best, self._sampling)
        scaled = row[ids].astype(np.float64)
        scaled -= best
        scaled /= self._sampling.temperature
        kept = _keep_largest(scaled, np.flatnonzero(scaled >= _FLOOR), self._sampling.top_k)
        ids, scaled = ids[kept], scaled[kept]
        weights = exponential(scaled)
        if self._sampling.top_p < 1:
            kept = _keep_mass(scaled, weights, self._sampling.top_p)
            ids, weights = ids[kept], weights[kept]
        sums = np.add.accumulate(weights)  # strictly one after another, unlike numpy's own sum
        whole = float(sums[-1])
        mark = self._stream.fraction() * whole
        place = min(int(np.searchsorted(sums, mark, side="right")), len(ids) - 1)
        low = float(sums[place - 1]) if place else 0.0
        margin = min(_log_odds_distance(mark, end, whole) for end in (low, float(sums[place])))
        return Choice(int(ids[place]), margin)


def choose_greedy(row: Row) -> Choice:
    """Choose the largest logit, of equal ones that with the lowest id.

    Errors:  ModelError when the logits are not numbers.
    """
    token = int(row.argmax())  # the first of the largest; of a row with NaN the first NaN
    kept = row[token]
    best = _finite(kept)
    row[token] = -math.inf
    second = float(row.max()) if len(row) > 1 else -math.inf
    row[token] = kept
    return Choice(token, min(best - second, NO_RIVAL))


def exponential(values: Doubles) -> Doubles:
    """Compute e^x for x in -700..0 from exactly rounded steps only, so that no two processors differ.

    Units:   relative error below 2^-50.
    """
    halvings = np.rint(values * _ONE_OVER_LN2)
    rest = values - halvings * _LN2_HIGH
    rest -= halvings * _LN2_LOW
    result = np.full_like(rest, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        result *= rest
        result += coefficient
    return cast("Doubles", np.ldexp(result, halvings.astype(np.int32)))


def _finite(value: np.float32) -> float:
    found = float(value)
    if not math.isfinite(found):
        raise ModelError(
            f"the largest logit is {found}", expected="numbers; the weights of this model are damaged"
        )
    return found


def _may_be_kept(row: Row, best: float, sampling: Sampling) -> Ids:
    """Find the ids among which all are that can pass the floor and top-k, so that few are computed with.

    Compares with a little room below, for the rounding of a limit to float32 and of s.
    """
    for floor in (*_WIDENING, _FLOOR) if sampling.top_k else (_FLOOR,):
        limit = best + floor * sampling.temperature
        limit -= 1e-6 * (abs(best) + abs(limit))
        ids = np.flatnonzero(row >= np.float32(max(limit, _LEAST)))
        if len(ids) >= sampling.top_k > 0:
            break
    return ids


def _keep_largest(scaled: Doubles, ids: Ids, count: int) -> Ids:
    """Keep the ids of the `count` largest values, equal ones by lowest id; 0 keeps all."""
    if count == 0 or len(ids) <= count:
        return ids
    values = scaled[ids]
    least = np.partition(values, len(values) - count)[len(values) - count]
    above = values > least
    ties = np.flatnonzero(values == least)[: count - int(np.count_nonzero(above))]
    above[ties] = True
    return cast("Ids", ids[above])


def _keep_mass(scaled: Doubles, weights: Doubles, share: float) -> Ids:
    """Find the places of the largest weights that sum to `share` of all, rising."""
    wanted = share * float(np.add.accumulate(weights)[-1])
    for floor in (*_WIDENING, _FLOOR):
        places = np.flatnonzero(scaled >= floor)
        order = places[np.argsort(-scaled[places], kind="stable")]
        sums = np.add.accumulate(weights[order])
        count = int(np.searchsorted(sums, wanted, side="left")) + 1
        if count <= len(order):
            return np.sort(order[:count])
    return np.arange(len(weights))  # rounding: the sum in the other order falls short by its last bit


def _log_odds_distance(mark: float, end: float, whole: float) -> float:
    if not 0 < end < whole:
        return NO_RIVAL
    return min(abs(mark - end) * whole / (end * (whole - end)), NO_RIVAL)
