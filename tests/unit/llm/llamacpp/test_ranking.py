"""Log-probabilities against the plain formula, and the order of alternatives."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from replay.core.logprobs import NO_CHANCE
from replay.llm.llamacpp.ranking import find_largest, log_probabilities, logarithm
from replay.llm.llamacpp.sampling import Row


def noise(seed: int, size: int = 300) -> Row:
    """Random logits with ties."""
    chance = random.Random(seed)  # noqa: S311  test data
    return np.array([round(chance.gauss(0, 6), 1) for _ in range(size)], dtype=np.float32)


@pytest.mark.parametrize("seed", range(5))
def test_they_are_the_log_softmax(seed: int) -> None:
    """As the standard library computes it, and their exponentials sum to one."""
    row = noise(seed)
    whole = math.log(math.fsum(math.exp(float(value)) for value in row))
    found = log_probabilities(row, range(len(row)))
    assert [float(value) - whole for value in row] == pytest.approx(found, rel=1e-13, abs=1e-13)
    assert pytest.approx(1.0) == math.fsum(map(math.exp, found))


def test_their_bits_are_fixed() -> None:
    """Only exactly rounded steps: these bits are the same on every machine."""
    found = log_probabilities(noise(1), find_largest(noise(1), 3))
    assert ["-0x1.6a0364ae55a13p-2"] == [found[0].hex()]


def test_alternatives_go_by_logit_and_lowest_id() -> None:
    """Ties at the cut too."""
    row = np.array([1, 5, 3, 5, 3, 3], dtype=np.float32)
    assert [1, 3, 2, 4] == find_largest(row, 4)
    assert ([], 6) == (find_largest(row, 0), len(find_largest(row, 99)))


def test_a_token_without_a_chance_has_a_number() -> None:
    """JSON has no infinity."""
    row = np.array([0, -math.inf], dtype=np.float32)
    assert [0.0, NO_CHANCE] == log_probabilities(row, (0, 1))


def test_logarithms_of_every_size() -> None:
    """Against the library's, near one and far from it."""
    chance = random.Random(7)  # noqa: S311  test data
    for value in (
        1.0,
        *(math.exp(chance.uniform(-300, 300)) for _ in range(200)),
        1 + 2**-40,
        0.7071,
        49152.0,
    ):
        assert math.log(value) == pytest.approx(logarithm(value), rel=2**-50, abs=2**-52)
