"""The checks of the self-test, in this process."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from replay.core.types import Sampling
from replay.llm.llamacpp.binding import ContextShape
from replay.llm.llamacpp.context import Context, Span
from replay.llm.llamacpp.jobs import EngineSettings, GenerationJob
from replay.llm.llamacpp.machine import Machine
from replay.llm.llamacpp.model import Model
from replay.llm.llamacpp.sampling import choose_greedy
from replay.llm.llamacpp.schedule import CANONICAL, INVARIANT
from replay.llm.llamacpp.selftest import REFUSED, SelfTestCheck, SelfTestReport

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Row = npt.NDArray[np.float32]

__all__ = ["examine_model"]

PROMPT_TOKENS: Final = 262
"""A little over 256: the library pads its caches to that, and kernels that switch on rows do so below."""
LARGEST_SPLIT: Final = 17
"""Known kernels switch at 2, 4, 8 and 16 rows; larger calls are made by the checks with whole prompts."""
GENERATED_TOKENS: Final = 12
TOGETHER: Final = 8
CONTEXT_TOKENS: Final = 512
BATCH_TOKENS: Final = 512

_TEXT: Final = (
    "The tool get_weather takes a city and answers with temperature, wind and rain. A user asks about 17 "
    'cities at once; {"city": "Oslo", "unit": "C"} is the first call. Numbers: 0.5, 1024, -3. '
)
_OTHER_TEXT: Final = "Whatever was said before must not change a single bit of what is said now. "


def examine_model(weights: Path, settings: EngineSettings) -> SelfTestReport:
    """Run every check, decide the schedule.

    Errors:  ModelError when the file cannot be run.
    """
    with _opened(weights) as model:
        prompt = _tokens(model, _TEXT, PROMPT_TOKENS)
        other = _tokens(model, _OTHER_TEXT, PROMPT_TOKENS)
        probe = _Probe(model, settings.threads)
        expected, generated = probe.canary(prompt)
        checks = [
            _check_splits(probe, prompt),
            _check_continuation(probe, prompt, generated),
            _check_sequences(probe, prompt),
            _check_threads(probe, prompt, expected),
            _check_context_size(probe, prompt, expected),
            _check_prefix(probe, prompt, other),
        ]
        library = model.library
        facts = {
            "canary": f"sha256:{expected}",
            "binding_version": library.version(),
            "engine_version": library.engine_version(),
            "system_info": library.system_info(),
        }
    checks.append(_check_jobs(weights, settings, INVARIANT, prompt=prompt, other=other))
    schedule = INVARIANT
    if not all(check.ok for check in checks):
        checks.append(_check_jobs(weights, settings, CANONICAL, prompt=prompt, other=other))
        schedule = CANONICAL if checks[-1].ok else REFUSED
    return SelfTestReport(schedule=schedule, checks=tuple(checks), **facts)


# ---- the checks ----------------------------------------------------------------------------------------


def _check_splits(probe: _Probe, prompt: Sequence[int]) -> SelfTestCheck:
    """The last 1 to 17 tokens in a call of their own, and cut again before them."""
    with probe.context() as context:
        expected = _digest(_evaluate(context, prompt))
        found = {}
        head = len(prompt) - LARGEST_SPLIT
        for tail in range(1, LARGEST_SPLIT + 1):
            context.truncate(0, 0)
            cuts = [0, head, len(prompt) - tail, len(prompt)]
            for start, end in itertools.pairwise(cuts):
                if start < end:
                    row = _evaluate(context, prompt[start:end], position=start)
            found[f"tail {tail}"] = _digest(row)
    return _compare("splits", expected, found)


def _check_continuation(probe: _Probe, prompt: Sequence[int], generated: Sequence[int]) -> SelfTestCheck:
    """A prompt, tokens one by one, then the next turn at once, against all of it at once."""
    turn = prompt[1:14]
    whole = [*prompt, *generated, *turn]
    with probe.context() as context:
        expected = _digest(_evaluate(context, whole))
        context.truncate(0, 0)
        _evaluate(context, prompt)
        for place, token in enumerate(generated, len(prompt)):
            _evaluate(context, [token], position=place)
        found = _digest(_evaluate(context, turn, position=len(whole) - len(turn)))
    return _compare("decode, then continue", expected, {"token by token": found})


def _check_sequences(probe: _Probe, prompt: Sequence[int]) -> SelfTestCheck:
    """Eight sequences in one context, evaluated in mixed calls, against each alone."""
    prompts = [[*prompt[:1], *prompt[1 + 3 * place : 40 + 7 * place]] for place in range(TOGETHER)]
    alone = []
    with probe.context() as context:
        for own in prompts:
            context.truncate(0, 0)
            alone.append(_generate(context, own, GENERATED_TOKENS))
    together = _generate_together(probe, prompts)
    names = {f"sequence {place}": digest for place, digest in enumerate(together)}
    wrong = tuple(name for name, own in zip(names, alone, strict=True) if names[name] != own)
    return SelfTestCheck(name="1 and 8 sequences", ok=not wrong, expected=_short(alone[0]), differing=wrong)


def _check_threads(probe: _Probe, prompt: Sequence[int], expected: str) -> SelfTestCheck:
    """One thread and two, against the number asked for."""
    found = {}
    for threads in (1, 2):
        with probe.context(threads=threads) as context:
            found[f"{threads} threads"] = _generate(context, prompt, GENERATED_TOKENS)
    return _compare("threads", expected, found)


def _check_context_size(probe: _Probe, prompt: Sequence[int], expected: str) -> SelfTestCheck:
    """A larger context, and the library's own cut into small pieces."""
    with probe.context(context_tokens=3 * CONTEXT_TOKENS) as context:
        found = {"larger context": _generate(context, prompt, GENERATED_TOKENS)}
    with probe.context(batch_tokens=100) as context:
        _evaluate(context, prompt[:100])
        _evaluate(context, prompt[100:200], position=100)
        found["smaller calls"] = _generate(context, prompt[200:], GENERATED_TOKENS, position=200)
    return _compare("context size", expected, found)


def _check_prefix(probe: _Probe, prompt: Sequence[int], other: Sequence[int]) -> SelfTestCheck:
    """A prompt after an unrelated one, after one that begins alike, and on a copy of another sequence."""
    half = len(prompt) // 2
    found = {}
    with probe.context(sequences=2) as context:
        expected = _digest(_evaluate(context, prompt))
        context.truncate(0, 0)
        _evaluate(context, other)
        context.truncate(0, 0)
        found["after another"] = _digest(_evaluate(context, prompt))
        kept = context.truncate(0, half)
        _evaluate(context, other[:100], position=kept)
        kept = context.truncate(0, kept)
        found["after a shared beginning"] = _digest(_evaluate(context, prompt[kept:], position=kept))
        if probe.model.is_plain:
            context.copy(0, 1)
            kept = context.truncate(1, half)
            row = _evaluate(context, prompt[kept:], position=kept, sequence=1)
            found["on a copy"] = _digest(row)
    return _compare("warm prefix", expected, found)


def _check_jobs(
    weights: Path, settings: EngineSettings, schedule: str, *, prompt: Sequence[int], other: Sequence[int]
) -> SelfTestCheck:
    """Whole jobs as they will be run: warm, repeated, after their own next turn, against a fresh start."""
    shape = EngineSettings(
        context_tokens=CONTEXT_TOKENS,
        sequences=2,
        threads=settings.threads,
        batch_tokens=max(min(settings.batch_tokens, BATCH_TOKENS), 2),
    )
    job = _job(prompt[:150])
    with _running(weights, shape, schedule) as fresh:
        first = fresh.scheduler.generate(job)
    next_turn = _job([*job.tokens, *first.tokens, *prompt[150:170]])
    with _running(weights, shape, schedule) as fresh:
        expected_next = fresh.scheduler.generate(next_turn).logits_digest
    found, found_next = {}, {}
    with _running(weights, shape, schedule) as warm:
        generate = warm.scheduler.generate
        for name, before in (
            ("after another", _job(other[:130])),
            ("again", _job([*prompt[:80], *other[:9]])),
        ):
            generate(before)
            found[name] = generate(job).logits_digest
        found_next["next turn, warm"] = generate(next_turn).logits_digest
        found["after its next turn"] = generate(job).logits_digest
    wrong = tuple(name for name, digest in found.items() if digest != first.logits_digest)
    wrong += tuple(name for name, digest in found_next.items() if digest != expected_next)
    expected = first.logits_digest.removeprefix("sha256:")
    return SelfTestCheck(
        name=f"jobs, {schedule} schedule", ok=not wrong, expected=_short(expected), differing=wrong
    )


# ---- how they compute ----------------------------------------------------------------------------------


class _Probe:
    """Makes contexts of one model."""

    def __init__(self, model: Model, threads: int) -> None:
        self.model = model
        self._threads = threads

    @contextmanager
    def context(
        self,
        *,
        sequences: int = 1,
        context_tokens: int = CONTEXT_TOKENS,
        threads: int = 0,
        batch_tokens: int = BATCH_TOKENS,
    ) -> Iterator[Context]:
        """Open a context; without `threads`, with the number the engine is to use."""
        shape = ContextShape(
            context_tokens=context_tokens,
            sequences=sequences,
            threads=threads or self._threads,
            batch_tokens=batch_tokens,
        )
        context = Context(self.model, shape)
        try:
            yield context
        finally:
            context.close()

    def canary(self, prompt: Sequence[int]) -> tuple[str, list[int]]:
        """Digest of the logits of a prompt and its greedy continuation, and the tokens of that."""
        generated: list[int] = []
        with self.context() as context:
            return _generate(context, prompt, GENERATED_TOKENS, taken=generated), generated


def _generate(
    context: Context,
    tokens: Sequence[int],
    count: int,
    *,
    position: int = 0,
    taken: list[int] | None = None,
) -> str:
    """Evaluate tokens, then `count` greedy ones; the digest of all logits on the way."""
    state = hashlib.sha256()
    row = _evaluate(context, tokens, position=position)
    position += len(tokens)
    for _ in range(count):
        state.update(row.data)
        token = choose_greedy(row).token
        if taken is not None:
            taken.append(token)
        row = _evaluate(context, [token], position=position)
        position += 1
    state.update(row.data)
    return state.hexdigest()


def _generate_together(probe: _Probe, prompts: Sequence[Sequence[int]]) -> list[str]:
    """Generate from prompts in sequences of one context; calls mix prompts and single tokens."""
    states = [hashlib.sha256() for _ in prompts]
    pending = {place: list(prompt) for place, prompt in enumerate(prompts)}
    lengths = [0] * len(prompts)
    left = [GENERATED_TOKENS + 1] * len(prompts)
    with probe.context(sequences=len(prompts)) as context:
        while pending:
            # Uneven starts: the first sequences generate while the later ones still read their prompts.
            spans = [
                Span(place, lengths[place], tokens[: 30 + 9 * place], len(tokens) <= 30 + 9 * place)
                for place, tokens in sorted(pending.items())
            ]
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


def _evaluate(context: Context, tokens: Sequence[int], *, position: int = 0, sequence: int = 0) -> Row:
    """Evaluate tokens in one call; the logits after the last."""
    row: Row = context.decode([Span(sequence, position, tokens, wants_row=True)])[0]
    return row


@contextmanager
def _opened(weights: Path) -> Iterator[Model]:
    model = Model(weights)
    try:
        yield model
    finally:
        model.close()


@contextmanager
def _running(weights: Path, settings: EngineSettings, schedule: str) -> Iterator[Machine]:
    machine = Machine(weights, settings, schedule=schedule)
    try:
        yield machine
    finally:
        machine.close()


def _job(tokens: Sequence[int]) -> GenerationJob:
    return GenerationJob(
        tokens=tuple(tokens), sampling=Sampling(max_tokens=GENERATED_TOKENS), logits_digest=True
    )


def _tokens(model: Model, text: str, count: int) -> list[int]:
    """Repeat a text until it has enough tokens of this model."""
    tokens = list(model.tokenize(text * (1 + 4 * count // len(text)), special=False))
    while len(tokens) < count:
        tokens += model.tokenize(text, special=False, bos=False)
    return tokens[:count]


def _digest(row: Row) -> str:
    return hashlib.sha256(row.data).hexdigest()


def _short(digest: str) -> str:
    return digest[:16]


def _compare(name: str, expected: str, found: Mapping[str, str]) -> SelfTestCheck:
    wrong = tuple(way for way, digest in found.items() if digest != expected)
    return SelfTestCheck(name=name, ok=not wrong, expected=_short(expected), differing=wrong)
