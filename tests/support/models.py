"""Chat models for tests of roles: they say what they are told to and remember what they were asked."""

from __future__ import annotations

from collections.abc import Callable

from replay.core.errors import ReplayError
from replay.core.types import ChatRequest, Completion, Json, Provenance

__all__ = ["SayingModel", "make_identity", "said"]


def make_identity(name: str = "toy", **changes: Json) -> dict[str, Json]:
    """Build the identity of a local model."""
    fields = {"model": name, "tensors": "sha256:aa", "fingerprint": "sha256:bb", "dialect": "json-calls"}
    return {**fields, **changes}


def said(text: str | None, **changes: Json) -> Completion:
    """Build what a local model generates."""
    fields = {"content": text, "provenance": Provenance.GENERATED, "completion_tokens": 3, **changes}
    return Completion(**fields)


class SayingModel:
    """Says one text, or what a function makes of each request."""

    def __init__(
        self,
        says: str | Completion | ReplayError | Callable[[ChatRequest], Completion],
        *,
        identity: Json = None,
    ) -> None:
        self.asked: list[ChatRequest] = []
        self.seeds: list[tuple[int, int]] = []
        self._says = says
        self._identity = identity or make_identity()

    @property
    def identity(self) -> Json:
        """A local model's identity."""
        return self._identity

    def for_episode(self, task: str, *, trial: int) -> SayingModel:
        """No state."""
        return self

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Say it, or raise it."""
        self.asked.append(request)
        self.seeds.append((seed, trial))
        if isinstance(self._says, ReplayError):
            raise self._says
        if isinstance(self._says, Completion):
            return self._says
        return said(self._says) if isinstance(self._says, str) else self._says(request)
