"""The checks of the self-test, in this process.

They share what they compare with, and evaluate no more than shows a difference: some 3,300 tokens a model.
All run on one thread but the one that is about threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from replay.core.types import Sampling
from replay.llm.llamacpp.context import Context
from replay.llm.llamacpp.jobs import EngineSettings, GenerationJob
from replay.llm.llamacpp.machine import Machine
from replay.llm.llamacpp.model import Model
from replay.llm.llamacpp.probing import (
    BATCH_TOKENS,
    CONTEXT_TOKENS,
    Canary,
    evaluate,
    generate,
    generate_together,
    hash_row,
    opened,
    rewind,
)
from replay.llm.llamacpp.schedule import CANONICAL, INVARIANT
from replay.llm.llamacpp.selftest import REFUSED, SelfTestCheck, SelfTestReport

__all__ = ["examine_model"]

PROMPT_TOKENS: Final = 262
"""A little over 256: the library pads its caches to that, and kernels that switch on rows do so below."""
GENERATED_TOKENS: Final = 12
LARGEST_SPLIT: Final = 17
"""Known kernels switch at 2, 4, 8 and 16 rows; larger calls are made by the checks with whole prompts."""
AFTER_SPLIT: Final = 2
TURN_TOKENS: Final = 13
THREAD_TOKENS: Final = 3
SHORT_PROMPTS: Final = tuple(range(9, 37, 4))
"""Lengths of the seven prompts beside the long one, which makes their rows of cells longer than they need."""
AFTER_SHARED: Final = 40
"""Tokens after a shared beginning; the beginning itself is what must not be evaluated again."""
JOB_TOKENS: Final = 140
"""Two whole chunks of the canonical schedule and a part of one."""
JOB_GENERATED: Final = 8

_TEXT: Final = (
    "The tool get_weather takes a city and answers with temperature, wind and rain. A user asks about 17 "
    'cities at once; {"city": "Oslo", "unit": "C"} is the first call. Numbers: 0.5, 1024, -3. '
)
_OTHER_TEXT: Final = "Whatever was said before must not change a single bit of what is said now. "


def examine_model(weights: Path, settings: EngineSettings) -> SelfTestReport:
    """Run every check, decide the schedule.

    Errors:  ModelError when the file cannot be run.
    """
    with _loaded(weights) as model:
        prompt = _tokens(model, _TEXT, PROMPT_TOKENS)
        other = _tokens(model, _OTHER_TEXT, PROMPT_TOKENS)
        with opened(model) as context:
            canary = Canary(context, prompt, GENERATED_TOKENS)
            checks = [
                _check_continuation(context, canary),  # goes on where the canary ended
                _check_splits(context, canary),
                _check_sequences(context, model, canary),
            ]
        checks += [
            _check_threads(model, canary),
            _check_context_size(model, canary),
            _check_prefix(model, canary, other),
        ]
        library = model.library
        facts = {
            "canary": f"sha256:{canary.digest}",
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


def _check_continuation(context: Context, canary: Canary) -> SelfTestCheck:
    """A prompt, tokens one by one, then the next turn at once, against all of it at once."""
    turn = canary.prompt[1 : 1 + TURN_TOKENS]
    whole = [*canary.prompt, *canary.generated, *turn]
    found = hash_row(evaluate(context, turn, position=len(whole) - len(turn)))
    context.truncate(0, 0)
    expected = hash_row(evaluate(context, whole))
    return _compare("decode, then continue", expected, {"token by token": found})


def _check_splits(context: Context, canary: Canary) -> SelfTestCheck:
    """The last 1 to 17 tokens of the prompt in a call of their own, and what is before them cut as well.

    A few generated tokens follow, whose logits see every token of the split: a difference in one of them can
    be lost in the rounding of another.
    """
    prompt, expected = canary.prompt, canary.rows[: 1 + AFTER_SPLIT]
    head = len(prompt) - LARGEST_SPLIT
    wrong = []
    for tail in range(1, LARGEST_SPLIT + 1):
        rewind(context, prompt, head)
        cut = len(prompt) - tail
        if head < cut:
            evaluate(context, prompt[head:cut], position=head)
        rows = [hash_row(evaluate(context, prompt[cut:], position=cut))]
        for position, token in enumerate(canary.generated[:AFTER_SPLIT], len(prompt)):
            rows.append(hash_row(evaluate(context, [token], position=position)))
        if rows != expected:
            wrong.append(f"tail {tail}")
    return SelfTestCheck(name="splits", ok=not wrong, expected=_short(expected[0]), differing=tuple(wrong))


def _check_sequences(context: Context, model: Model, canary: Canary) -> SelfTestCheck:
    """Eight sequences in one context, evaluated in mixed calls, against each alone."""
    prompt = canary.prompt
    short = [[*prompt[:1], *prompt[1 + place : place + length]] for place, length in enumerate(SHORT_PROMPTS)]
    alone = [generate(context, own, GENERATED_TOKENS) for own in short] + [canary.digest]
    together = generate_together(model, [*short, prompt], GENERATED_TOKENS)
    pairs = enumerate(zip(alone, together, strict=True))
    wrong = tuple(f"sequence {place}" for place, (expected, found) in pairs if expected != found)
    return SelfTestCheck(name="1 and 8 sequences", ok=not wrong, expected=_short(alone[0]), differing=wrong)


def _check_threads(model: Model, canary: Canary) -> SelfTestCheck:
    """Two threads, against the one of the canary. Short: they crawl when they have to share a processor."""
    with opened(model, threads=2) as context:
        rows = Canary(context, canary.prompt, THREAD_TOKENS).rows
    wrong = tuple(f"2 threads, row {place}" for place, row in enumerate(rows) if row != canary.rows[place])
    return SelfTestCheck(name="threads", ok=not wrong, expected=_short(canary.rows[0]), differing=wrong)


def _check_context_size(model: Model, canary: Canary) -> SelfTestCheck:
    """A larger context, and the library's own cut into small pieces."""
    prompt = canary.prompt
    found = {}
    with opened(model, context_tokens=3 * CONTEXT_TOKENS) as context:
        found["larger context"] = hash_row(evaluate(context, prompt))
    with opened(model, batch_tokens=100) as context:
        for start in range(0, len(prompt), 100):
            row = evaluate(context, prompt[start : start + 100], position=start)
        found["smaller calls"] = hash_row(row)
    return _compare("context size", canary.rows[0], found)


def _check_prefix(model: Model, canary: Canary, other: Sequence[int]) -> SelfTestCheck:
    """A prompt after an unrelated one, after one that begins alike, and on a copy of another sequence."""
    prompt = canary.prompt
    shared = len(prompt) - AFTER_SHARED
    found = {}
    with opened(model, sequences=2) as context:
        evaluate(context, other[:AFTER_SHARED])
        context.truncate(0, 0)
        found["after another"] = hash_row(evaluate(context, prompt))
        kept = context.truncate(0, shared)
        evaluate(context, other[: AFTER_SHARED // 2], position=kept)
        kept = context.truncate(0, kept)
        found["after a shared beginning"] = hash_row(evaluate(context, prompt[kept:], position=kept))
        if model.is_plain:
            context.copy(0, 1)
            kept = context.truncate(1, shared)
            row = evaluate(context, prompt[kept:], position=kept, sequence=1)
            found["on a copy"] = hash_row(row)
    return _compare("warm prefix", canary.rows[0], found)


def _check_jobs(
    weights: Path, settings: EngineSettings, schedule: str, *, prompt: Sequence[int], other: Sequence[int]
) -> SelfTestCheck:
    """Whole jobs as they will be run: warm, repeated, after their own next turn, against a fresh start."""
    shape = EngineSettings(
        context_tokens=CONTEXT_TOKENS,
        sequences=2,
        threads=settings.threads if schedule == CANONICAL else 1,
        batch_tokens=max(min(settings.batch_tokens, BATCH_TOKENS), 2),
    )
    job = _job(prompt[:JOB_TOKENS])
    with _running(weights, shape, schedule) as fresh:
        first = fresh.scheduler.generate(job)
    next_turn = _job([*job.tokens, *first.tokens, *prompt[JOB_TOKENS : JOB_TOKENS + TURN_TOKENS]])
    with _running(weights, shape, schedule) as fresh:
        expected_next = fresh.scheduler.generate(next_turn).logits_digest
    found, found_next = {}, {}
    with _running(weights, shape, schedule) as warm:
        run = warm.scheduler.generate
        for name, before in (
            ("after another", _job(other[:70])),
            ("again", _job([*prompt[:80], *other[:9]])),
        ):
            run(before)
            found[name] = run(job).logits_digest
        found_next["next turn, warm"] = run(next_turn).logits_digest
        found["after its next turn"] = run(job).logits_digest
    wrong = tuple(name for name, digest in found.items() if digest != first.logits_digest)
    wrong += tuple(name for name, digest in found_next.items() if digest != expected_next)
    expected = first.logits_digest.removeprefix("sha256:")
    return SelfTestCheck(
        name=f"jobs, {schedule} schedule", ok=not wrong, expected=_short(expected), differing=wrong
    )


# ---- parts ---------------------------------------------------------------------------------------------


@contextmanager
def _loaded(weights: Path) -> Iterator[Model]:
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
    sampling = Sampling(max_tokens=JOB_GENERATED)
    return GenerationJob(tokens=tuple(tokens), sampling=sampling, logits_digest=True)


def _tokens(model: Model, text: str, count: int) -> list[int]:
    """Repeat a text until it has enough tokens of this model."""
    tokens = list(model.tokenize(text * (1 + 4 * count // len(text)), special=False))
    while len(tokens) < count:
        tokens += model.tokenize(text, special=False, bos=False)
    return tokens[:count]


def _short(digest: str) -> str:
    return digest[:16]


def _compare(name: str, expected: str, found: Mapping[str, str]) -> SelfTestCheck:
    wrong = tuple(way for way, digest in found.items() if digest != expected)
    return SelfTestCheck(name=name, ok=not wrong, expected=_short(expected), differing=wrong)
