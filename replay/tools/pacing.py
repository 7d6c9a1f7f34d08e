"""How politely an upstream is asked: so many at once, so many a second, and longer waits after failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from replay.core.determinism import Stopwatch, pause

__all__ = ["Pace", "read_wait"]

Pause = Callable[[float], None]


class Pace:
    """Bounds requests in flight and requests a second. Shared by the threads of a worker."""

    def __init__(self, *, at_once: int, per_second: float = 0.0, wait: Pause = pause) -> None:
        """Allow so many; `wait` is how time passes."""
        self._slots = threading.BoundedSemaphore(at_once)
        self._interval = 1 / per_second if per_second else 0.0
        self._wait = wait
        self._watch = Stopwatch()
        self._next = 0.0
        self._lock = threading.Lock()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Hold a place among the requests in flight, from the moment it may be sent."""
        with self._slots:
            self._wait(self._take_turn())
            yield

    def hold_back(self, seconds: float) -> None:
        """Send nothing for a while: an upstream that asks for it asks all of its clients."""
        with self._lock:
            self._next = max(self._next, self._watch.elapsed_s() + seconds)

    def _take_turn(self) -> float:
        with self._lock:
            now = self._watch.elapsed_s()
            turn = max(now, self._next)
            self._next = turn + self._interval
            return turn - now


def read_wait(text: str, *, limit_s: float) -> float:
    """Read a Retry-After header that counts seconds; 0 when it says anything else.

    A date would need the clock of another machine.
    """
    stripped = text.strip()
    is_number = stripped.isascii() and stripped.isdigit() and len(stripped) < 9
    return min(float(stripped), limit_s) if is_number else 0.0
