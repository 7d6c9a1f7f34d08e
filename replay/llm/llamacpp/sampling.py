"""From a row of logits to a token: greedy, or a seeded draw (`drawing`), under a grammar or free.

Greedy (temperature 0) takes the largest logit; ties go to the lowest token id. A draw takes the next
`fraction()` of the job's own `Stream`. Nothing is asked of the library.

With a grammar, the token chosen so is offered to it first; only when it is refused is the vocabulary masked,
and chosen from once more (a seeded draw takes a new fraction): without cuts that is exactly the distribution
over the allowed tokens.

The margin of a choice is how far, in nats, the logits are from another choice: for greedy the difference of
the two largest logits. `NO_RIVAL` stands for a choice without alternative.
"""

from __future__ import annotations

import math
from typing import Protocol

from replay.core.determinism import Stream
from replay.core.errors import GrammarError
from replay.core.types import Sampling
from replay.llm.llamacpp.drawing import NO_RIVAL, Choice, Drawer, Row, check_finite

__all__ = ["NO_RIVAL", "Choice", "Constraint", "Row", "Sampler", "choose_greedy"]


class Constraint(Protocol):
    """What may be said next. It sees tokens one by one; the end of generation is a token like any other."""

    def allows(self, token: int) -> bool:
        """Tell whether a token may come next."""
        ...

    def mask(self, logits: Row) -> None:
        """Set the logit of every token that may not come next to minus infinity, in place."""
        ...

    def accept(self, token: int) -> None:
        """Move on by an allowed token."""
        ...

    def close(self) -> None:
        """Give back what it holds; it is not used after that."""
        ...


class Sampler:
    """Makes the choices of one job; its random stream belongs to the job alone."""

    def __init__(self, sampling: Sampling, *, seed: int) -> None:
        self._drawer = Drawer(sampling)
        self._greedy = sampling.temperature == 0
        self._stream = Stream("sampling", seed)

    def choose(self, row: Row, constraint: Constraint | None = None) -> Choice:
        """Choose the next token; `row` is left as it was, and the constraint is moved on.

        Errors:  ModelError when the logits are not numbers; GrammarError when nothing is allowed.
        """
        choice = self._pick(row)
        if constraint is None:
            return choice
        if not constraint.allows(choice.token):
            masked = row.copy()
            constraint.mask(masked)
            if masked.max() == -math.inf:
                raise GrammarError("the grammar allows no token here", expected="a grammar that can end")
            choice = self._pick(masked)
        constraint.accept(choice.token)
        return choice

    def _pick(self, row: Row) -> Choice:
        if self._greedy:
            return choose_greedy(row)
        return self._drawer.draw(row, self._stream.fraction())


def choose_greedy(row: Row) -> Choice:
    """Choose the largest logit, of equal ones that with the lowest id.

    Errors:  ModelError when the logits are not numbers.
    """
    token = int(row.argmax())  # the first of the largest; of a row with NaN the first NaN
    kept = row[token]
    best = check_finite(kept)
    row[token] = -math.inf
    second = float(row.max()) if len(row) > 1 else -math.inf
    row[token] = kept
    return Choice(token, min(best - second, NO_RIVAL))
