"""Where prompts go: what is kept, copied, given up; nothing of it can change an answer."""

from __future__ import annotations

import random
from typing import cast

import pytest

from replay.llm.llamacpp.context import Context
from replay.llm.llamacpp.prefix import WORTH_COPYING, PrefixCache, Slot, common_prefix
from replay.llm.llamacpp.schedule import CANONICAL, INVARIANT, make_schedule


class Memory:
    """Stands in for a context: remembers copies and cuts."""

    def __init__(self, *, cuts: bool = True) -> None:
        self.said: list[tuple[str, int, int]] = []
        self._cuts = cuts

    def truncate(self, sequence: int, keep: int) -> int:
        """Cut; a recurrent state loses everything."""
        self.said.append(("truncate", sequence, keep))
        return keep if self._cuts else 0

    def copy(self, source: int, target: int) -> None:
        """Copy."""
        self.said.append(("copy", source, target))


def make_cache(
    *held: list[int], schedule: str = INVARIANT, copies: bool = True, cuts: bool = True
) -> tuple[PrefixCache, list[Slot], Memory]:
    """A cache whose sequences hold these tokens, the first for longest."""
    memory = Memory(cuts=cuts)
    slots = [Slot(cast("Context", memory), place) for place in range(len(held))]
    for place, (slot, tokens) in enumerate(zip(slots, held, strict=True), 1):
        slot.tokens, slot.whole = list(tokens), len(tokens)
        slot.used = place if tokens else 0
    return PrefixCache(slots, make_schedule(schedule, batch_tokens=512), copies=copies), slots, memory


@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 65, 500])
def test_the_common_beginning_is_counted_exactly(size: int) -> None:
    """Against counting one by one."""
    chance = random.Random(size)  # noqa: S311  test data
    first = [chance.randrange(3) for _ in range(size)]
    for cut in {0, size // 2, max(size - 1, 0), size}:
        second = [*first[:cut], 9, 9]
        assert cut == common_prefix(first, second) == common_prefix(second, first)


def test_a_next_turn_goes_on_in_its_own_sequence() -> None:
    """All that it holds is kept but for a last token to evaluate."""
    turn = [*range(100), 7]
    cache, slots, memory = make_cache([1] * 200, list(range(100)))
    place = cache.find(turn, slots)
    assert (slots[1], slots[1], 100) == place
    assert 100 == cache.take(place)
    assert [("truncate", 1, 100)] == memory.said
    assert 99 == cache.find(turn[:100], slots).keep


def test_a_shared_beginning_is_copied_into_the_sequence_unused_for_longest() -> None:
    """Its conversation stays where it was."""
    shared = list(range(WORTH_COPYING))
    cache, slots, memory = make_cache([5] * 90, [*shared, *[6] * 90])
    place = cache.find([*shared, 8, 8], slots)
    assert (slots[0], slots[1], WORTH_COPYING) == place
    assert WORTH_COPYING == cache.take(place)
    assert [("copy", 1, 0), ("truncate", 0, WORTH_COPYING)] == memory.said
    assert shared == slots[0].tokens
    assert [*shared, *[6] * 90] == slots[1].tokens


def test_a_short_beginning_is_not_worth_a_copy() -> None:
    """An empty sequence is taken first."""
    shared = list(range(WORTH_COPYING - 1))
    cache, slots, memory = make_cache([*shared, *[6] * 90], [])
    cache.take(cache.find([*shared, 8], slots))
    assert [("truncate", 1, 0)] == memory.said


def test_a_busy_sequence_is_copied_from_and_never_taken() -> None:
    """Only idle ones are given away."""
    shared = list(range(60))
    cache, slots, _ = make_cache(shared, [3] * 5)
    assert (slots[1], slots[0]) == cache.find([*shared, 1], [slots[1]])[:2]


def test_without_copies_a_long_beginning_takes_its_sequence_over() -> None:
    """Under the canonical schedule whole chunks only are kept."""
    shared = list(range(130))
    cache, slots, memory = make_cache([], [*shared, *[6] * 300], schedule=CANONICAL, copies=False)
    slots[1].whole = 128
    place = cache.find([*shared, *[8] * 9], slots)
    assert (slots[1], slots[1], 128) == place
    cache.take(place)
    assert [("truncate", 1, 128)] == memory.said


def test_a_state_that_cannot_go_back_holds_nothing() -> None:
    """What the memory really kept counts."""
    cache, slots, _ = make_cache(list(range(100)), cuts=False)
    assert 0 == cache.take(cache.find(list(range(90)), slots))
    assert ([], 0) == (slots[0].tokens, slots[0].whole)


def test_a_prompt_waits_for_a_beginning_that_is_being_evaluated() -> None:
    """When that is much more than what is there already."""
    cache, slots, _ = make_cache([], [])
    prompt = list(range(200))
    place = cache.find(prompt, slots)
    assert cache.is_worth_waiting(prompt, place, prompt[:64])
    assert not cache.is_worth_waiting(prompt, place, prompt[:63])
