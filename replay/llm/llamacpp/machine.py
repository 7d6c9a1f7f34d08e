"""A model with its contexts and scheduler, put together for one schedule."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from replay.llm.llamacpp.binding import ContextShape
from replay.llm.llamacpp.constraint import GrammarConstraint
from replay.llm.llamacpp.context import Context
from replay.llm.llamacpp.jobs import EngineSettings
from replay.llm.llamacpp.model import Model
from replay.llm.llamacpp.sampling import Constraint
from replay.llm.llamacpp.schedule import make_schedule
from replay.llm.llamacpp.scheduler import Scheduler
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
        together, apart = (settings.sequences, 1) if plan.shares_context else (1, settings.sequences)
        shape = ContextShape(
            context_tokens=settings.context_tokens,
            sequences=together,
            threads=settings.threads,
            batch_tokens=settings.batch_tokens,
        )
        try:
            for _ in range(apart):
                self.contexts.append(Context(self.model, shape, fixed_threads=not plan.shares_context))
        except BaseException:
            self._free()
            raise
        self.scheduler = Scheduler(
            self.model,
            self.contexts,
            plan,
            context_tokens=settings.context_tokens,
            make_constraint=constraints_of(self.model),
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


def constraints_of(model: Model) -> Callable[[str], Constraint]:
    """Make constraints over a model's vocabulary from grammar texts."""

    @functools.cache
    def read_table() -> TokenTable:
        return TokenTable(model.vocab, model.end_tokens)

    def make_constraint(grammar: str) -> Constraint:
        return GrammarConstraint(model.library, model.vocab, read_table(), grammar)

    return make_constraint
