"""How prompts are cut into calls, and what of an earlier evaluation may be used again.

A schedule decides nothing about results when the model is *batch-invariant* (self-test): then any cut gives
the same bits, and the invariant schedule evaluates as much as fits and uses every token again. The canonical
schedule is for everything else: each token's bits depend on the call it was evaluated in, so that call is
made a function of the request alone. Prompts are cut at multiples of a chunk from position 0, generated
tokens are evaluated one by one, and only whole chunks that were evaluated as such are used again, one
sequence to a context.
"""

from __future__ import annotations

from typing import Final, Protocol

from replay.core.errors import InputError

__all__ = [
    "CANONICAL",
    "CHUNK_TOKENS",
    "INVARIANT",
    "CanonicalSchedule",
    "InvariantSchedule",
    "Schedule",
    "make_schedule",
]

INVARIANT: Final = "invariant"
CANONICAL: Final = "canonical"

CHUNK_TOKENS: Final = 64
"""Of the canonical schedule: small enough that little of a shared prefix is lost, large enough to be fast."""


class Schedule(Protocol):
    """Cuts and reuse."""

    name: str
    shares_context: bool
    """True: many sequences in one context, decoded together and copied from each other."""

    def reusable(self, common: int, *, whole: int, prompt: int) -> int:
        """How many tokens to keep of a slot that shares `common` tokens with a prompt of `prompt` tokens.

        `whole` of the slot's tokens were evaluated as whole chunks. At least one token is left to evaluate,
        for its logits.
        """
        ...

    def next_run(self, position: int, *, pending: int, room: int) -> int:
        """How many of the pending tokens to evaluate in a call with so much room; 0 to wait."""
        ...

    def whole_after(self, position: int, *, count: int, whole: int) -> int:
        """How many tokens stand in whole chunks after a run of `count` prompt tokens from `position`."""
        ...


class InvariantSchedule:
    """Any cut is as good as any other: evaluate what fits, use everything again."""

    name = INVARIANT
    shares_context = True

    def reusable(self, common: int, *, whole: int, prompt: int) -> int:  # noqa: ARG002
        """Keep all that is common."""
        return min(common, prompt - 1)

    def next_run(self, position: int, *, pending: int, room: int) -> int:  # noqa: ARG002
        """Take what fits."""
        return min(pending, room)

    def whole_after(self, position: int, *, count: int, whole: int) -> int:  # noqa: ARG002
        """Count every token: any run is as good as a whole chunk."""
        return position + count


class CanonicalSchedule:
    """The call that evaluates a token is a function of its request alone."""

    name = CANONICAL
    shares_context = False

    def __init__(self, chunk_tokens: int = CHUNK_TOKENS) -> None:
        self._chunk = chunk_tokens

    def reusable(self, common: int, *, whole: int, prompt: int) -> int:
        """Keep whole chunks only; the last chunk of a prompt is always evaluated."""
        return min(common, whole, prompt - 1) // self._chunk * self._chunk

    def next_run(self, position: int, *, pending: int, room: int) -> int:
        """Go to the next chunk border or to the end of what is pending, never less."""
        run = min(self._chunk - position % self._chunk, pending)
        return run if run <= room else 0

    def whole_after(self, position: int, *, count: int, whole: int) -> int:
        """Grow when the run was a whole chunk that continues whole chunks."""
        return position + count if position == whole and count == self._chunk else whole


def make_schedule(name: str, *, batch_tokens: int) -> Schedule:
    """Make the schedule of that name.

    Errors:  InputError naming the two there are.
    """
    if name == INVARIANT:
        return InvariantSchedule()
    if name == CANONICAL:
        return CanonicalSchedule(min(CHUNK_TOKENS, batch_tokens))
    raise InputError(f"schedule {name!r}", expected=f"{INVARIANT!r} or {CANONICAL!r}")
