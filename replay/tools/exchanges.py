"""Answers HTTP requests from recorded exchanges, and records what a live upstream answers in record mode.

One session serves one client or one test: it counts its own repeats of each request, so that the second GET
gets the second recorded answer. Answers are found by content alone, never by the order in which different
requests come, so parallel requests cannot swap theirs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from replay.core.errors import MissError
from replay.core.types import CallRequest, Key, RepeatPolicy, SnapshotStatus
from replay.store.answers import ApiAnswer, make_api_snapshot
from replay.store.pending import BodyReader, SnapshotWriter
from replay.tools.callers import credentials_in_fields, credentials_in_headers
from replay.tools.exchange import (
    HttpAnswer,
    HttpKeys,
    HttpRequest,
    KeyedCall,
    Mask,
    read_answer,
    write_answer,
)
from replay.tools.flights import SingleFlight
from replay.tools.masking import Secrets
from replay.tools.misses import NOBODY, MissReporter, Use

__all__ = ["ExchangeSession", "Exchanges", "Turn"]

_TOO_MANY: Final = 429
_SERVER_FAULT: Final = 500

Ask = Callable[[], HttpAnswer]
"""Sends the request to the live upstream."""

_MOST_CALLERS: Final = 1_000
"""Credentials that are remembered with all their spellings: clients may make up any number of them."""


_MOST_FAILURES: Final = 1_000
"""Requests without an answer that are remembered by name."""


class Turn(NamedTuple):
    """One request of a session, looked up."""

    request: HttpRequest
    call: CallRequest
    key: Key
    step: int
    """Number of the request in its session, from 0."""
    found: HttpAnswer | None


class Exchanges:
    """The recorded exchanges of one archive, and an overlay where some are recorded. Safe to share."""

    def __init__(
        self,
        store: BodyReader,
        keys: HttpKeys,
        reporter: MissReporter,
        *,
        overlay: SnapshotWriter | None = None,
        keep_errors: bool = False,
        secrets: Secrets | None = None,
    ) -> None:
        """Read from `store`, which sees the overlay too; write to `overlay`, which only record mode has.

        keep_errors: also record answers 429 and 5xx; they are replayed as such.
        secrets: what must not be stored of answers; the declared field rules hold without it too.
        """
        self.keys = keys
        self._store = store
        self._reporter = reporter
        self._overlay = overlay
        self._keep_errors = keep_errors
        self._secrets = secrets or Secrets()
        self._callers: dict[tuple[str, ...], Secrets] = {}
        self._used: set[Key] = set()
        self._last: dict[Key, int] = {}
        self._flights = SingleFlight()
        self._lock = threading.Lock()
        self.recorded = 0
        """How many answers were recorded."""
        self.not_recorded: dict[str, int] = {}
        """Requests that only a failure answered, named as in misses, with its status; the first that came."""

    def session(self, name: str, *, repeats: RepeatPolicy = RepeatPolicy.STICKY_LAST) -> ExchangeSession:
        """Start a session; `name` is shown in misses."""
        return ExchangeSession(self, name, repeats)

    def keyed_call(self, request: HttpRequest) -> KeyedCall:
        """Make the call of a request with its key: without what tells who sends it, wherever that stands."""
        return self.keys.keyed_call(request, mask_of=self._mask_of)

    def find(self, key: Key, occurrence: int, repeats: RepeatPolicy) -> HttpAnswer | None:
        """Find the recorded answer for this repeat of a request. Raises DamagedError for one that is none."""
        if occurrence and repeats is RepeatPolicy.STICKY_LAST and self._overlay is None:
            # Nothing is recorded meanwhile, so what was counted once holds.
            last = self._last.get(key)
            if last is None:
                last = self._last[key] = max(0, self._store.count(key) - 1)
            occurrence = min(occurrence, last)
        body = self._store.get_body(key, occurrence)
        if body is None:
            return None
        self._used.add(key)
        return read_answer(body, where=f"key {key}")

    def record(self, turn: Turn, answer: HttpAnswer) -> HttpAnswer:
        """Write a live answer down as the next one of this request; a failure only where that was asked.

        Either way it is returned as a replay would give it.
        """
        failed = answer.status == _TOO_MANY or answer.status >= _SERVER_FAULT
        if self._overlay is None or (failed and not self._keep_errors):
            self._note_failure(turn, answer)
            return self.shown(turn, answer)
        written = ApiAnswer(
            body=self._write(turn, answer), status=SnapshotStatus.ERROR if failed else SnapshotStatus.OK
        )
        # One writer a key, so that numbers follow one another; different keys share commits.
        with self._flights.holding(turn.key):
            snapshot = make_api_snapshot(turn.call, written, sequence=self._store.count(turn.key))
            self._overlay.put(snapshot)
        with self._lock:
            self._used.add(turn.key)
            self.recorded += 1
        return read_answer(snapshot.body)

    def _note_failure(self, turn: Turn, answer: HttpAnswer) -> None:
        with self._lock:
            if len(self.not_recorded) < _MOST_FAILURES:
                self.not_recorded[turn.call.tool] = answer.status

    def shown(self, turn: Turn, answer: HttpAnswer) -> HttpAnswer:
        """Give an answer that is not kept as a client gets one that is."""
        return read_answer(self._write(turn, answer))

    def _write(self, turn: Turn, answer: HttpAnswer) -> str:
        return write_answer(self._own(turn.request).mask_answer(self._secrets.mask_answer(answer)))

    def _mask_of(self, request: HttpRequest) -> Mask | None:
        credentials = credentials_in_headers(request)
        return self._known(credentials).mask_json if credentials else None

    def _own(self, request: HttpRequest) -> Secrets:
        """Know what a request tells of who sends it: a service may say it back."""
        fields = credentials_in_fields(request, self._secrets.rules)
        return self._known((*credentials_in_headers(request), *fields))

    def _known(self, credentials: tuple[str, ...]) -> Secrets:
        found = self._callers.get(credentials)
        if found is None:
            if len(self._callers) >= _MOST_CALLERS:
                self._callers.clear()
            found = self._callers[credentials] = Secrets(credentials)
        return found

    def explain(
        self,
        call: CallRequest,
        *,
        task: str,
        step: int,
        used: Use | None,
        refused: Mapping[str, str] = NOBODY,
    ) -> MissError:
        """Build the explained error for a request that nothing answers; refused: what an `upstream` said."""
        return self._reporter.make_error(
            call, task=task, step=step, lookups=("canonical",), used=used, refused=refused
        )

    def count(self, key: Key) -> int:
        """Count the recorded answers of a request."""
        return self._store.count(key)

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

    def look_up(self, request: HttpRequest) -> Turn:
        """Take the next turn of a request. Raises DamagedError for a recorded answer that is none."""
        call, key = self._exchanges.keyed_call(request)
        with self._lock:
            steps = self._steps.setdefault(key, [])
            occurrence, step = len(steps), self._step
            steps.append(step)
            self._step += 1
        return Turn(request, call, key, step, self._exchanges.find(key, occurrence, self._repeats))

    def record(self, turn: Turn, answer: HttpAnswer) -> HttpAnswer:
        """Write down what a live upstream answered; return it as a replay will give it."""
        return self._exchanges.record(turn, answer)

    def give_back(self, turn: Turn) -> None:
        """Let the next equal request have this turn, which got no answer."""
        with self._lock:
            self._steps[turn.key].remove(turn.step)

    def shown(self, turn: Turn, answer: HttpAnswer) -> HttpAnswer:
        """Give an answer that is not written down as a client gets one that is."""
        return self._exchanges.shown(turn, answer)

    def miss(self, turn: Turn, *, refused: Mapping[str, str] = NOBODY) -> MissError:
        """Build the explained error for a turn that nothing answers; refused: what an `upstream` said."""
        recorded = self._exchanges.count(turn.key)
        with self._lock:
            earlier = [step for step in self._steps[turn.key] if step < turn.step]
        used = Use(recorded=recorded, steps=tuple(earlier[-recorded:])) if recorded else None
        return self._exchanges.explain(turn.call, task=self._name, step=turn.step, used=used, refused=refused)

    def answer(self, request: HttpRequest, ask: Ask | None = None) -> HttpAnswer:
        """Answer a request from what is recorded, else from the live upstream where there is one.

        Errors:  MissError, explained, when nothing is recorded and `ask` is None; DamagedError for a recorded
                 answer that is none; whatever `ask` raises, and then nothing is recorded.
        """
        turn = self.look_up(request)
        if turn.found is not None:
            return turn.found
        if ask is None:
            raise self.miss(turn)
        return self.record(turn, ask())
