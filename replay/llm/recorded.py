"""Completions from the store, and a wrapper that records what another model answers.

A recorded completion answers exactly one complete request of one model; a miss says which fields of the
nearest recorded request differ. Nothing here computes an answer.
"""

from __future__ import annotations

from typing import Final

from replay.core.canonical import canonical_bytes
from replay.core.errors import InputError, MissError
from replay.core.keys import completion_key, completion_request
from replay.core.protocols import ChatModel, ChatModelFactory
from replay.core.types import ChatRequest, Completion, Json, SnapshotKind
from replay.store.answers import COMPLETE, make_completion_snapshot, model_scope, read_completion
from replay.store.nearest import NearRequest, find_nearest
from replay.store.pending import SnapshotReader, SnapshotWriter

__all__ = [
    "REPEATABLE",
    "ChainedModel",
    "ChainedModels",
    "RecordedModel",
    "RecordingModel",
    "RecordingModels",
]

REPEATABLE: Final = COMPLETE | {"length", "refused"}
"""Finish reasons that belong to the model and are recorded, truncated ones as truncated. An `error` of a
remote model belongs to the way there (a lost connection) and is recorded only on request; one of a local
model is as repeatable as an answer (a full context), and whoever sets it up asks for that."""

_CONSIDERED: Final = 300
"""Recorded requests that a miss is compared with: whole conversations are long, and misses come in crowds."""


class RecordedModel:
    """Answers chat requests from recorded completions of one model. Without per-episode state."""

    def __init__(self, store: SnapshotReader, identity: Json, *, archive: str = "") -> None:
        """Answer as the model of this identity; `archive` is the name that misses show."""
        self._store = store
        self._identity = identity
        self._archive = archive

    @property
    def identity(self) -> Json:
        """Identity of the model that was recorded."""
        return self._identity

    def for_episode(self, task: str, *, trial: int) -> RecordedModel:  # noqa: ARG002
        """Return this model: task and trial change nothing but the requests."""
        return self

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Return the recorded completion of exactly this request, seed and trial.

        Errors:  MissError naming the fields that differ from the nearest recorded request;
                 DamagedError when the recorded bytes cannot be read.
        """
        found = self.find(request, seed=seed, trial=trial)
        if found is None:
            raise self._miss(request, seed=seed, trial=trial)
        return found

    def find(self, request: ChatRequest, *, seed: int, trial: int) -> Completion | None:
        """Return the recorded completion of exactly this request, seed and trial, or None.

        Errors:  DamagedError when the recorded bytes cannot be read.
        """
        snapshot = self._store.get(completion_key(self._identity, request, seed=seed, trial=trial))
        return None if snapshot is None else read_completion(snapshot)

    def _miss(self, request: ChatRequest, *, seed: int, trial: int) -> MissError:
        scope = model_scope(self._identity)
        preimage = completion_request(self._identity, request, seed=seed, trial=trial)
        nearest = find_nearest(
            self._store, SnapshotKind.COMPLETION, scope, asked=preimage, limit=1, consider=_CONSIDERED
        )
        archive = f" in archive {self._archive!r}" if self._archive else ""
        error = MissError(
            f"no recorded completion of model {scope!r}{archive} for this {request.role} request "
            f"(seed {seed}, trial {trial})",
            expected=_explain(nearest.near[0], nearest.considered, more=nearest.more)
            if nearest.near
            else "a recorded completion of this model, there is none",
            next_step="choose a recorded model, or record this one with --candidate-mode record",
        )
        error.want = {"kind": "completion", "request": preimage}
        return error


class RecordingModel:
    """Asks another model and writes what it says to the overlay."""

    def __init__(self, inner: ChatModel, overlay: SnapshotWriter, *, keep_errors: bool = False) -> None:
        """Record what `inner` answers, under its own identity; with `keep_errors` failures too."""
        self._inner = inner
        self._overlay = overlay
        self._kept = REPEATABLE | {"error"} if keep_errors else REPEATABLE

    @property
    def identity(self) -> Json:
        """Identity of the inner model: a recording is never another model."""
        return self._inner.identity

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Return the inner model's answer, recorded under its own finish reason.

        A truncated or refused answer is replayed as truncated or refused, never as an answer. It is served
        with the key a later lookup finds it by, so that replaying gives the same.
        """
        completion = self._inner.complete(request, seed=seed, trial=trial)
        if completion.finish not in self._kept:
            return completion
        snapshot = make_completion_snapshot(self.identity, request, completion, seed=seed, trial=trial)
        self._overlay.put(snapshot)
        return read_completion(self._overlay.get(snapshot.key) or snapshot)


class ChainedModel:
    """Asks recorded completions first and another model of the same identity on a miss."""

    def __init__(self, recorded: RecordedModel, fallback: ChatModel) -> None:
        """Keep both. Raises InputError when they are not one model: answers of two must never mix."""
        if canonical_bytes(recorded.identity) != canonical_bytes(fallback.identity):
            raise InputError(
                f"recorded completions are of model {recorded.identity!r}",
                expected=f"the model that answers when they miss: {fallback.identity!r}",
            )
        self._recorded = recorded
        self._fallback = fallback

    @property
    def identity(self) -> Json:
        """Identity of both."""
        return self._fallback.identity

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Return the recorded completion, else the other model's. Corrupt records are errors, not misses."""
        found = self._recorded.find(request, seed=seed, trial=trial)
        return found or self._fallback.complete(request, seed=seed, trial=trial)


class RecordingModels:
    """Gives each episode a recorder around its own model."""

    def __init__(
        self, inner: ChatModelFactory, overlay: SnapshotWriter, *, keep_errors: bool = False
    ) -> None:
        """Record what the models of `inner` answer."""
        self._inner = inner
        self._overlay = overlay
        self._keep_errors = keep_errors

    @property
    def identity(self) -> Json:
        """Identity of the inner models."""
        return self._inner.identity

    def for_episode(self, task: str, *, trial: int) -> RecordingModel:
        """Return the recorder of one episode."""
        inner = self._inner.for_episode(task, trial=trial)
        return RecordingModel(inner, self._overlay, keep_errors=self._keep_errors)


class ChainedModels:
    """Gives each episode recorded completions backed by its own model."""

    def __init__(self, recorded: RecordedModel, fallback: ChatModelFactory) -> None:
        """Keep both; they must be one model."""
        self._recorded = recorded
        self._fallback = fallback

    @property
    def identity(self) -> Json:
        """Identity of both."""
        return self._fallback.identity

    def for_episode(self, task: str, *, trial: int) -> ChainedModel:
        """Return the chain of one episode."""
        return ChainedModel(self._recorded, self._fallback.for_episode(task, trial=trial))


def _explain(near: NearRequest, considered: int, *, more: bool) -> str:
    count = f"{considered}{' or more' if more else ''}"
    shown = [
        f"{difference.path} {_show(difference.asked, difference.missing == 'asked')} vs recorded "
        f"{_show(difference.recorded, difference.missing == 'recorded')}"
        for difference in near.differ[:3]
    ]
    if len(near.differ) > 3:
        shown.append(f"{len(near.differ) - 3} more fields differ")
    equal = f"{len(near.agree)} fields equal"
    return f"a recorded request, nearest of {count}: {'; '.join([equal, *shown])}"


def _show(value: Json, absent: bool) -> str:  # noqa: FBT001  one word of the sentence above
    if absent:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
