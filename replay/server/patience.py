"""How long a client may keep its request waiting, to send the rest of a body or to take more of an answer.

One timer watches all requests, so that watching one costs a fraction of what a timer of its own would.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

__all__ = ["Patience"]

_LOOKS: Final = 4
"""Looks in the time that a client has: it gets at most a quarter more."""

Waiting = asyncio.Task[Any]


class Patience:
    """Cancels requests whose client does not go on. Lives in one event loop."""

    def __init__(self, limit_s: float) -> None:
        """Give each client so long for each step."""
        self._limit_s = limit_s
        self._since: dict[Waiting, float] = {}
        self._late: set[Waiting] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> Waiting | None:
        """Note that the running task waits for its client from now on."""
        task = asyncio.current_task()
        if task is None:
            return None
        loop = task.get_loop()
        self._since[task] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self._limit_s / _LOOKS, self._look, loop)
        return task

    def end(self, task: Waiting | None) -> None:
        """Note that the client went on."""
        if task is not None:
            self._since.pop(task, None)

    def ran_out(self) -> bool:
        """Tell whether the running task was cancelled for its client, and take that back."""
        task = asyncio.current_task()
        if task is None or task not in self._late:
            return False
        self._late.discard(task)
        task.uncancel()
        return True

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for task, since in list(self._since.items()):
            if now - since >= self._limit_s:
                del self._since[task]
                self._late.add(task)
                task.cancel()
        waiting = bool(self._since)
        self._timer = loop.call_later(self._limit_s / _LOOKS, self._look, loop) if waiting else None
