"""One thread a key at a time: of equal questions in flight one is asked, the others wait for its answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from replay.core.types import Key

__all__ = ["SingleFlight"]


class SingleFlight:
    """The keys that are being asked for. Safe to share between threads."""

    def __init__(self) -> None:
        """Start with nothing in flight."""
        self._flights: dict[Key, _Flight] = {}
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, key: Key) -> Iterator[None]:
        """Be the only one who asks for this key; whoever comes second waits."""
        with self._lock:
            flight = self._flights.setdefault(key, _Flight())
            flight.waiting += 1
        try:
            with flight.lock:
                yield
        finally:
            with self._lock:
                flight.waiting -= 1
                if not flight.waiting:
                    self._flights.pop(key, None)


class _Flight:
    """The lock of one key and how many threads hold or want it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting = 0
