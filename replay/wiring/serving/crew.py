"""Several server processes over one listener and one sealed store."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, MutableSequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, Final

from replay.core.determinism import Stopwatch, pause
from replay.core.errors import InternalError
from replay.server.counters import Counters

__all__ = ["run_crew", "stop_with_parent"]

_RESTARTS: Final = 10
"""How often workers that died are replaced in a row before the server gives up."""
_CALM_S: Final = 60.0
"""After so long without a death the next one is the first of a row again."""
_GRACE_S: Final = 15.0
_LOOK_S: Final = 0.1


class _Stop:
    """Whether a signal came: a mark without a lock, for a handler may run where one is held."""

    def __init__(self) -> None:
        self._came = False

    def set(self) -> None:
        self._came = True

    def is_set(self) -> bool:
        return self._came


def run_crew(
    target: Callable[..., None],
    work: tuple[Any, ...],
    workers: int,
    *,
    started: Callable[[], None],
    note: Callable[[str], None],
) -> dict[str, int]:
    """Run the workers until SIGINT or SIGTERM; return what all of them counted.

    target: called in each process with `work`, the worker's number and the table of counters.
    note: told in one line when a worker died and another one serves in its place.

    Errors:  InternalError when workers keep dying.
    """
    context = multiprocessing.get_context("spawn")
    table: MutableSequence[int] = context.Array("Q", Counters.table_size(workers), lock=False)

    def start(worker: int) -> BaseProcess:
        process = context.Process(target=target, args=(*work, worker, table))
        process.start()
        return process

    with _stop_signals() as stop:
        crew = [start(worker) for worker in range(workers)]
        # The listener is bound and the kernel holds what comes before a worker accepts.
        started()
        try:
            _watch(crew, start, stop, note)
        finally:
            _end(crew)
    return Counters(table).read_all()


def stop_with_parent() -> None:
    """Let this worker stop when the process that started it is gone, killed without a word included."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def _watch(
    crew: list[BaseProcess],
    start: Callable[[int], BaseProcess],
    stop: _Stop,
    note: Callable[[str], None],
) -> None:
    """Wait for the stop, and put another worker in the place of one that died."""
    restarts, calm = 0, Stopwatch()
    while not stop.is_set():
        pause(_LOOK_S)
        for worker, process in enumerate(crew):
            if process.exitcode is None or stop.is_set():
                continue
            restarts = 1 if calm.elapsed_s() > _CALM_S else restarts + 1
            calm = Stopwatch()
            if restarts > _RESTARTS:
                raise InternalError(
                    f"worker {worker} ended with {process.exitcode}, the {restarts}th to do so",
                    expected="workers that serve until they are stopped",
                )
            note(f"worker {worker} ended with {process.exitcode}; another one serves in its place")
            crew[worker] = start(worker)


def _end(crew: list[BaseProcess]) -> None:
    for process in crew:
        process.terminate()
    for process in crew:
        process.join(_GRACE_S)
        if process.exitcode is None:
            process.kill()
            process.join()


@contextmanager
def _stop_signals() -> Iterator[_Stop]:
    stop = _Stop()

    def note(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
