"""Answers that a simulator makes up: kept under the simulator's own key, found by no one else.

A simulated answer is an alias snapshot (core/keys.py, simulated_alias) whose key holds the simulator's whole
identity: model, prompt, sampling and seed. The lookups of recorded answers never meet it, and another model
or prompt has other keys. A simulation that failed is kept as what it is, a typed failure with its reason, so
that a replay ends at the same place for the same reason; it is never served as an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.errors import DamagedError, SimulationError
from replay.core.keys import SIMULATED, alias_key, simulated_alias
from replay.core.protocols import ToolSource
from replay.core.types import (
    CallRequest,
    Digest,
    Json,
    Key,
    Origin,
    Provenance,
    Record,
    RepeatPolicy,
    Snapshot,
    SnapshotStatus,
    ToolResult,
)
from replay.store.answers import ApiAnswer, make_alias_snapshot, read_result
from replay.store.pending import SnapshotReader, SnapshotWriter
from replay.tools.keys import KeyRecipe
from replay.tools.recording import answer_of
from replay.tools.resolver import repeat_policy

__all__ = [
    "Documented",
    "SimulatedAnswers",
    "SimulatedSource",
    "SimulationFailure",
    "Simulator",
    "SourceSimulator",
]

_FAILURE: Final = "failure"
"""Name in `meta` that marks a kept failure."""

Documented = Callable[[CallRequest], Digest]
"""Digest of the documentation that a simulator is shown for a call."""


class SimulationFailure(Record, frozen=True, kw_only=True):
    """Why a simulator gave no answer."""

    reason: str
    """truncated, invalid, refused, overflow or error."""
    detail: str = ""
    meta: Json = None
    """What is known of the attempt: model, completion, examples."""

    def to_error(self) -> SimulationError:
        """Build the error that ends in a miss."""
        return SimulationError(f"{self.reason}: {self.detail}" if self.detail else self.reason)


class Simulator(Protocol):
    """Makes answers up."""

    @property
    def identity(self) -> Json:
        """Everything beside call and documentation that decides what it says."""
        ...

    def document(self, request: CallRequest) -> Digest:
        """Digest of the documentation that it is shown for a call."""
        ...

    def simulate(self, request: CallRequest, *, occurrence: int) -> ApiAnswer | SimulationFailure | None:
        """Make up the answer to a call, or say why there is none; None to pass."""
        ...


class SourceSimulator:
    """A simulator made of any tool source."""

    def __init__(self, source: ToolSource, identity: Json, document: Documented) -> None:
        """Simulate with `source` under this identity; its answers are kept apart by documentation too."""
        self._source = source
        self._identity = identity
        self._document = document

    @property
    def identity(self) -> Json:
        """The identity it was given."""
        return self._identity

    def document(self, request: CallRequest) -> Digest:
        """Digest of the documentation, which the source may look at."""
        return self._document(request)

    def simulate(self, request: CallRequest, *, occurrence: int) -> ApiAnswer | None:
        """Ask the source."""
        result = self._source.answer(request, occurrence=occurrence)
        return None if result is None else answer_of(result)


class SimulatedAnswers:
    """Answers from what one simulator made up before; computes nothing."""

    name = SIMULATED

    def __init__(
        self, store: SnapshotReader, recipe: KeyRecipe, *, identity: Json, document: Documented
    ) -> None:
        """Read the answers of the simulator of this identity from a store."""
        self._store = store
        self._recipe = recipe
        self._identity = identity
        self._document = document

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Return what the simulator made up for this call, or None.

        Errors:  SimulationError when it failed then; DamagedError when the bytes cannot be read.
        """
        keyed = self._recipe.apply(request)
        alias = simulated_alias(self._identity, keyed, documentation=self._document(keyed))
        held = _find(self._store, keyed, alias_key(keyed.benchmark, alias), occurrence)
        return None if held is None else _read(held)


class SimulatedSource:
    """Answers with what the simulator made up before, else asks it and writes down what it says."""

    name = SIMULATED

    def __init__(
        self, simulator: Simulator, overlay: SnapshotWriter, recipe: KeyRecipe, *, keep_errors: bool = False
    ) -> None:
        """Write what `simulator` says to the overlay under its own keys; `keep_errors`: error results too."""
        self._simulator = simulator
        self._overlay = overlay
        self._recipe = recipe
        self._keep_errors = keep_errors

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Return the answer as a later lookup will find it, or None when the simulator passes.

        The simulator is shown the call as it is keyed: no secret reaches a prompt.
        Errors:  SimulationError when it gave nothing that may pass for an answer.
        """
        keyed = self._recipe.apply(request)
        documentation = self._simulator.document(keyed)
        alias = simulated_alias(self._simulator.identity, keyed, documentation=documentation)
        key = alias_key(keyed.benchmark, alias)
        held = _find(self._overlay, keyed, key, occurrence)
        if held is not None:
            return _read(held)
        said = self._simulator.simulate(keyed, occurrence=occurrence)
        if said is None:
            return None
        answer = _write_failure(said) if isinstance(said, SimulationFailure) else said
        sequence = self._overlay.count(key)
        snapshot = make_alias_snapshot(keyed.benchmark, (alias,), answer, sequence=sequence)
        if self._keep_errors or not _is_error_result(answer):
            self._overlay.put(snapshot)
        return _read(self._overlay.get(key, sequence) or snapshot)


def _find(store: SnapshotReader, request: CallRequest, key: Key, occurrence: int) -> Snapshot | None:
    """Return the answer that an occurrence of a call gets of those under a key, or None."""
    held = store.count(key)
    if not held or (occurrence >= held and repeat_policy(request) is RepeatPolicy.ONCE):
        return None
    return store.get(key, min(occurrence, held - 1))


def _read(snapshot: Snapshot) -> ToolResult:
    if isinstance(snapshot.meta, dict) and _FAILURE in snapshot.meta:
        raise _read_failure(snapshot).to_error()
    return read_result(snapshot, lookup=SIMULATED)


def _write_failure(failure: SimulationFailure) -> ApiAnswer:
    facts = failure.meta if isinstance(failure.meta, dict) else {}
    return ApiAnswer(
        body=canonical_bytes({"reason": failure.reason, "detail": failure.detail}).decode(),
        status=SnapshotStatus.ERROR,
        provenance=Provenance.SIMULATED,
        origin=Origin.SIMULATED,
        meta={**facts, _FAILURE: failure.reason},
    )


def _read_failure(snapshot: Snapshot) -> SimulationFailure:
    try:
        return msgspec.json.decode(snapshot.body, type=SimulationFailure)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DamagedError(
            f"a kept failure of a simulator cannot be read: {error}",
            where=f"key {snapshot.key}, sequence {snapshot.sequence}",
            expected="the reason that was recorded",
            next_step="replay archive verify names every damaged record",
        ) from None


def _is_error_result(answer: ApiAnswer) -> bool:
    kept = isinstance(answer.meta, dict) and _FAILURE in answer.meta
    return answer.status is SnapshotStatus.ERROR and not kept
