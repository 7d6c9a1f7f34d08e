"""Cuts and reuse of the two schedules."""

from __future__ import annotations

import random

import pytest

from replay.core.errors import InputError
from replay.llm.llamacpp.schedule import CANONICAL, INVARIANT, Schedule, make_schedule


def cut(
    schedule: Schedule, prompt: int, *, kept: int = 0, rooms: list[int] | None = None
) -> list[tuple[int, int]]:
    """The runs (start, length) in which a prompt is evaluated, from `kept` tokens on."""
    runs, position, left = [], kept, list(rooms or ())
    while position < prompt:
        room = left.pop(0) if left else 512
        count = schedule.next_run(position, pending=prompt - position, room=room)
        if count:
            runs.append((position, count))
        position += count
    return runs


def test_an_unknown_schedule_lists_the_two_there_are() -> None:
    """They are words of the self-test's report."""
    with pytest.raises(InputError, match="schedule 'fast'; expected 'invariant' or 'canonical'"):
        make_schedule("fast", batch_tokens=512)


def test_the_invariant_schedule_takes_what_fits_and_keeps_what_is_common() -> None:
    """One token is left to evaluate, for its logits."""
    schedule = make_schedule(INVARIANT, batch_tokens=512)
    assert [(0, 7), (7, 93)] == cut(schedule, 100, rooms=[7, 512])
    assert (80, 99) == (
        schedule.reusable(80, whole=0, prompt=100),
        schedule.reusable(100, whole=0, prompt=100),
    )
    assert schedule.shares_context


def test_canonical_cuts_are_a_function_of_the_prompt_alone() -> None:
    """Whatever room there is at the moment, and wherever reuse begins, every token is in the same run."""
    schedule = make_schedule(CANONICAL, batch_tokens=512)
    chance = random.Random(2)  # noqa: S311  test data
    assert not schedule.shares_context
    for _ in range(200):
        prompt = chance.randrange(1, 400)
        whole = cut(schedule, prompt)
        rooms = [chance.randrange(1, 200) for _ in range(20)]
        assert whole == cut(schedule, prompt, rooms=rooms)
        common = chance.randrange(prompt + 1)
        kept = schedule.reusable(common, whole=common, prompt=prompt)
        assert whole[len(whole) - len(cut(schedule, prompt, kept=kept)) :] == cut(schedule, prompt, kept=kept)
        assert kept < prompt


def test_canonical_reuse_ends_with_the_last_chunk_that_was_evaluated_whole() -> None:
    """Tokens that were generated one by one, or stood in a part of a chunk, are evaluated again."""
    schedule = make_schedule(CANONICAL, batch_tokens=512)
    assert 64 == schedule.whole_after(0, count=64, whole=0)
    assert 64 == schedule.whole_after(64, count=30, whole=64)
    assert 64 == schedule.whole_after(128, count=64, whole=64)
    assert 64 == schedule.reusable(150, whole=100, prompt=400)
    assert 0 == schedule.reusable(64, whole=64, prompt=64)


def test_a_small_batch_makes_small_chunks() -> None:
    """A chunk that does not fit into a call would never be evaluated."""
    assert [(0, 10), (10, 10), (20, 5)] == cut(make_schedule(CANONICAL, batch_tokens=10), 25)
