"""Figures of different scope are refused with the way to make them comparable."""

from __future__ import annotations

import pytest

from replay.benchmarks.codexomics.scoring.pooling import check_one_scope
from replay.core.errors import InputError


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tier", "the same choice, for example --option tier=b"),
        ("mode", "the same choice, for example --option mode=b"),
        ("registry", "each of them by itself"),
        ("suites", "each of them by itself"),
    ],
)
def test_the_refusal_says_what_to_do(name: str, said: str) -> None:
    """What a run chooses can be chosen alike; what an archive holds cannot."""
    with pytest.raises(InputError, match=rf"figures of different .*: a and b.*{said}"):
        check_one_scope([{name: "a"}, {name: "b"}])
