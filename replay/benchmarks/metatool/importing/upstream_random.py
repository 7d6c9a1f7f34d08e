"""The two random generators that upstream seeds with 48, to the bit, without the libraries they come from.

Owns the Mersenne Twister (MT19937) and what upstream draws from it: samples and shuffles of Python's
`random`, and choices without replacement of NumPy's old generator. Nothing here is random: every draw is a
function of the seed that is passed. The program's own draws come from `core.determinism`. Source: Matsumoto
and Nishimura 1998; the behaviour of CPython 3 and of NumPy's frozen `RandomState`.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from typing import Final, TypeVar

__all__ = ["MersenneTwister", "numpy_choice", "python_sample", "python_shuffle", "seed_numpy", "seed_python"]

_Item = TypeVar("_Item")

_SIZE: Final = 624
_MIDDLE: Final = 397
_WORD: Final = 0xFFFFFFFF
_UPPER: Final = 0x80000000
_LOWER: Final = 0x7FFFFFFF
_TWIST: Final = 0x9908B0DF
_ARRAY_SEED: Final = 19650218


class MersenneTwister:
    """MT19937 from a state of 624 words."""

    def __init__(self, state: Sequence[int]) -> None:
        """Start from a state; the first number twists it."""
        self._state = list(state)
        self._next = _SIZE

    def next_word(self) -> int:
        """Take the next 32 bits."""
        if self._next == _SIZE:
            self._twist()
        word = self._state[self._next]
        self._next += 1
        word ^= word >> 11
        word ^= (word << 7) & 0x9D2C5680
        word ^= (word << 15) & 0xEFC60000
        return word ^ (word >> 18)

    def _twist(self) -> None:
        state = self._state
        for index in range(_SIZE):
            mixed = (state[index] & _UPPER) | (state[(index + 1) % _SIZE] & _LOWER)
            twisted = mixed >> 1 ^ (_TWIST if mixed & 1 else 0)
            state[index] = state[(index + _MIDDLE) % _SIZE] ^ twisted
        self._next = 0


def seed_numpy(seed: int) -> MersenneTwister:
    """Seed as `numpy.random.seed` does with one integer of 32 bits."""
    return MersenneTwister(_filled(seed))


def seed_python(seed: int) -> MersenneTwister:
    """Seed as Python's `random.seed` does with one integer of 32 bits."""
    state = _filled(_ARRAY_SEED)
    at = 1
    # The seed is mixed in as an array of one word: first with it, then once more without.
    for _ in range(_SIZE):
        state[at] = (state[at] ^ (state[at - 1] ^ state[at - 1] >> 30) * 1664525) + seed & _WORD
        at = _step(state, at)
    for _ in range(_SIZE - 1):
        state[at] = (state[at] ^ (state[at - 1] ^ state[at - 1] >> 30) * 1566083941) - at & _WORD
        at = _step(state, at)
    state[0] = _UPPER
    return MersenneTwister(state)


def python_sample(stream: MersenneTwister, items: Sequence[_Item], count: int) -> list[_Item]:
    """Draw as `random.sample(items, count)` does; `count` is at most the number of items."""
    size = len(items)
    # CPython keeps a pool where that takes less memory than a set of drawn positions.
    room = 21
    if count > 5:
        room += 4 ** math.ceil(math.log(count * 3, 4))
    if size <= room:
        pool = list(items)
        drawn = []
        for taken in range(count):
            place = _python_below(stream, size - taken)
            drawn.append(pool[place])
            pool[place] = pool[size - taken - 1]
        return drawn
    seen: dict[int, None] = {}
    while len(seen) < count:
        seen.setdefault(_python_below(stream, size))
    return [items[place] for place in seen]


def python_shuffle(stream: MersenneTwister, items: MutableSequence[_Item]) -> None:
    """Shuffle in place as `random.shuffle` does."""
    for last in range(len(items) - 1, 0, -1):
        other = _python_below(stream, last + 1)
        items[last], items[other] = items[other], items[last]


def numpy_choice(stream: MersenneTwister, size: int, count: int) -> list[int]:
    """Draw positions as `numpy.random.choice(size, count, replace=False)` does: the head of a permutation."""
    order = list(range(size))
    for last in range(size - 1, 0, -1):
        mask = (1 << last.bit_length()) - 1
        while (other := stream.next_word() & mask) > last:
            pass
        order[last], order[other] = order[other], order[last]
    return order[:count]


def _filled(seed: int) -> list[int]:
    state = [seed & _WORD]
    for index in range(1, _SIZE):
        state.append(1812433253 * (state[-1] ^ state[-1] >> 30) + index & _WORD)
    return state


def _step(state: list[int], at: int) -> int:
    if at + 1 < _SIZE:
        return at + 1
    state[0] = state[_SIZE - 1]
    return 1


def _python_below(stream: MersenneTwister, limit: int) -> int:
    """A number below a limit of at most 32 bits: the top bits of words, until one is small enough."""
    bits = limit.bit_length()
    while (number := stream.next_word() >> 32 - bits) >= limit:
        pass
    return number
