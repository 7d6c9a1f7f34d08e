"""Writing down what a live upstream or a simulator answered.

A recorded answer is served exactly as a later lookup will serve it, so a run does not change when the same
answer comes from the overlay next time. One writer a key: the second of two equal calls in flight waits for
the first and gets its answer.
"""

from __future__ import annotations

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import CanonicalError
from replay.core.keys import call_key
from replay.core.protocols import ToolSource
from replay.core.types import CallRequest, RepeatPolicy, SnapshotStatus, ToolResult
from replay.store.answers import ApiAnswer, make_api_snapshot, read_result
from replay.store.pending import SnapshotWriter
from replay.tools.flights import SingleFlight
from replay.tools.keys import KeyRecipe
from replay.tools.resolver import CANONICAL, repeat_policy

__all__ = ["RecordingSource", "answer_of"]


class RecordingSource:
    """Asks another source and writes what it answers to the overlay. Safe to share between threads."""

    def __init__(
        self,
        inner: ToolSource,
        overlay: SnapshotWriter,
        recipe: KeyRecipe,
        *,
        keep_errors: bool = False,
        repeats: RepeatPolicy | None = None,
    ) -> None:
        """Record what `inner` answers; requests go through the recipe before they are written.

        keep_errors: also record error results; they are then replayed as errors.
        repeats: what equal calls get while recording, instead of what their tools say.
        """
        self.name = inner.name
        self._inner = inner
        self._overlay = overlay
        self._recipe = recipe
        self._keep_errors = keep_errors
        self._repeats = repeats
        self._flights = SingleFlight()

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Answer from the inner source and record it under the next free sequence of its key.

        An error result is passed on without being written unless that is asked for: a throttled or broken
        upstream must not be replayed as an answer. What another thread has recorded meanwhile is served
        instead of asking again.
        """
        keyed = self._recipe.apply(request)
        key = call_key(keyed)
        with self._flights.holding(key):
            recorded = self._overlay.count(key)
            repeats = self._repeats or repeat_policy(request)
            if recorded and (occurrence < recorded or repeats is RepeatPolicy.STICKY_LAST):
                held = self._overlay.get(key, min(occurrence, recorded - 1))
                if held is not None:
                    return read_result(held, lookup=CANONICAL)
            result = self._inner.answer(request, occurrence=occurrence)
            if result is None or (result.is_error and not self._keep_errors):
                return result
            snapshot = make_api_snapshot(keyed, answer_of(result), sequence=recorded)
            self._overlay.put(snapshot)
            return read_result(snapshot, lookup=CANONICAL)


def answer_of(result: ToolResult) -> ApiAnswer:
    """Turn a source's result into what is written down: its own text where that says what its body says."""
    media, text = "json", result.content
    if result.body is None or result.body == result.content:
        media = "text"
    elif not _is_same_json(result):
        text = canonical_bytes(result.body).decode()
    status = SnapshotStatus.OK if text else SnapshotStatus.EMPTY
    return ApiAnswer(
        body=text,
        media=media,
        status=SnapshotStatus.ERROR if result.is_error else status,
        provenance=result.provenance,
        origin=result.origin,
    )


def _is_same_json(result: ToolResult) -> bool:
    try:
        return bool(parse_json(result.content) == result.body)
    except CanonicalError:
        return False
