"""The prefix cache: which tokens each sequence holds evaluated, and which sequence a new prompt goes to.

Sequences keep everything evaluated in them, generated tokens included, until another prompt takes their
place; so a prompt finds the earlier turns of its conversation, the shared beginning of another episode or
task, or an abandoned branch of a search. Nothing here can change a bit of an answer, only its cost: what may
be used again is the schedule's decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from replay.llm.llamacpp.context import Context
from replay.llm.llamacpp.schedule import Schedule

__all__ = ["Place", "PrefixCache", "Slot", "common_prefix"]

WORTH_COPYING: Final = 32
"""Tokens saved from which a copy between sequences pays: it moves the memory of a whole context, which takes
about as long as evaluating ten tokens of a small model."""

WORTH_WAITING: Final = 64
"""Tokens that another request is just evaluating from which a request waits to copy them."""


class Slot:
    """One sequence of one context and the tokens it holds."""

    def __init__(self, context: Context, sequence: int) -> None:
        self.context = context
        self.sequence = sequence
        self.tokens: list[int] = []
        """Evaluated tokens; the memory may hold more behind them, which is cut off before use."""
        self.whole = 0
        """How many of them stand in whole chunks; see `schedule`."""
        self.used = 0
        """When it was last given to a request, as a count of requests."""

    def forget(self) -> None:
        """Hold nothing any more: what the memory holds is unknown after a failure."""
        self.tokens = []
        self.whole = 0


class Place(NamedTuple):
    """Where a prompt goes."""

    slot: Slot
    source: Slot
    """Whose evaluated tokens are used: the slot's own, or those of another that are copied."""
    keep: int
    """How many of the prompt's tokens need no evaluation."""


class PrefixCache:
    """Chooses slots. `idle` slots may be taken over; busy ones may only be copied from."""

    def __init__(self, slots: Sequence[Slot], schedule: Schedule, *, copies: bool) -> None:
        """Choose among `slots`; `copies` tells whether sequences of a context may be copied."""
        self._slots = tuple(slots)
        self._schedule = schedule
        self._copies = copies and schedule.shares_context
        self._requests = 0

    def find(self, prompt: Sequence[int], idle: Sequence[Slot]) -> Place:
        """Choose a place for a prompt; `idle` holds at least one slot.

        A slot that is mostly the beginning of this prompt goes on with it. Otherwise the slot unused for
        longest is given up, and filled from another one if that saves enough.
        """
        kept = [self._reusable(slot, prompt) for slot in self._slots]
        keeps = dict(zip((id(slot) for slot in self._slots), kept, strict=True))
        own = max(idle, key=lambda slot: (keeps[id(slot)], -len(slot.tokens), -slot.used))
        if 2 * keeps[id(own)] >= len(own.tokens) > 0:
            return Place(own, own, keeps[id(own)])
        oldest = min(idle, key=lambda slot: (bool(slot.tokens), slot.used))
        source = max(self._slots, key=lambda slot: keeps[id(slot)]) if self._copies else own
        saved = keeps[id(source)] - keeps[id(oldest)]
        if self._copies and saved >= WORTH_COPYING:
            return Place(oldest, source, keeps[id(source)])
        if saved >= WORTH_COPYING:
            return Place(own, own, keeps[id(own)])
        return Place(oldest, oldest, keeps[id(oldest)])

    def held(self, prompt: Sequence[int]) -> int:
        """Count how many of the prompt's tokens some slot holds, for whoever may copy them."""
        return max(self._reusable(slot, prompt) for slot in self._slots)

    def take(self, place: Place) -> int:
        """Prepare the slot of a place and return how many of the prompt's tokens it really holds."""
        self._requests += 1
        slot, source, keep = place
        slot.used = self._requests
        if source is not slot:
            slot.forget()  # until the copy is complete
            slot.context.copy(source.sequence, slot.sequence)
            slot.tokens, slot.whole = list(source.tokens), source.whole
        held = slot.tokens
        slot.tokens = []
        kept = slot.context.truncate(slot.sequence, keep)
        slot.tokens = held[:kept]
        slot.whole = min(slot.whole, kept)
        return kept

    def is_worth_waiting(self, prompt: Sequence[int], place: Place, coming: Sequence[int]) -> bool:
        """Tell whether another prompt that is just being evaluated will soon hold much more of this one."""
        if not self._copies:
            return False
        return common_prefix(prompt, coming) - place.keep >= WORTH_WAITING

    def _reusable(self, slot: Slot, prompt: Sequence[int]) -> int:
        common = common_prefix(slot.tokens, prompt)
        return self._schedule.reusable(common, whole=slot.whole, prompt=len(prompt))


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Count the tokens that two sequences have in common at their beginning.

    Halves the range with whole-slice comparisons, which run at memory speed.
    """
    low, high = 0, min(len(first), len(second))
    if list(first[:high]) == list(second[:high]):
        return high
    while low + 1 < high:
        middle = (low + high) // 2
        if list(first[low:middle]) == list(second[low:middle]):
            low = middle
        else:
            high = middle
    return low
