"""Answers HTTP requests from recorded exchanges, and records what a live upstream answers in record mode.

One session serves one client or one test: it counts its own repeats of each request, so that the second GET
gets the second recorded answer. Answers are found by content alone, never by the order in which different
requests come, so parallel requests cannot swap theirs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Final

from replay.core.errors import MissError
from replay.core.keys import call_key
from replay.core.types import CallRequest, Key, RepeatPolicy, Snapshot, SnapshotKind, SnapshotStatus
from replay.store.answers import ApiAnswer, make_api_snapshot
from replay.store.pending import SnapshotReader, SnapshotWriter
from replay.tools.exchange import HttpAnswer, HttpKeys, HttpRequest, read_answer, write_answer
from replay.tools.misses import MissReporter, Use

__all__ = ["ExchangeSession", "Exchanges"]

MEDIA: Final = "json"
_TOO_MANY: Final = 429
_SERVER_FAULT: Final = 500

Ask = Callable[[], HttpAnswer]
"""Sends the request to the live upstream."""


class Exchanges:
    """The recorded exchanges of one archive, and an overlay where some are recorded. Safe to share."""

    def __init__(
        self,
        store: SnapshotReader,
        keys: HttpKeys,
        reporter: MissReporter,
        *,
        overlay: SnapshotWriter | None = None,
        keep_errors: bool = False,
    ) -> None:
        """Read from `store`, which sees the overlay too; write to `overlay`, which only record mode has.

        keep_errors: also record answers 429 and 5xx; they are replayed as such.
        """
        self.keys = keys
        self._store = store
        self._reporter = reporter
        self._overlay = overlay
        self._keep_errors = keep_errors
        self._used: set[Key] = set()
        self._lock = threading.Lock()
        self.recorded = 0
        """How many answers were recorded."""

    def session(self, name: str, *, repeats: RepeatPolicy = RepeatPolicy.STICKY_LAST) -> ExchangeSession:
        """Start a session; `name` is shown in misses."""
        return ExchangeSession(self, name, repeats)

    def find(self, key: Key, occurrence: int, repeats: RepeatPolicy) -> HttpAnswer | None:
        """Find the recorded answer for this repeat of a request. Raises DamagedError for one that is none."""
        held = self._store.get(key, occurrence)
        if held is None and occurrence and repeats is RepeatPolicy.STICKY_LAST and self._overlay is None:
            held = self._store.get(key, max(0, min(occurrence, self._store.count(key) - 1)))
        if held is None:
            return None
        self._used.add(key)
        return read_answer(held.body, where=f"key {key}")

    def record(self, call: CallRequest, ask: Ask) -> HttpAnswer:
        """Ask the live upstream and write its answer down as the next one of this request."""
        answer = ask()
        failed = answer.status == _TOO_MANY or answer.status >= _SERVER_FAULT
        if self._overlay is None or (failed and not self._keep_errors):
            return answer
        written = ApiAnswer(
            body=write_answer(answer),
            media=MEDIA,
            status=SnapshotStatus.ERROR if failed else SnapshotStatus.OK,
        )
        key = call_key(call)
        with self._lock:
            snapshot = make_api_snapshot(call, written, sequence=self._store.count(key))
            self._overlay.put(snapshot)
            self._used.add(key)
            self.recorded += 1
        return read_answer(snapshot.body)

    def explain(self, call: CallRequest, *, task: str, step: int, used: Use | None) -> MissError:
        """Build the explained error for a request that nothing answers."""
        return self._reporter.make_error(call, task=task, step=step, lookups=("canonical",), used=used)

    def count(self, key: Key) -> int:
        """Count the recorded answers of a request."""
        return self._store.count(key)

    def unused(self, scan: Iterator[Snapshot]) -> tuple[str, ...]:
        """Name the recorded requests that no session asked for, sorted."""
        return tuple(
            sorted(
                {
                    snapshot.scope
                    for snapshot in scan
                    if _is_exchange(snapshot) and snapshot.key not in self._used
                }
            )
        )

    @property
    def used(self) -> frozenset[Key]:
        """Keys of the requests that were answered."""
        return frozenset(self._used)


class ExchangeSession:
    """One client's requests. Safe to share between its threads."""

    def __init__(self, exchanges: Exchanges, name: str, repeats: RepeatPolicy) -> None:
        """Start with nothing asked."""
        self._exchanges = exchanges
        self._name = name
        self._repeats = repeats
        self._steps: dict[Key, list[int]] = {}
        self._step = 0
        self._lock = threading.Lock()

    def answer(self, request: HttpRequest, ask: Ask | None = None) -> HttpAnswer:
        """Answer a request from what is recorded, else from the live upstream where there is one.

        Errors:  MissError, explained, when nothing is recorded and `ask` is None; DamagedError for a recorded
                 answer that is none; whatever `ask` raises.
        """
        call = self._exchanges.keys.call_of(request)
        key = call_key(call)
        with self._lock:
            steps = self._steps.setdefault(key, [])
            occurrence, step = len(steps), self._step
            steps.append(step)
            self._step += 1
        found = self._exchanges.find(key, occurrence, self._repeats)
        if found is not None:
            return found
        if ask is not None:
            return self._exchanges.record(call, ask)
        recorded = self._exchanges.count(key)
        used = Use(recorded=recorded, steps=tuple(steps[:-1][-recorded:])) if recorded else None
        raise self._exchanges.explain(call, task=self._name, step=step, used=used)


def _is_exchange(snapshot: Snapshot) -> bool:
    return snapshot.kind is SnapshotKind.API
