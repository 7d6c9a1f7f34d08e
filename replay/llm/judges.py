"""Verdicts from the store, a chain of judges, and a wrapper that records what another judge says.

A verdict is keyed by judge, rubric, evidence and run index, so an old judge never answers for a new one.
"""

from __future__ import annotations

from collections.abc import Sequence

from replay.core.keys import verdict_key
from replay.core.protocols import Judge
from replay.core.types import Json, JudgeRequest, JudgeVerdict
from replay.store.answers import make_verdict_snapshot, read_verdict
from replay.store.pending import SnapshotReader, SnapshotWriter

__all__ = ["JudgeChain", "RecordedJudge", "RecordingJudge"]


class RecordedJudge:
    """Answers from recorded verdicts of one judge."""

    def __init__(self, store: SnapshotReader, identity: Json) -> None:
        """Answer as the judge of this identity."""
        self._store = store
        self._identity = identity

    @property
    def identity(self) -> Json:
        """Identity of the judge that was recorded."""
        return self._identity

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Return the recorded verdict on exactly this question, or None.

        Errors:  DamagedError when the recorded bytes cannot be read: never None, never a made-up verdict.
        """
        snapshot = self._store.get(verdict_key(self._identity, request))
        return None if snapshot is None else read_verdict(snapshot)


class RecordingJudge:
    """Asks another judge and writes its verdicts to the overlay."""

    def __init__(self, inner: Judge, overlay: SnapshotWriter, *, keep_errors: bool = False) -> None:
        """Record what `inner` says, under its own identity.

        keep_errors: also record what could not be read, for a judge that would say the same again.
        """
        self._inner = inner
        self._overlay = overlay
        self._keep_errors = keep_errors

    @property
    def identity(self) -> Json:
        """Identity of the inner judge."""
        return self._inner.identity

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Return the inner judge's verdict, recorded unless it is an error.

        A verdict that could not be read from the judge's text (label `error`) is a typed outcome; unless
        asked to keep it, it is not written, so that a later run may ask again.
        """
        verdict = self._inner.decide(request)
        if verdict is None or (verdict.label == "error" and not self._keep_errors):
            return verdict
        snapshot = make_verdict_snapshot(self.identity, request, verdict)
        self._overlay.put(snapshot)
        return read_verdict(self._overlay.get(snapshot.key) or snapshot)


class JudgeChain:
    """Asks recorded judges first, then judges that can make a verdict."""

    def __init__(self, recorded: Sequence[Judge], makers: Sequence[Judge] = ()) -> None:
        """Keep both lists in the order they are asked. Any Judge will do in either."""
        self._recorded = tuple(recorded)
        self._makers = tuple(makers)

    @property
    def identity(self) -> Json:
        """Identities of all judges, in order."""
        return [judge.identity for judge in (*self._recorded, *self._makers)]

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Return the first verdict; a question that may only be looked up never reaches a maker."""
        asked = self._recorded if request.cached_only else (*self._recorded, *self._makers)
        for judge in asked:
            verdict = judge.decide(request)
            if verdict is not None:
                return verdict
        return None
