"""A model with its contexts and lanes, put together for one schedule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path

from replay.llm.llamacpp.binding import ContextShape
from replay.llm.llamacpp.constraint import GrammarConstraint
from replay.llm.llamacpp.context import Context
from replay.llm.llamacpp.jobs import EngineSettings
from replay.llm.llamacpp.lanes import Lanes, divide
from replay.llm.llamacpp.model import Model
from replay.llm.llamacpp.sampling import Constraint
from replay.llm.llamacpp.schedule import Schedule, make_schedule
from replay.llm.llamacpp.scheduler import Scheduler
from replay.llm.llamacpp.threads import ThreadShare
from replay.llm.llamacpp.token_table import TokenTable

__all__ = ["Machine"]


class Machine:
    """Owns the memory of one engine."""

    def __init__(self, weights: Path, settings: EngineSettings, *, schedule: str) -> None:
        """Load and allocate; on an error nothing stays allocated."""
        plan = make_schedule(schedule, batch_tokens=settings.batch_tokens)
        self.model = Model(weights)
        self.contexts: list[Context] = []
        self._open = True
        share = ThreadShare(settings.threads)
        self._make_constraint = constraints_of(self.model)
        try:
            lanes = [self._make_lane(settings, plan, share, each) for each in _divide(settings, plan)]
        except BaseException:
            self._free()
            raise
        self.scheduler = Lanes(lanes, share)

    def _make_lane(
        self, settings: EngineSettings, plan: Schedule, share: ThreadShare, sequences: Sequence[int]
    ) -> Scheduler:
        """Make a scheduler with contexts of so many sequences."""
        contexts = []
        for count in sequences:
            shape = ContextShape(
                context_tokens=settings.context_tokens,
                sequences=count,
                threads=settings.threads,
                batch_tokens=settings.batch_tokens,
            )
            contexts.append(Context(self.model, shape, share=share if plan.shares_context else None))
            self.contexts.append(contexts[-1])
        return Scheduler(
            self.model,
            contexts,
            plan,
            context_tokens=settings.context_tokens,
            make_constraint=self._make_constraint,
        )

    def close(self) -> None:
        """Wait for running jobs, then free everything."""
        self.scheduler.close()
        if self._open:
            self._open = False
            self._free()

    def _free(self) -> None:
        for context in self.contexts:
            context.close()
        self.model.close()


def _divide(settings: EngineSettings, plan: Schedule) -> Sequence[Sequence[int]]:
    """Sequences of each context of each lane: where calls are bound to a request, all contexts take turns."""
    if plan.shares_context:
        return [[count] for count in divide(settings.sequences, settings.threads)]
    return [[1] * settings.sequences]


def constraints_of(model: Model) -> Callable[[str], Constraint]:
    """Make constraints over a model's vocabulary from grammar texts."""

    @functools.cache
    def read_table() -> TokenTable:
        return TokenTable(model.vocab, model.end_tokens)

    def make_constraint(grammar: str) -> Constraint:
        return GrammarConstraint(model.library, model.vocab, read_table(), grammar)

    return make_constraint
