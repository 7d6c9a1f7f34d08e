"""Draws decided by a head and bounds of the rest, against weighing everything."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from replay.core.types import Sampling
from replay.llm.llamacpp.drawing import Drawer, Row
from replay.llm.llamacpp.weighing import CoarseSum, exponential

VOCABULARY = 5_000


def logits(seed: int, *, spread: float = 3.0, grid: float = 0.0) -> Row:
    """A row like a model's: many unlikely tokens, some likely ones; on a grid there are ties."""
    chance = np.random.default_rng(seed)
    row = chance.normal(0, spread, VOCABULARY)
    row[chance.integers(0, VOCABULARY, 20)] += chance.uniform(5, 15, 20)
    return (np.round(row / grid) * grid if grid else row).astype(np.float32)


def shares(row: Row, temperature: float) -> tuple[list[int], list[float]]:
    """Ids that may be drawn without cuts and their running sums, as the specification has them."""
    s = (row.astype(np.float64) - float(row.max())) / temperature
    ids = [token for token in range(len(row)) if s[token] >= -37.0]
    return ids, list(itertools.accumulate(exponential(s[ids]).tolist()))


def drawn(ids: list[int], sums: list[float], u: float) -> int:
    """The first token whose running sum exceeds u times the whole."""
    mark = u * sums[-1]
    return next((token for token, end in zip(ids, sums, strict=True) if end > mark), ids[-1])


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.6])
@pytest.mark.parametrize("grid", [0.0, 0.1, 1.0])
def test_a_draw_at_the_very_end_of_a_share(temperature: float, grid: float) -> None:
    """One unit in the last place before, at and after an end: no bound decides wrongly."""
    row = logits(int(temperature * 10), grid=grid)
    drawer = Drawer(Sampling(temperature=temperature))
    ids, sums = shares(row, temperature)
    largest = np.argsort(row[ids], kind="stable")[-8:].tolist()
    for end in sorted(sums[place] / sums[-1] for place in largest):
        for u in (math.nextafter(end, 0), end, math.nextafter(end, 2)):
            if u < 1:
                assert drawn(ids, sums, u) == drawer.draw(row, u).token


@pytest.mark.parametrize("u", [0.0, 5e-324, 0.5, 1 - 2**-53])
def test_a_draw_at_the_ends_of_the_range(u: float) -> None:
    """The first and the last token are nearly never of the head."""
    row = logits(3)
    assert drawn(*shares(row, 1.0), u) == Drawer(Sampling(temperature=1.0)).draw(row, u).token


@pytest.mark.parametrize("u", [0.0, 2**-53, 1e-6, 1e-5, 1e-4])
def test_unlikely_tokens_in_front_of_the_head_have_their_share(u: float) -> None:
    """A small fraction is one of them, where bounds alone would give it to the first likely token."""
    row = np.full(VOCABULARY, -15.0, np.float32)
    row[4_000] = 0.0
    assert drawn(*shares(row, 1.0), u) == Drawer(Sampling(temperature=1.0)).draw(row, u).token


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.6])
@pytest.mark.parametrize("top_p", [0.3, 0.9, 0.999, 1 - 1e-9])
def test_a_cut_by_mass_keeps_what_weighing_everything_keeps(temperature: float, top_p: float) -> None:
    """With more tokens than the head has, when the mass asks for them."""
    for seed in range(4):
        row = logits(seed, grid=0.25)
        s = (row.astype(np.float64) - float(row.max())) / temperature
        ids, sums = shares(row, temperature)
        order = sorted(ids, key=lambda token: (-s[token], token))
        running = list(itertools.accumulate(exponential(s[order]).tolist()))
        count = next((n + 1 for n, total in enumerate(running) if total >= top_p * sums[-1]), len(order))
        kept = sorted(order[:count])
        kept_sums = list(itertools.accumulate(exponential(s[kept]).tolist()))
        drawer = Drawer(Sampling(temperature=temperature, top_p=top_p))
        for u in (0.0, 0.37, 0.8, 1 - 2**-53):
            assert drawn(kept, kept_sums, u) == drawer.draw(row, u).token


@pytest.mark.parametrize("temperature", [1e-300, 1e-4, 1e-3, 1e3, 1e300])
def test_any_temperature_is_a_temperature(temperature: float) -> None:
    """Where float32 does not reach, everything is weighed; nothing overflows loudly."""
    row = logits(5)
    row[7] = -math.inf
    row[8] = np.finfo(np.float32).min
    with np.errstate(over="ignore"):
        wanted = drawn(*shares(row, temperature), 0.5)
    assert wanted == Drawer(Sampling(temperature=temperature)).draw(row, 0.5).token


@pytest.mark.parametrize("size", [1, 255, 256, 257, 5_000])
def test_the_sum_lies_between_its_bounds(size: int) -> None:
    """For any number of values, masked ones among them; and the bounds are narrow."""
    chance = np.random.default_rng(size)
    values = -chance.uniform(0, 40, size).astype(np.float32)
    values[-1] = -math.inf if size > 1 else -3.0
    coarse = CoarseSum(size)
    for _ in range(2):  # the memory is used again
        low, high = coarse.bound(values)
        assert low <= math.fsum(math.exp(value) for value in values.tolist()) <= high <= 1.003 * low
