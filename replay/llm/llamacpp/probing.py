"""How the self-test computes: contexts of one model, logits after tokens, greedy continuations, digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from replay.llm.llamacpp.binding import ContextShape
from replay.llm.llamacpp.context import Context, Span
from replay.llm.llamacpp.model import Model
from replay.llm.llamacpp.sampling import choose_greedy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Row = npt.NDArray[np.float32]

__all__ = ["Canary", "evaluate", "generate", "generate_together", "hash_row", "opened", "rewind"]

CONTEXT_TOKENS: Final = 512
BATCH_TOKENS: Final = 512


class Canary:
    """A prompt evaluated at once and continued, from a fresh start: what everything is compared with."""

    def __init__(self, context: Context, prompt: Sequence[int], count: int) -> None:
        """Compute it in an empty sequence, which then holds the prompt and all generated tokens."""
        self.prompt = tuple(prompt)
        self.generated: list[int] = []
        row = evaluate(context, prompt)
        state = hashlib.sha256(row.data)
        self.rows = [hash_row(row)]
        """Digests of the logits after the prompt and after each generated token."""
        for position in range(len(prompt), len(prompt) + count):
            self.generated.append(choose_greedy(row).token)
            row = evaluate(context, self.generated[-1:], position=position)
            state.update(row.data)
            self.rows.append(hash_row(row))
        self.digest = state.hexdigest()
        """Of all these logits."""


@contextmanager
def opened(
    model: Model,
    *,
    sequences: int = 1,
    threads: int = 1,
    context_tokens: int = CONTEXT_TOKENS,
    batch_tokens: int = BATCH_TOKENS,
) -> Iterator[Context]:
    """Open a context, on one thread: threads of the library spin while one of them waits for a processor."""
    shape = ContextShape(
        context_tokens=context_tokens, sequences=sequences, threads=threads, batch_tokens=batch_tokens
    )
    context = Context(model, shape)
    try:
        yield context
    finally:
        context.close()


def evaluate(context: Context, tokens: Sequence[int], *, position: int = 0, sequence: int = 0) -> Row:
    """Evaluate tokens in one call; the logits after the last."""
    row: Row = context.decode([Span(sequence, position, tokens, wants_row=True)])[0]
    return row


def rewind(context: Context, tokens: Sequence[int], keep: int) -> None:
    """Make a sequence that began with `tokens` hold the first `keep` of them.

    A state that cannot go back is computed anew.
    """
    held = context.truncate(0, keep)
    if held < keep:
        evaluate(context, tokens[held:keep], position=held)


def generate(context: Context, tokens: Sequence[int], count: int) -> str:
    """Evaluate tokens in an emptied sequence, then `count` greedy ones; the digest of all logits."""
    context.truncate(0, 0)
    return Canary(context, tokens, count).digest


def generate_together(model: Model, prompts: Sequence[Sequence[int]], count: int) -> list[str]:
    """Generate from prompts in sequences of one context; calls mix pieces of prompts and single tokens.

    Shape:   for each prompt what `generate` gives.
    """
    states = [hashlib.sha256() for _ in prompts]
    pending = {place: list(prompt) for place, prompt in enumerate(prompts)}
    lengths = [0] * len(prompts)
    left = [count + 1] * len(prompts)
    with opened(model, sequences=len(prompts)) as context:
        while pending:
            spans = [_next_span(place, lengths[place], tokens) for place, tokens in sorted(pending.items())]
            rows = iter(context.decode(spans))
            for span in spans:
                place = span.sequence
                lengths[place] += len(span.tokens)
                pending[place] = pending[place][len(span.tokens) :]
                if not span.wants_row:
                    continue
                row = next(rows)
                states[place].update(row.data)
                pending[place] = [choose_greedy(row).token]
                left[place] -= 1
                if left[place] == 0:
                    del pending[place]
    return [state.hexdigest() for state in states]


def _next_span(place: int, position: int, tokens: Sequence[int]) -> Span:
    """Cut pieces of another size in each sequence, so that some generate while others read their prompts."""
    most = 5 + 9 * place
    return Span(place, position, tokens[:most], len(tokens) <= most)


def hash_row(row: Row) -> str:
    """Hash the bytes of logits."""
    return hashlib.sha256(row.data).hexdigest()
