"""Worker processes: items go out in plan order, results come back in plan order.

Processes are spawned, never forked: stores and models must be opened where they are used. What crosses the
border are encoded records of our own. A worker may run several items at once (WorkerSpec.width). One that
dies takes its items with it and ends the run with one clear error once everything before the first of them
is merged, so the run can be resumed from there.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Final, Self

import msgspec

from replay.core.errors import InternalError, ReplayError
from replay.core.types import Record
from replay.engine.plan import PlanItem
from replay.engine.rundir.lines import EpisodeLines, encode_episode
from replay.engine.worker import EpisodeWorker, WorkerSpec, make_worker

__all__ = ["WorkerCrew"]

_AHEAD: Final = 8
"""Items a worker may be ahead of the slowest one: bounds the results held in memory."""

_GRACE_S: Final = 5.0
"""How long a worker may take to close its stores before it is ended."""


class _Order(Record, frozen=True, kw_only=True):
    """One item on its way to a worker."""

    number: int
    """Its place in the plan, which comes back with the reply."""
    item: PlanItem


class _Failure(Record, frozen=True, kw_only=True, tag="failure"):
    """What went wrong in a worker, ready to be raised again."""

    number: int
    kind: str
    what: str
    where: str = ""
    expected: str = ""
    next_step: str = ""


class _Done(Record, frozen=True, kw_only=True, tag="done"):
    number: int
    lines: EpisodeLines


class WorkerCrew:
    """A fixed number of worker processes. A context manager; leaving it ends them all."""

    def __init__(self, spec: WorkerSpec, *, jobs: int) -> None:
        """Start `jobs` processes; each builds its own worker from `spec`."""
        context = multiprocessing.get_context("spawn")
        document = msgspec.msgpack.encode(spec)
        self._width = spec.width
        self._members: list[_Member] = []
        try:
            for _ in range(jobs):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs, document), daemon=True)
                with _interrupts_blocked():
                    process.start()
                theirs.close()
                self._members.append(_Member(process, ours))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Use the crew."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the crew: in order after a full run, at once after an error."""
        self.close(patient=kind is None)

    def run(self, items: Sequence[PlanItem]) -> Iterator[EpisodeLines]:
        """Run all items; results come in the order of `items`, whoever finishes first.

        Errors:  the error a worker raised, or InternalError naming the item when a worker process died; both
                 only when every item before has been given out.
        """
        finished: dict[int, EpisodeLines | ReplayError] = {}
        given = 0
        for index in range(len(items)):
            while index not in finished:
                limit = min(len(items), index + _AHEAD * self._width * len(self._members))
                given = self._hand_out(items, given, limit)
                finished.update(self._collect(items))
            result = finished.pop(index)
            if isinstance(result, ReplayError):
                raise result
            yield result

    def close(self, *, patient: bool = False) -> None:
        """End all processes; a patient close lets them close their stores first."""
        for member in self._members:
            member.connection.close()
        for member in self._members:
            if patient:
                member.process.join(_GRACE_S)
            if member.process.is_alive():
                member.process.terminate()
                member.process.join(_GRACE_S)
            if member.process.is_alive():
                member.process.kill()
                member.process.join()
        self._members = []

    def _hand_out(self, items: Sequence[PlanItem], given: int, limit: int) -> int:
        """Give out items up to `limit`, one to each worker in turn, until all have as many as they run."""
        for filled in range(self._width):
            for member in self._members:
                if given < limit and len(member.items) <= filled:
                    member.items.add(given)
                    order = _Order(number=given, item=items[given])
                    # A worker that is gone is noticed when its answer is collected.
                    with contextlib.suppress(OSError):
                        member.connection.send_bytes(msgspec.msgpack.encode(order))
                    given += 1
        return given

    def _collect(self, items: Sequence[PlanItem]) -> dict[int, EpisodeLines | ReplayError]:
        """Wait for at least one busy worker and take what is ready; a dead worker's items are its error."""
        ready = set(wait([member.connection for member in self._members if member.items]))
        collected: dict[int, EpisodeLines | ReplayError] = {}
        for member in [member for member in self._members if member.connection in ready]:
            try:
                reply = msgspec.msgpack.decode(member.connection.recv_bytes(), type=_Done | _Failure)
            except (EOFError, OSError):
                collected |= {number: _died(member, items[number]) for number in sorted(member.items)}
                self._members.remove(member)
                continue
            member.items.discard(reply.number)
            collected[reply.number] = _to_error(reply) if isinstance(reply, _Failure) else reply.lines
        if not collected:
            raise InternalError("no worker is left to answer", expected="at least one busy worker")
        return collected


class _Member:
    """One process, its connection, and the numbers of the items it works on."""

    def __init__(self, process: SpawnProcess, connection: Connection) -> None:
        self.process = process
        self.connection = connection
        self.items: set[int] = set()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes with Ctrl-C blocked, for good: it goes to the whole terminal group.

    The parent alone decides how the run ends. What arrives meanwhile is delivered to the parent afterwards.
    """
    # The tracker that multiprocessing starts beside its first process unblocks the signal when it is up.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, document: bytes) -> None:
    """Answer items until the other side hangs up. Runs in the worker process."""
    spec = msgspec.msgpack.decode(document, type=WorkerSpec)
    outlet = _Outlet(connection)
    try:
        worker = make_worker(spec)
    except ReplayError as error:
        while (order := _receive(connection)) is not None:
            if not outlet.send(_to_failure(error, order.number)):
                return
        return
    pool = ThreadPoolExecutor(spec.width, thread_name_prefix="lane") if spec.width > 1 else None
    try:
        while (order := _receive(connection)) is not None:
            if pool is not None:
                pool.submit(_work, worker, order, outlet)
            elif not _work(worker, order, outlet):
                return
    finally:
        if pool is not None:
            worker.halt()
            pool.shutdown(wait=True, cancel_futures=True)
        worker.close()


class _Outlet:
    """The way back to the parent; one thread sends at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, reply: _Done | _Failure) -> bool:
        """Send a reply; False when nobody listens any more."""
        document = msgspec.msgpack.encode(reply)
        try:
            with self._lock:
                self._connection.send_bytes(document)
        except OSError:
            return False
        return True


def _work(worker: EpisodeWorker, order: _Order, outlet: _Outlet) -> bool:
    """Run one item and send what came of it."""
    try:
        reply: _Done | _Failure = _Done(number=order.number, lines=encode_episode(worker.run(order.item)))
    except ReplayError as error:
        reply = _to_failure(error, order.number)
    except BaseException as error:
        # A bug in a thread would be silent, and the parent would wait for ever.
        where = f"task {order.item.task}, trial {order.item.trial}"
        bug = InternalError(f"internal error, {type(error).__name__}: {error}", where=where)
        outlet.send(_to_failure(bug, order.number))
        raise
    return outlet.send(reply)


def _receive(connection: Connection) -> _Order | None:
    try:
        return msgspec.msgpack.decode(connection.recv_bytes(), type=_Order)
    except (EOFError, OSError):
        return None


def _to_failure(error: ReplayError, number: int) -> _Failure:
    return _Failure(
        number=number,
        kind=type(error).__name__,
        what=error.what,
        where=error.where,
        expected=error.expected,
        next_step=error.next_step,
    )


def _to_error(failure: _Failure) -> ReplayError:
    kinds = {kind.__name__: kind for kind in _all_kinds(ReplayError)}
    return kinds.get(failure.kind, InternalError)(
        failure.what, where=failure.where, expected=failure.expected, next_step=failure.next_step
    )


def _all_kinds(kind: type[ReplayError]) -> Iterator[type[ReplayError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _all_kinds(child)


def _died(member: _Member, item: PlanItem) -> InternalError:
    member.process.join(_GRACE_S)
    code = member.process.exitcode
    how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    return InternalError(
        f"a worker process died ({how})",
        where=f"task {item.task}, trial {item.trial}",
        expected="a result; too little memory is the usual reason",
        next_step="run the same command again: it resumes after the last finished episode",
    )
