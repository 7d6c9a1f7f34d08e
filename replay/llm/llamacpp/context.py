"""A context: several sequences with a KV cache each, evaluated together in batches of mixed runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from replay.core.determinism import Stopwatch
from replay.core.errors import ModelError
from replay.llm.llamacpp.binding import ContextShape
from replay.llm.llamacpp.model import Model
from replay.llm.llamacpp.threads import ThreadGovernor, ThreadShare

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Context", "Span"]


class Span(NamedTuple):
    """A run of tokens of one sequence, to be evaluated in one call."""

    sequence: int
    position: int
    tokens: Sequence[int]
    wants_row: bool
    """True: the logits after the last token are wanted."""


class Context:
    """Sequences of one model. Not thread-safe; the scheduler's leading thread is its only user."""

    def __init__(self, model: Model, shape: ContextShape, *, share: ThreadShare | None = None) -> None:
        """Allocate the KV caches.

        share: the threads are this context's share, and fewer while others use the processors; without it
        their number is fixed.

        Errors:  ModelError when memory is missing or the model gives embeddings instead of text.
        """
        self._model = model
        self._library = model.library
        self._columns = model.vocabulary_size
        self._handle = self._library.new_context(model.handle, shape)
        self._open = True
        self.sequences = shape.sequences
        self.batch_tokens = shape.batch_tokens
        if not self._library.generates_text(self._handle):
            self.close()
            raise ModelError(
                f"{model.name} is an embedding model", expected="a model that generates text token by token"
            )
        held = self._library.context_tokens(self._handle)
        if held < shape.context_tokens:
            self.close()
            raise ModelError(f"a sequence holds {held} tokens", expected=f"{shape.context_tokens}")
        self._batch = self._library.new_batch(shape.batch_tokens)
        self._threads = shape.threads
        self._share = share
        self._governor = ThreadGovernor(shape.threads)

    def decode(self, spans: Sequence[Span]) -> npt.NDArray[np.float32]:
        """Evaluate spans of different sequences in one call.

        The library joins only sequences with consecutive numbers into one multiplication, so spans go in
        the order of their sequences.

        Shape:   one row for each span that wants one, in the order of the sequences; a view of the
                 library's memory until the next call.
        Errors:  ModelError when the library fails; what the sequences hold is then unknown.
        """
        batch = self._batch
        batch.clear()
        for span in sorted(spans, key=_sequence_of):
            batch.add(span.tokens, position=span.position, sequence=span.sequence, wants_row=span.wants_row)
        if self._share is None:
            return self._library.decode(self._handle, batch, columns=self._columns)
        self._take_threads(min(self._governor.threads, self._share.each))
        watch = Stopwatch()
        rows = self._library.decode(self._handle, batch, columns=self._columns)
        if self._threads == self._governor.threads:  # with fewer, there is nothing to learn of so many
            self._governor.note(watch.elapsed_s(), watch.cpu_s())
        return rows

    def _take_threads(self, threads: int) -> None:
        if threads != self._threads:
            self._threads = threads
            self._library.set_threads(self._handle, threads)

    def truncate(self, sequence: int, keep: int) -> int:
        """Forget a sequence from position `keep` on; returns how much is left.

        A recurrent state cannot go back, so that nothing is left of it.
        """
        if self._library.remove_tail(self._handle, sequence, keep):
            return keep
        if keep and self._library.remove_tail(self._handle, sequence, 0):
            return 0
        raise ModelError(f"{self._model.name}: a sequence cannot be cleared")

    def copy(self, source: int, target: int) -> None:
        """Make one sequence a byte copy of another; for plain attention memory only."""
        self._library.copy_sequence(self._handle, source, target)

    def close(self) -> None:
        """Free the memory."""
        if self._open:
            self._open = False
            self._library.free_context(self._handle)


def _sequence_of(span: Span) -> int:
    return span.sequence
