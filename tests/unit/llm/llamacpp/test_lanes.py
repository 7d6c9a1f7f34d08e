"""Jobs go where most of them is evaluated, unless that lane has more to do; nothing here is about answers."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from replay.core.errors import ModelError
from replay.llm.llamacpp.jobs import FINISH_STOP, Generation, GenerationJob, Listener
from replay.llm.llamacpp.lanes import TOKENS_OF_A_REQUEST, Lanes, divide
from replay.llm.llamacpp.scheduler import Scheduler
from replay.llm.llamacpp.threads import ThreadShare


class Lane:
    """Stands for a scheduler: knows what is missing of a prompt, and answers when it is told to."""

    def __init__(self, missing: Mapping[int, int], *, fails: bool = False) -> None:
        self._missing = missing
        self._fails = fails
        self.entered = threading.Semaphore(0)
        self.goes_on = threading.Event()
        self.served: list[int] = []

    def missing(self, prompt: Sequence[int]) -> int:
        """Look it up by the first token."""
        return self._missing.get(prompt[0], 0)

    def generate(self, job: GenerationJob, listener: Listener | None = None) -> Generation:
        """Wait, then answer or fail."""
        assert listener is None
        self.served.append(job.tokens[0])
        self.entered.release()
        assert self.goes_on.wait(10)
        if self._fails:
            raise ModelError("no")
        return Generation(
            tokens=(), text="", finish=FINISH_STOP, margins=(), prompt_tokens=1, reused_tokens=0
        )


def lanes_of(*lanes: Lane, threads: int = 2) -> tuple[Lanes, ThreadShare]:
    """Lanes over stand-ins, and how they share threads."""
    share = ThreadShare(threads)
    return Lanes([cast("Scheduler", lane) for lane in lanes], share), share


def job(prompt: int) -> GenerationJob:
    """A job with a prompt of one token."""
    return GenerationJob(tokens=(prompt,))


@pytest.mark.parametrize(
    ("sequences", "threads", "each"),
    [
        (1, 2, (1,)),
        (3, 2, (3,)),
        (4, 1, (4,)),
        (4, 2, (2, 2)),
        (5, 2, (3, 2)),
        (8, 2, (4, 4)),
        (8, 16, (4, 4)),
        (64, 16, (32, 32)),
    ],
)
def test_sequences_are_divided(sequences: int, threads: int, each: tuple[int, ...]) -> None:
    """Never fewer than two to a lane, never more lanes than threads, and all sequences are there."""
    assert each == divide(sequences, threads)


@pytest.mark.parametrize(
    ("ahead", "place"),
    [(TOKENS_OF_A_REQUEST + 1, 0), (TOKENS_OF_A_REQUEST - 1, 1)],
)
def test_a_busy_lane_is_worth_what_it_has_evaluated(ahead: int, place: int) -> None:
    """A second job stays with its prefix only when evaluating it again costs more than a neighbour does."""
    first, second = Lane({1: 0, 2: 0}), Lane({1: 1000, 2: ahead})
    lanes, _ = lanes_of(first, second)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(lanes.generate, job(1))
        assert first.entered.acquire(timeout=10)
        pool.submit(lanes.generate, job(2))
        assert (first, second)[place].entered.acquire(timeout=10)
        first.goes_on.set()
        second.goes_on.set()
    assert (([1, 2], []), ([1], [2]))[place] == (first.served, second.served)


@pytest.mark.parametrize("fails", [False, True])
def test_threads_are_shared_among_the_lanes_at_work(*, fails: bool) -> None:
    """All of them for one alone, half for two, and all again when one has ended or failed."""
    first, second = Lane({1: 0, 2: 500}, fails=fails), Lane({1: 500, 2: 0})
    lanes, share = lanes_of(first, second, threads=5)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(lanes.generate, job(1))
        assert first.entered.acquire(timeout=10)
        assert 5 == share.each
        other = pool.submit(lanes.generate, job(2))
        assert second.entered.acquire(timeout=10)
        assert 2 == share.each
        first.goes_on.set()
        assert (ModelError if fails else type(None)) is type(one.exception(10))
        assert 5 == share.each
        second.goes_on.set()
        assert other.result(10).finish == FINISH_STOP


def test_every_lane_has_a_thread() -> None:
    """Also when there are more lanes at work than threads."""
    share = ThreadShare(1)
    share.at_work = 2
    assert 1 == share.each
    share.at_work = 0
    assert 1 == share.each
