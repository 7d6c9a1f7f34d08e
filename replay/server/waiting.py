"""Work that may take long, in threads that a stop does not wait for.

A thread of a pool keeps a process alive until it is done, and an upstream or a model may take minutes. What
is cut off here was never acknowledged. How many threads there are is bounded by the gate.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from replay.core.errors import InternalError, ReplayError

__all__ = ["run_aside"]

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


async def run_aside(function: Callable[[_Given], _Made], given: _Given) -> _Made:
    """Call a function in a thread of its own, and wait for it as long as this task may live.

    Errors:  those of ReplayError that the function raises; InternalError for any other, which is our bug.
    """
    loop = asyncio.get_running_loop()
    made: asyncio.Future[_Made] = loop.create_future()

    def tell(outcome: _Made | ReplayError) -> None:
        if made.done():
            return
        if isinstance(outcome, ReplayError):
            made.set_exception(outcome)
        else:
            made.set_result(outcome)

    def work() -> None:
        outcome: _Made | ReplayError = InternalError("a request broke the thread that served it")
        try:
            outcome = function(given)
        except ReplayError as error:
            outcome = error
        finally:
            # The loop is closed when the server stopped meanwhile: nobody waits any more.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(tell, outcome)

    threading.Thread(target=work, daemon=True).start()
    return await made
