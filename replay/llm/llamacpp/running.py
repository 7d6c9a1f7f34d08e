"""One job while it runs: what is still to evaluate, what has been chosen, and why it ends."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from replay.core.errors import InternalError, ReplayError
from replay.core.logprobs import RankedToken
from replay.llm.llamacpp.context import Span
from replay.llm.llamacpp.jobs import (
    FINISH_LENGTH,
    FINISH_OVERFLOW,
    FINISH_STOP,
    Generation,
    GenerationJob,
    Listener,
)
from replay.llm.llamacpp.model import Model
from replay.llm.llamacpp.output import Output
from replay.llm.llamacpp.prefix import Slot
from replay.llm.llamacpp.ranking import find_largest, log_probabilities
from replay.llm.llamacpp.sampling import Constraint, Sampler
from replay.llm.llamacpp.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["RunningJob"]


class RunningJob:
    """The state of one job. The thread that leads is its only user; `wake` is for the thread that waits."""

    def __init__(
        self,
        job: GenerationJob,
        model: Model,
        *,
        context_tokens: int,
        make_constraint: Callable[[str], Constraint],
        listener: Listener | None = None,
    ) -> None:
        """Compile the job's grammar and get ready.

        listener: hears what the text is so far, after each token but the last.
        Errors:  GrammarError when the grammar is refused.
        """
        self.prompt = list(job.tokens)
        self.wake = threading.Event()
        self.is_cancelled = False
        self._job = job
        self._model = model
        self._context_tokens = context_tokens
        self._make_constraint = make_constraint
        self._listener = listener
        self._error: ReplayError | None = None
        self._constraint: Constraint | None = None
        self._begin()
        self._constraint = make_constraint(job.grammar) if job.grammar else None

    def _begin(self) -> None:
        job = self._job
        self.pending = list(self.prompt)
        self._slot: Slot | None = None
        self._reused = 0
        self._tokens: list[int] = []
        self._margins: list[float] = []
        self._ranked: list[RankedToken] = []
        self._output = Output((*job.stop, *job.sampling.stop))
        self._sampler = Sampler(job.sampling, seed=job.seed)
        self._hash = hashlib.sha256() if job.logits_digest else None
        self._finish = FINISH_OVERFLOW if len(self.prompt) >= self._context_tokens else ""

    @property
    def slot(self) -> Slot:
        """The sequence it was given."""
        if self._slot is None:
            raise InternalError("a job that runs without a sequence")
        return self._slot

    @property
    def is_done(self) -> bool:
        """True when there is a result, an error, or nobody who waits for either."""
        return bool(self._finish) or self._error is not None or self.is_cancelled

    @property
    def is_prefilling(self) -> bool:
        """True while a part of the prompt is not evaluated."""
        return self._slot is not None and len(self._slot.tokens) < len(self.prompt)

    def start(self, slot: Slot, *, kept: int) -> None:
        """Go on in a slot that holds the first `kept` tokens of the prompt."""
        self._slot = slot
        self._reused = kept
        self.pending = self.prompt[kept:]

    def reset(self) -> None:
        """Go back to the state before `start`; the same answer comes out in the end."""
        self._begin()
        self._free_constraint()
        try:
            self._constraint = self._make_constraint(self._job.grammar) if self._job.grammar else None
        except ReplayError as error:
            self._error = error

    def next_span(self, count: int) -> Span:
        """Describe the next `count` pending tokens as a span; the last of them wants its logits."""
        slot = self.slot
        run = self.pending if count == len(self.pending) else self.pending[:count]
        return Span(slot.sequence, len(slot.tokens), run, wants_row=count == len(self.pending))

    def note_evaluated(self, span: Span, schedule: Schedule) -> None:
        """Write down that a span has been evaluated."""
        slot = self.slot
        count = len(span.tokens)
        if span.position < len(self.prompt):
            slot.whole = schedule.whole_after(span.position, count=count, whole=slot.whole)
        slot.tokens.extend(span.tokens)
        self.pending = self.pending[count:]

    def choose(self, row: npt.NDArray[np.float32]) -> None:
        """Choose the next token and decide whether it is the last. An error ends this job alone."""
        if self._hash is not None:
            self._hash.update(row.data)
        try:
            token, margin = self._sampler.choose(row, self._constraint)
            self._tokens.append(token)
            self._margins.append(margin)
            if self._job.top_logprobs is not None and token not in self._model.end_tokens:
                self._ranked.append(self._rank(row, token, self._job.top_logprobs))
            self._finish = self._ending(token)
            if self._listener is not None and not self._finish:
                self._listener(self._output.settled(), self._ranked)
        except ReplayError as error:
            self._error = error
            self._free_constraint()
            return
        if self._finish:
            self._free_constraint()
        else:
            self.pending = [token]

    def _rank(self, row: npt.NDArray[np.float32], token: int, count: int) -> RankedToken:
        others = find_largest(row, count)
        own, *rest = log_probabilities(row, (token, *others))
        spelled = (self._model.vocab.piece(other, special=True) for other in others)
        return RankedToken(
            piece=self._model.piece(token), logprob=own, top=tuple(zip(spelled, rest, strict=True))
        )

    def _ranked_of_text(self) -> Iterator[RankedToken]:
        """Yield the tokens that begin before the text was cut."""
        place, end = 0, len(self._output.kept())
        for ranked in self._ranked:
            if place < end:
                yield ranked
            place += len(ranked.piece)

    def _ending(self, token: int) -> str:
        if token in self._model.end_tokens or self._output.add(self._model.piece(token)):
            return FINISH_STOP
        if len(self._tokens) >= self._job.sampling.max_tokens:
            return FINISH_LENGTH
        full = len(self.prompt) + len(self._tokens) >= self._context_tokens
        return FINISH_OVERFLOW if full else ""

    def _free_constraint(self) -> None:
        if self._constraint is not None:
            self._constraint.close()
            self._constraint = None

    def stop(self, error: ReplayError) -> None:
        """End with an error unless there is a result already. May be called from any thread."""
        if not self.is_done:
            self._error = error

    def result(self) -> Generation:
        """Return the generation, or raise what ended the job."""
        self._free_constraint()
        if self._error is not None:
            raise self._error
        return Generation(
            tokens=tuple(self._tokens),
            text=self._output.text(),
            finish=self._finish,
            margins=tuple(self._margins),
            prompt_tokens=len(self.prompt),
            reused_tokens=self._reused,
            logits_digest="" if self._hash is None else f"sha256:{self._hash.hexdigest()}",
            ranked=tuple(self._ranked_of_text()),
        )
