"""One worker running several items at once: a thread an item, results in plan order.

The threads wait for most of their time, for local models that decode all requests in flight together. No
item knows of another, so which of them ends first changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from replay.engine.plan import PlanItem
from replay.engine.rundir.lines import EpisodeLines, encode_episode
from replay.engine.worker import EpisodeWorker

__all__ = ["run_lanes"]

_AHEAD: Final = 4
"""Items a lane may be ahead of the slowest one: bounds the results held in memory."""


def run_lanes(worker: EpisodeWorker, items: Sequence[PlanItem], *, width: int) -> Iterator[EpisodeLines]:
    """Run all items, `width` at a time; results come in the order of `items`, whoever finishes first.

    Leaving early (an error, Ctrl-C, a closed generator) halts the worker and waits for its threads, so that
    stores and models can be closed afterwards.

    Errors:  the error of the first item, in order, that has one.
    """
    pool = ThreadPoolExecutor(width, thread_name_prefix="lane")
    running: deque[Future[EpisodeLines]] = deque()
    given = 0
    finished = False
    try:
        while running or given < len(items):
            while given < len(items) and len(running) < _AHEAD * width:
                running.append(pool.submit(_run, worker, items[given]))
                given += 1
            yield running.popleft().result()
        finished = True
    finally:
        if not finished:
            for future in running:
                future.cancel()
            worker.halt()
        pool.shutdown(wait=True, cancel_futures=True)


def _run(worker: EpisodeWorker, item: PlanItem) -> EpisodeLines:
    return encode_episode(worker.run(item))
