"""One thread a key at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from replay.core.types import Key
from replay.tools.flights import SingleFlight

ONE, OTHER = Key("sha256:1"), Key("sha256:2")


def test_the_second_of_one_key_waits() -> None:
    """Whoever comes while a key is held enters when the first has left, other keys pass."""
    flights, order = SingleFlight(), list[str]()
    entered = threading.Event()

    def come(key: Key, name: str) -> None:
        if name == "second":
            entered.set()
        with flights.holding(key):
            order.append(name)

    with ThreadPoolExecutor(1) as pool:
        with flights.holding(ONE):
            waiting = pool.submit(come, ONE, "second")
            assert entered.wait(5)
            come(OTHER, "other key")
            order.append("first")
        waiting.result(5)
    assert ["other key", "first", "second"] == order


def test_a_failure_lets_the_next_one_in() -> None:
    """A key is free again when its holder raised."""
    flights = SingleFlight()
    with pytest.raises(ValueError, match="no answer"), flights.holding(ONE):
        raise ValueError("no answer")
    with flights.holding(ONE):
        pass
