"""Benchmarks by name."""

from __future__ import annotations

import pytest

from replay.benchmarks.registry import get_benchmark, get_importer, names
from replay.core.errors import InputError


def test_every_name_makes_its_benchmark() -> None:
    """A registered name is the name of the benchmark it makes."""
    assert list(names()) == [get_benchmark(name).name for name in names()]


@pytest.mark.parametrize("get", [get_benchmark, get_importer])
def test_unknown_names_are_refused(get: object) -> None:
    """The message lists the known names and the closest one."""
    with pytest.raises(
        InputError, match=r"no benchmark 'StableTolBench'; expected one of .*did you mean stabletoolbench"
    ):
        get("StableTolBench")  # type: ignore[operator]


def test_nothing_close_is_not_guessed() -> None:
    """A name like no other gets the list alone."""
    with pytest.raises(InputError, match=r"no benchmark 'zzz'; expected one of [a-z, ]+$"):
        get_benchmark("zzz")
