"""How many threads compute: as many as were asked for, fewer while others use the processors.

The library's threads wait for each other by spinning, some hundred times a token. As soon as one of them has
no processor, the rest burn theirs until it gets one back, and a token that takes 15 ms takes a second. The
processor time that a call got, compared with what its threads would have had alone, tells when that happens.

The number of threads changes no bit under the invariant schedule (the self-test compares them), so this may
look at the clock. Under the canonical schedule the number is fixed.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ThreadGovernor", "ThreadShare"]

WINDOW_S: Final = 0.05
"""Of calls that are judged together; a scheduler's turn is a few milliseconds."""
MOST_LOST: Final = 0.3
"""Processors that the threads of a window may have missed, for every ten threads and at least once."""
FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 60.0
"""Before all threads are tried again; twice as long after each time that there was no room for them."""


class ThreadShare:
    """Divides threads among the contexts that are at work."""

    def __init__(self, threads: int) -> None:
        """Divide so many."""
        self._threads = threads
        self.at_work = 1

    @property
    def each(self) -> int:
        """Threads of each of them."""
        return max(1, self._threads // max(1, self.at_work))


class ThreadGovernor:
    """Chooses the number of threads of the next call from how the calls before it went."""

    def __init__(self, most: int) -> None:
        """Start with all of them."""
        self.most = most
        self.threads = most
        self._wall_s = 0.0
        self._cpu_s = 0.0
        self._wait_s = FIRST_WAIT_S
        self._since_s = 0.0
        """Computed with this number of threads, over all windows."""

    def note(self, wall_s: float, cpu_s: float) -> int:
        """Take in how long a call took and how much processor time it got; return the threads of the next."""
        if self.most == 1:
            return 1
        self._wall_s += wall_s
        self._cpu_s += cpu_s
        if self._wall_s >= WINDOW_S:
            self._judge(self._cpu_s / self._wall_s)
            self._wall_s = self._cpu_s = 0.0
        return self.threads

    def _judge(self, used: float) -> None:
        """Judge a window in which `used` processors were at work."""
        self._since_s += self._wall_s
        allowed = MOST_LOST * max(1.0, self.threads / 10)
        if self.threads > 1 and self.threads - used > allowed:
            self._change(max(1, min(self.threads - 1, int(used + MOST_LOST))))
            self._wait_s = min(2 * self._wait_s, LONGEST_WAIT_S)
        elif self._since_s >= self._wait_s:
            if self.threads == self.most:
                self._wait_s = FIRST_WAIT_S  # there was room for as long as there had been none
            else:
                self._change(self.most)

    def _change(self, threads: int) -> None:
        self.threads = threads
        self._since_s = 0.0
