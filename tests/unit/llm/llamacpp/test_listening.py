"""What the engine tells while it generates: text that stays, ranked tokens, an end when nobody listens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from replay.core.errors import InputError, ModelError
from replay.core.logprobs import RankedToken
from replay.core.types import Sampling
from replay.llm.llamacpp.engine import EngineSettings, GenerationJob, LocalEngine
from replay.llm.llamacpp.output import Output
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import need_binding


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model."""
    need_binding()
    return write_tiny_llama(tmp_path_factory.mktemp("tiny") / "tiny.gguf", "Q4_K")


def open_tiny(weights: Path, sequences: int = 1) -> LocalEngine:
    """An engine on one thread."""
    return LocalEngine(weights, EngineSettings(context_tokens=256, sequences=sequences, threads=1))


def job_of(engine: LocalEngine, **changes: object) -> GenerationJob:
    """A greedy job whose tokens are ranked."""
    fields = {"sampling": Sampling(max_tokens=24), "top_logprobs": 3, **changes}
    return GenerationJob(tokens=engine.tokenize("the rain in the land. " * 3), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_what_is_settled_is_never_cut(size: int) -> None:
    """However tokens cut a stop string, what was told before it is the beginning of the text."""
    data = b"one two stop three"
    output = Output((" stop",))
    told = []
    for start in range(0, len(data), size):
        is_over = output.add(data[start : start + size])
        told.append(output.settled())
        if is_over:
            break
    assert b"one two" == told[-1]
    assert all(b"one two".startswith(text) for text in told)


@pytest.mark.model
def test_a_listener_hears_the_text_grow(tiny: Path) -> None:
    """Each time a beginning of the text, and the tokens so far; the answer is what it is without one."""
    heard: list[tuple[bytes, int]] = []
    with open_tiny(tiny) as engine:
        alone = engine.generate(job_of(engine))
        told = engine.generate(job_of(engine), lambda text, ranked: heard.append((text, len(ranked))))
    assert (alone.tokens, alone.text, alone.ranked) == (told.tokens, told.text, told.ranked)
    assert list(range(1, 24)) == [count for _, count in heard]
    whole = b"".join(ranked.piece for ranked in told.ranked)
    assert all(whole.startswith(text) for text, _ in heard)


@pytest.mark.model
def test_ranks_are_those_of_a_request_alone(tiny: Path) -> None:
    """Beside other requests and after them, every bit of them; the likeliest token is the greedy one."""
    with open_tiny(tiny, sequences=4) as engine, ThreadPoolExecutor(4) as pool:
        jobs = [job_of(engine), *(job_of(engine, seed=n, sampling=_warm(12)) for n in range(1, 6))]
        found = [generation.ranked for generation in pool.map(engine.generate, jobs * 2)]
    with open_tiny(tiny) as engine:
        alone = [engine.generate(job).ranked for job in jobs]
    assert alone * 2 == found
    assert all(ranked.top[0] == (ranked.piece, ranked.logprob) for ranked in alone[0])


@pytest.mark.model
def test_tokens_behind_the_cut_are_not_ranked(tiny: Path) -> None:
    """A stop string takes its tokens with it."""
    with open_tiny(tiny) as engine:
        whole = engine.generate(job_of(engine))
        stop = next(character for character in whole.text[4:] if character.isascii())
        cut = engine.generate(job_of(engine, stop=(stop,)))
    assert ("stop", whole.ranked[: len(cut.ranked)]) == (cut.finish, cut.ranked)
    assert len(cut.text.encode()) <= sum(len(ranked.piece) for ranked in cut.ranked)


@pytest.mark.model
def test_a_listener_that_leaves_ends_its_own_job_only(tiny: Path) -> None:
    """The others have the answers they have alone."""

    def leave(text: bytes, ranked: Sequence[RankedToken]) -> None:
        if len(ranked) == 4:
            raise ModelError("nobody listens")

    def ask(listener: Callable[[bytes, Sequence[RankedToken]], None] | None) -> str:
        try:
            return engine.generate(job_of(engine), listener).text
        except ModelError as error:
            return error.what

    with open_tiny(tiny, sequences=2) as engine, ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ask, [None, leave, None, leave, leave, None]))
        alone = engine.generate(job_of(engine)).text
    assert [alone, "nobody listens", alone, "nobody listens", "nobody listens", alone] == found


@pytest.mark.model
@pytest.mark.parametrize("count", [-1, 21])
def test_more_alternatives_than_there_may_be(tiny: Path, count: int) -> None:
    """Refused by name."""
    with open_tiny(tiny) as engine, pytest.raises(InputError, match="top_logprobs"):
        engine.generate(job_of(engine, top_logprobs=count))


def _warm(tokens: int) -> Sampling:
    return Sampling(max_tokens=tokens, temperature=0.9)
