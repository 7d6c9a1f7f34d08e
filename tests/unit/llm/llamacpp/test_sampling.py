"""Choices from logits, against the specification written out in plain Python."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from replay.core.determinism import Stream
from replay.core.errors import GrammarError, ModelError
from replay.core.types import Sampling
from replay.llm.llamacpp.sampling import NO_RIVAL, Row, Sampler, choose_greedy
from replay.llm.llamacpp.weighing import exponential


def row_of(values: Sequence[float]) -> Row:
    """Logits."""
    return np.array(values, dtype=np.float32)


def noise(seed: int, size: int = 300, spread: float = 6.0) -> Row:
    """Random logits with ties."""
    chance = random.Random(seed)  # noqa: S311  test data
    return row_of([round(chance.gauss(0, spread), 1) for _ in range(size)])


def draw_plainly(row: Row, sampling: Sampling, seed: int, count: int) -> list[int]:
    """The specification, step by step, a list at a time."""
    stream = Stream("sampling", seed)
    best = float(row.max())
    s = {token: (float(value) - best) / sampling.temperature for token, value in enumerate(row)}
    ids = [token for token in s if s[token] >= -37.0]
    if sampling.top_k:
        ids = sorted(sorted(ids, key=lambda token: (-s[token], token))[: sampling.top_k])
    weights = dict(zip(ids, exponential(np.array([s[token] for token in ids])).tolist(), strict=True))
    if sampling.top_p < 1:
        wanted = sampling.top_p * list(itertools.accumulate(weights.values()))[-1]
        order = sorted(ids, key=lambda token: (-s[token], token))
        sums = list(itertools.accumulate(weights[token] for token in order))
        kept = next((place + 1 for place, total in enumerate(sums) if total >= wanted), len(order))
        ids = sorted(order[:kept])
    sums = list(itertools.accumulate(weights[token] for token in ids))
    drawn = []
    for _ in range(count):
        mark = stream.fraction() * sums[-1]
        drawn.append(next((token for token, end in zip(ids, sums, strict=True) if end > mark), ids[-1]))
    return drawn


@pytest.mark.parametrize("temperature", [0.1, 0.8, 1.0, 2.5, 1e38])
@pytest.mark.parametrize(
    "cuts", [(0, 1.0), (1, 1.0), (7, 1.0), (40, 0.9), (0, 0.5), (0, 0.999999), (500, 0.95)]
)
def test_draws_follow_the_specification(temperature: float, cuts: tuple[int, float]) -> None:
    """With every cut, ties included, the same tokens in the same order."""
    sampling = Sampling(temperature=temperature, top_k=cuts[0], top_p=cuts[1])
    for seed in range(5):
        row = noise(seed)
        sampler = Sampler(sampling, seed=seed)
        assert draw_plainly(row, sampling, seed, 12) == [sampler.choose(row).token for _ in range(12)]


def test_rows_are_left_as_they_were() -> None:
    """They are views of the library's memory."""
    row = noise(1)
    before = row.tobytes()
    Sampler(Sampling(temperature=0.8, top_k=5, top_p=0.9), seed=1).choose(row)
    choose_greedy(row)
    assert before == row.tobytes()


def test_greedy_takes_the_lowest_of_equal_tokens() -> None:
    """With the distance to the second as its margin, which is nothing for a tie."""
    assert (1, 0.0) == choose_greedy(row_of([0.5, 2.0, 2.0, -1.0]))
    assert (2, 1.5) == choose_greedy(row_of([0.5, -math.inf, 2.0]))
    assert (0, NO_RIVAL) == choose_greedy(row_of([1.0]))
    assert (1, NO_RIVAL) == choose_greedy(row_of([-math.inf, 1.0]))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_logits_that_are_no_numbers_are_an_error(bad: float, temperature: float) -> None:
    """Damaged weights never choose."""
    sampler = Sampler(Sampling(temperature=temperature), seed=1)
    with pytest.raises(ModelError, match=r"the largest logit is (nan|inf); expected numbers"):
        sampler.choose(row_of([0.0, bad, 1.0]))


def test_seeds_are_streams_of_their_own() -> None:
    """Equal seeds draw equally, whatever was drawn elsewhere; five seeds give five texts."""
    sampling = Sampling(temperature=0.8)
    row = noise(9)

    def draw(seed: int) -> tuple[int, ...]:
        sampler = Sampler(sampling, seed=seed)
        return tuple(sampler.choose(row).token for _ in range(20))

    assert 5 == len({draw(seed) for seed in range(5)})
    assert draw(3) == draw(3)


def test_the_margin_of_a_draw_is_how_far_it_is_from_another_token() -> None:
    """Two tokens of equal weight: the border lies at log-odds 0."""
    row = row_of([1.0, 1.0])
    u = Stream("sampling", 4).fraction()
    token, margin = Sampler(Sampling(temperature=1.0), seed=4).choose(row)
    assert int(u >= 0.5) == token
    assert 4 * abs(u - 0.5) == pytest.approx(margin)


class Allowing:
    """Allows some tokens."""

    def __init__(self, *tokens: int) -> None:
        self.tokens = tokens
        self.masked = 0
        self.accepted: list[int] = []

    def allows(self, token: int) -> bool:
        """One of them."""
        return token in self.tokens

    def mask(self, logits: Row) -> None:
        """All others."""
        self.masked += 1
        kept = logits[list(self.tokens)]
        logits.fill(-math.inf)
        logits[list(self.tokens)] = kept

    def accept(self, token: int) -> None:
        """Remember."""
        self.accepted.append(token)

    def close(self) -> None:
        """Nothing to free."""


@pytest.mark.parametrize(("allowed", "token", "masked"), [((0, 1), 1, 0), ((0, 2), 2, 1)])
def test_a_grammar_is_asked_about_the_best_token_first(
    allowed: tuple[int, ...], token: int, masked: int
) -> None:
    """The vocabulary is masked only when that one is refused."""
    grammar = Allowing(*allowed)
    choice = Sampler(Sampling(), seed=1).choose(row_of([0.0, 3.0, 2.0]), grammar)
    assert (token, masked, [token]) == (choice.token, grammar.masked, grammar.accepted)


def test_a_grammar_that_allows_nothing_is_an_error() -> None:
    """There is no unconstrained way out."""
    with pytest.raises(GrammarError, match="allows no token here"):
        Sampler(Sampling(), seed=1).choose(row_of([0.0, 1.0]), Allowing())


def test_the_exponential_is_exact_to_the_last_bits() -> None:
    """Against the C library, over its whole range."""
    values = np.linspace(-700.0, 0.0, 20_001)
    wanted = np.array([math.exp(value) for value in values])
    assert float(np.max(np.abs(exponential(values) / wanted - 1))) < 2**-50
    assert 1.0 == exponential(np.zeros(1))[0]
