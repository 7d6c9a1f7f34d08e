"""Work away from the event loop: what it makes, what it raises, and that a stop need not wait for it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from replay.core.errors import MissError
from replay.server.waiting import run_aside


def test_what_is_made_comes_back() -> None:
    """The function runs in another thread, which is no reason for a process to stay."""
    seen: list[threading.Thread] = []

    def double(number: int) -> int:
        seen.append(threading.current_thread())
        return 2 * number

    assert 42 == asyncio.run(run_aside(double, 21))
    assert [True] == [thread.daemon for thread in seen]


def test_an_error_comes_back() -> None:
    """A typed error is raised where the work is awaited."""

    def miss(_: str) -> str:
        raise MissError("nothing of the kind")

    with pytest.raises(MissError, match="nothing of the kind"):
        asyncio.run(run_aside(miss, ""))


def test_a_wait_can_end_before_the_work() -> None:
    """Whoever is cancelled waits no longer; what the thread makes then goes nowhere."""
    may_end, ended = threading.Event(), threading.Event()

    def work(_: str) -> str:
        may_end.wait(10)
        ended.set()
        return "late"

    async def give_up() -> bool:
        waiting = asyncio.create_task(run_aside(work, ""))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait([waiting])
        return waiting.cancelled()

    assert asyncio.run(give_up())
    may_end.set()
    assert ended.wait(10)
