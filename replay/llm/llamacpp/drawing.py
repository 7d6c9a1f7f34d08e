"""A seeded draw from a row of logits, equal to the bit on every machine.

Specification, with a row x, its largest value m and a fraction u from 0 up to but without 1:

1. s = (x - m) / temperature in float64; tokens with s < -37 are out (2^-53 of the best token's weight, which
   a draw of 53 bits can hardly meet);
2. top-k keeps the k largest; of tokens equal to the last kept, those with the lowest ids;
3. weight = exp(s), see `weighing`, because the exponential functions of numpy differ between processors;
4. top-p keeps the shortest run of tokens, by falling weight and rising id, whose weights sum to at least
   top_p of the whole, summed in that order;
5. weights are summed in the order of token ids; the first token whose running sum exceeds u times the whole
   is drawn.

Without top-k nearly the whole vocabulary would have to be weighed. So the *head* is weighed first, tokens
with s >= -13, and the *rest* is bounded: when no value within the bounds would change what is drawn, that is
the draw. Otherwise everything is weighed. Rounding keeps order (adding something that is not negative never
makes a sum smaller), and the bounds leave room for the rounding of their own sums.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from replay.core.errors import InternalError, ModelError
from replay.core.types import Sampling
from replay.llm.llamacpp.weighing import Bounds, CoarseSum, Doubles, exponential

__all__ = ["NO_RIVAL", "Choice", "Drawer", "Row", "check_finite"]

Row = npt.NDArray[np.float32]
Ids = npt.NDArray[np.intp]

NO_RIVAL: Final = 1e6
"""Margin of a choice without alternative; finite, so that it can be written as JSON."""

_FLOOR: Final = -37.0
_HEAD: Final = -13.0
_WIDENING: Final = (-10.0, -20.0, _FLOOR)  # where top-k looks for the largest, one after another
_LEAST: Final = float(np.finfo(np.float32).min)
_SLACK: Final = 1e-9
"""Of the head's weight: room for what is under the floor and for the rounding of sums of 2^20 weights."""
_COARSE_TEMPERATURES: Final = (1e-3, 1e3)
"""Between them float32 holds every s of the rest; outside of them everything is weighed exactly."""


class Choice(NamedTuple):
    """One decision."""

    token: int
    margin: float
    """How far, in nats, the logits are from another choice."""


class _Weighed(NamedTuple):
    """Tokens with their weights, and what all other tokens weigh together."""

    ids: Ids
    scaled: Doubles
    weights: Doubles
    sums: Doubles
    """Running sums of the weights."""
    rest: Bounds


class Drawer:
    """Draws tokens at a temperature, with top-k and top-p."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._coarse: CoarseSum | None = None

    def draw(self, row: Row, u: float) -> Choice:
        """Draw a token from a row with the fraction u; the rows of one drawer are of one length.

        The margin is the distance from u to the nearest end of the token's share, turned from probability
        into log-odds at that end (first order), among the tokens that were enough to decide.

        Errors:  ModelError when the logits are not numbers.
        """
        best = check_finite(row[row.argmax()])
        head = self._weigh_head(row, best)
        choice = None if head is None else _choose(head, self._sampling.top_p, u)
        if choice is None:
            choice = _choose(_weigh_all(row, best, self._sampling), self._sampling.top_p, u)
        if choice is None:
            raise InternalError("exact weights did not decide a draw")
        return choice

    def _weigh_head(self, row: Row, best: float) -> _Weighed | None:
        """Weigh the head with bounds of the rest, where that pays."""
        sampling, (least, most) = self._sampling, _COARSE_TEMPERATURES
        if sampling.top_k or not least <= sampling.temperature <= most:
            return None
        ids = _find_above(row, best, sampling.temperature, _HEAD)
        head = _weigh_ids(row, ids, best, sampling, floor=_HEAD)
        return head._replace(rest=self._bound_rest(row, head, best))

    def _bound_rest(self, row: Row, head: _Weighed, best: float) -> Bounds:
        """Bound what the tokens outside the head weigh together."""
        if self._coarse is None:
            self._coarse = CoarseSum(len(row))
        with np.errstate(over="ignore"):  # some weigh nothing at all
            scaled = row - np.float32(best)
            scaled /= np.float32(self._sampling.temperature)
        scaled[head.ids] = _LEAST
        rest = self._coarse.bound(scaled)
        slack = _SLACK * float(head.sums[-1])
        return Bounds(max(rest.low - slack, 0.0), rest.high + slack)


def check_finite(value: np.float32) -> float:
    """Return the largest logit of a row as a float.

    Errors:  ModelError when it is not a number, and so the row is damaged.
    """
    found = float(value)
    if not math.isfinite(found):
        raise ModelError(
            f"the largest logit is {found}", expected="numbers; the weights of this model are damaged"
        )
    return found


# ---- weighing --------------------------------------------------------------------------------------------


def _weigh_all(row: Row, best: float, sampling: Sampling) -> _Weighed:
    """Weigh all tokens that may be drawn."""
    for floor in _WIDENING if sampling.top_k else (_FLOOR,):
        ids = _find_above(row, best, sampling.temperature, floor)
        if len(ids) >= sampling.top_k > 0:
            break
    return _weigh_ids(row, ids, best, sampling, floor=_FLOOR)


def _weigh_ids(row: Row, ids: Ids, best: float, sampling: Sampling, *, floor: float) -> _Weighed:
    scaled = row[ids].astype(np.float64)
    scaled -= best
    scaled /= sampling.temperature
    kept = _keep_largest(scaled, np.flatnonzero(scaled >= floor), sampling.top_k)
    if len(kept) < len(ids):
        ids, scaled = ids[kept], scaled[kept]
    weights = exponential(scaled)
    return _Weighed(ids, scaled, weights, _sum_up(weights), Bounds(0.0, 0.0))


def _find_above(row: Row, best: float, temperature: float, floor: float) -> Ids:
    """Find the ids among which all are that reach the floor, so that few are computed with.

    Compares with a little room below, for the rounding of a limit to float32 and of s.
    """
    limit = best + floor * temperature
    limit -= 1e-6 * (abs(best) + abs(limit))
    return np.flatnonzero(row >= np.float32(max(limit, _LEAST)))


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


# ---- choosing --------------------------------------------------------------------------------------------


def _choose(weighed: _Weighed, top_p: float, u: float) -> Choice | None:
    """Choose the token that every value of the rest within its bounds leads to; None when there are two."""
    ids, sums, rest = weighed.ids, weighed.sums, weighed.rest
    if top_p < 1:
        kept = _keep_mass(weighed, top_p)
        if kept is None:
            return None
        ids, sums, rest = ids[kept], _sum_up(weighed.weights[kept]), Bounds(0.0, 0.0)
    whole = float(sums[-1])
    mark = u * whole
    # Each running sum may be larger by anything up to the rest, and so may the whole.
    if mark < rest.high:
        return None  # a token of the rest may stand in front of the first of these
    first = int(np.searchsorted(sums, mark - rest.high, side="right"))
    last = int(np.searchsorted(sums, u * (whole + rest.high), side="right"))
    if first != last or (last == len(ids) and rest.high):
        return None
    place = min(first, len(ids) - 1)
    low = float(sums[place - 1]) if place else 0.0
    margin = min(_log_odds_distance(mark, end, whole) for end in (low, float(sums[place])))
    return Choice(int(ids[place]), margin)


def _keep_mass(weighed: _Weighed, share: float) -> Ids | None:
    """Find the places of the largest weights that sum to `share` of all, rising; None when that is open."""
    _, scaled, weights, whole_sums, rest = weighed
    whole = float(whole_sums[-1])
    low, high = (share * (whole + bound) for bound in rest)
    places = _find_mass(scaled, weights, high)
    order = places[np.argsort(-scaled[places], kind="stable")]
    sums = _sum_up(weights[order])
    count = int(np.searchsorted(sums, high, side="left")) + 1
    if rest.high and (count > len(order) or count != int(np.searchsorted(sums, low, side="left")) + 1):
        return None
    return np.sort(order[:count])  # all, where rounding lets the sum in this order fall short by its last bit


def _find_mass(scaled: Doubles, weights: Doubles, wanted: float) -> Ids:
    """Find places among which the largest weights that sum to so much are, so that few are sorted."""
    nats_below = (-scaled).astype(np.intp)
    mass = np.bincount(nats_below, weights).astype(np.float64, copy=False)
    enough = np.flatnonzero(_sum_up(mass) >= wanted * (1 + _SLACK))
    if not len(enough):
        return np.arange(len(scaled))
    return np.flatnonzero(scaled > -1.0 - float(enough[0]))


def _sum_up(weights: Doubles) -> Doubles:
    """Sum strictly one after another, unlike numpy's own sum."""
    return np.add.accumulate(weights)


def _log_odds_distance(mark: float, end: float, whole: float) -> float:
    if not 0 < end < whole:
        return NO_RIVAL
    return min(abs(mark - end) * whole / (end * (whole - end)), NO_RIVAL)
