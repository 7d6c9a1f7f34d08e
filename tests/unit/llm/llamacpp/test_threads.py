"""The number of threads follows the processors that are free; nothing here is about results."""

from __future__ import annotations

import pytest

from replay.llm.llamacpp.threads import FIRST_WAIT_S, LONGEST_WAIT_S, WINDOW_S, ThreadGovernor


def run(governor: ThreadGovernor, seconds: float, used: float) -> int:
    """Let calls of a window's length pass in which so many processors were at work."""
    for _ in range(round(seconds / WINDOW_S)):
        governor.note(1.01 * WINDOW_S, used * 1.01 * WINDOW_S)
    return governor.threads


@pytest.mark.parametrize(("most", "used"), [(1, 0.2), (2, 1.98), (2, 1.75), (8, 7.8), (32, 31.2)])
def test_threads_that_get_their_processors_stay(most: int, used: float) -> None:
    """One thread never waits for another, and a little is always lost."""
    assert most == run(ThreadGovernor(most), 10, used)


@pytest.mark.parametrize(
    ("most", "used", "left"), [(2, 1.0, 1), (2, 1.6, 1), (8, 7.5, 7), (8, 2.9, 3), (8, 0.1, 1)]
)
def test_a_neighbour_takes_threads_away(most: int, used: float, left: int) -> None:
    """After one window there are as many as had processors, and always one fewer."""
    assert left == run(ThreadGovernor(most), WINDOW_S, used)


def test_short_calls_are_judged_together() -> None:
    """A token of a tiny model says nothing alone."""
    governor = ThreadGovernor(2)
    counts = [governor.note(WINDOW_S / 4.5, 0.0) for _ in range(5)]
    assert [2, 2, 2, 2, 1] == counts


def waits(governor: ThreadGovernor) -> float:
    """Seconds on one thread until two are tried, on a machine with a neighbour."""
    run(governor, WINDOW_S, 1.0)
    return next(count for count in range(10_000) if run(governor, WINDOW_S, 1.0) == 2) * WINDOW_S


def test_all_threads_are_tried_again_and_kept_when_there_is_room() -> None:
    """The wait doubles with each try that failed; threads that stay bring the shortest one back."""
    governor = ThreadGovernor(2)
    first, second = waits(governor), waits(governor)
    assert 2 * FIRST_WAIT_S == pytest.approx(first, rel=0.1)
    assert 4 * FIRST_WAIT_S == pytest.approx(second, rel=0.1)
    assert 2 == run(governor, 5 * FIRST_WAIT_S, 2.0)
    assert first == waits(governor)


def test_the_wait_doubles_up_to_a_minute() -> None:
    """A machine that is always shared is hardly ever tried: one window in a minute."""
    governor = ThreadGovernor(2)
    tries = 0
    for _ in range(round(600 / WINDOW_S)):
        tries += 2 == governor.note(1.01 * WINDOW_S, 1.01 * WINDOW_S)
    assert tries < 8 + 600 / LONGEST_WAIT_S
