"""The generators that upstream seeds, held to Python's and NumPy's own."""

from __future__ import annotations

import random

import pytest

from replay.benchmarks.metatool.importing.upstream_random import (
    numpy_choice,
    python_sample,
    python_shuffle,
    seed_numpy,
    seed_python,
)

SEEDS = (0, 1, 48, 2**31, 2**32 - 1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("size", "count"), [(3, 3), (21, 3), (22, 6), (30, 10), (84, 10), (179, 10), (400, 9)]
)
def test_samples_are_those_of_python(seed: int, size: int, count: int) -> None:
    """Pools and sets of drawn positions, in the order of drawing."""
    drawn = python_sample(seed_python(seed), range(size), count)
    assert random.Random(seed).sample(range(size), count) == drawn  # noqa: S311


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shuffle_goes_on_where_the_sample_stopped(seed: int) -> None:
    """Upstream does not seed again between the two."""
    theirs = random.Random(seed)  # noqa: S311
    expected = theirs.sample(range(190), 8)
    theirs.shuffle(expected)
    stream = seed_python(seed)
    ours = python_sample(stream, range(190), 8)
    python_shuffle(stream, ours)
    assert expected == ours


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("size", "count"), [(1, 1), (6, 5), (12, 5), (557, 20), (1122, 5)])
def test_choices_are_those_of_numpy(seed: int, size: int, count: int) -> None:
    """Choices without replacement of the old generator."""
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    theirs = numpy.random.RandomState(seed).choice(size, count, replace=False)
    assert theirs.tolist() == numpy_choice(seed_numpy(seed), size, count)


def test_a_long_run_stays_equal() -> None:
    """Beyond the first 624 words the state is twisted again."""
    theirs, stream = random.Random(48), seed_python(48)  # noqa: S311
    assert [theirs.getrandbits(32) for _ in range(2000)] == [stream.next_word() for _ in range(2000)]
