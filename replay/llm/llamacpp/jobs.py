"""What goes into the engine and what comes out: settings, one generation job, one generation.

Plain records without numpy or the binding, so that everyone may import them. A generation is a pure function
of (weights, numeric fingerprint, job); `reused_tokens` alone depends on what ran before and is a cost, never
a part of an answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from replay.core.errors import InputError
from replay.core.logprobs import MOST_LOGPROBS, RankedToken
from replay.core.types import Record, Sampling

__all__ = [
    "FINISH_LENGTH",
    "FINISH_OVERFLOW",
    "FINISH_STOP",
    "EngineSettings",
    "Generation",
    "GenerationJob",
    "Listener",
]

FINISH_STOP: Final = "stop"
"""The model ended its turn, or one of the stop strings came."""
FINISH_LENGTH: Final = "length"
"""The token budget of the job was used up: truncated, never a complete answer."""
FINISH_OVERFLOW: Final = "overflow"
"""The context is full (or the prompt alone is larger): truncated, and nothing was shifted out to go on."""

_LARGEST_CONTEXT: Final = 1 << 20
"""No known model is trained on more tokens; larger values are mistakes and would only fail to allocate."""
_MOST_SEQUENCES: Final = 64  # llama.cpp allows 256; each holds a whole context of memory
_MOST_THREADS: Final = 256


class EngineSettings(Record, frozen=True, kw_only=True):
    """How an engine is set up. Only `context_tokens` can change an answer (where it overflows)."""

    context_tokens: int = 4096
    """Prompt and generated tokens of one request together."""
    sequences: int = 4
    """Requests that run at the same time; each keeps a whole context of KV cache."""
    threads: int = 2
    batch_tokens: int = 128
    """Most tokens evaluated in one call of the library. What a call computes with then stays in the cache of
    the processor (512 are a tenth slower), and a prompt keeps the answers beside it waiting for no more."""


class GenerationJob(Record, frozen=True, kw_only=True):
    """One complete request to the engine. Everything in it can change the answer."""

    tokens: tuple[int, ...]
    """The prompt."""
    sampling: Sampling = Sampling()
    """Temperature, cuts and token budget; its stop strings and those of the job both stop."""
    seed: int = 1
    """Seed of our own random stream; it never reaches the library."""
    grammar: str = ""
    """GBNF text with the rule `root`, or empty for free text."""
    stop: tuple[str, ...] = ()
    """Texts that end the generation; the text is cut before the first of them."""
    logits_digest: bool = False
    """True: hash the logits of every generated position (costs a few percent)."""
    top_logprobs: int | None = None
    """Rank each token beside so many alternatives; None: rank none."""


Listener = Callable[[bytes, Sequence[RankedToken]], None]
"""Told after each token what of the text can no longer change, and the ranked tokens so far.

It is called by whichever thread leads the engine, must not wait, and ends its own job with a ReplayError.
When the engine starts a job again it hears the same from the beginning.
"""


class Generation(Record, frozen=True, kw_only=True):
    """What the engine generated for one job."""

    tokens: tuple[int, ...]
    """Every token chosen, the end-of-generation token and the tokens of a stop string included."""
    text: str
    """The tokens as text: special tokens left out, cut before a stop string."""
    finish: str
    """stop, length or overflow; only the first is a complete answer."""
    margins: tuple[float, ...]
    """Of each token the distance to another choice, in nats; see `sampling`."""
    prompt_tokens: int
    reused_tokens: int
    """Prompt tokens whose evaluation was found in the prefix cache. Depends on what ran before."""
    logits_digest: str = ""
    """`sha256:` over the float32 logits of each chosen token, in order, on request."""
    ranked: tuple[RankedToken, ...] = ()
    """The tokens of the text with their log-probabilities, on request."""


def check_settings(settings: EngineSettings) -> EngineSettings:
    """Return the settings if an engine can be built from them.

    Errors:  InputError naming the field and what it may be.
    """
    for name, value, least, most in (
        ("context_tokens", settings.context_tokens, 16, _LARGEST_CONTEXT),
        ("sequences", settings.sequences, 1, _MOST_SEQUENCES),
        ("threads", settings.threads, 1, _MOST_THREADS),
        ("batch_tokens", settings.batch_tokens, settings.sequences, _LARGEST_CONTEXT),
    ):
        if not least <= value <= most:
            raise InputError(f"engine setting {name} = {value}", expected=f"a number from {least} to {most}")
    return settings


def check_job(job: GenerationJob, *, vocabulary: int) -> GenerationJob:
    """Return the job if it can be run by a model with so many tokens.

    Errors:  InputError naming the field and what it may be.
    """
    if not job.tokens:
        raise InputError("a generation job without a prompt", expected="at least one token")
    for place, token in enumerate(job.tokens):
        if not 0 <= token < vocabulary:
            raise InputError(
                f"token {token} at position {place} of the prompt",
                expected=f"a token of this model, 0 to {vocabulary - 1}",
            )
    sampling = job.sampling
    if sampling.max_tokens < 1:
        raise InputError(f"max_tokens = {sampling.max_tokens}", expected="at least 1")
    if not (math.isfinite(sampling.temperature) and sampling.temperature >= 0):
        raise InputError(f"temperature = {sampling.temperature}", expected="0 (greedy) or a positive number")
    if not 0 < sampling.top_p <= 1:
        raise InputError(f"top_p = {sampling.top_p}", expected="above 0 and up to 1")
    if sampling.top_k < 0:
        raise InputError(f"top_k = {sampling.top_k}", expected="0 (no cut) or a positive number")
    if job.top_logprobs is not None and not 0 <= job.top_logprobs <= MOST_LOGPROBS:
        raise InputError(f"top_logprobs = {job.top_logprobs}", expected=f"0 to {MOST_LOGPROBS}")
    if "" in (*job.stop, *sampling.stop):
        raise InputError("an empty stop string", expected="texts of at least one character")
    return job
