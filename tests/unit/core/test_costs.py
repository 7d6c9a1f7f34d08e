"""Costs add up part by part."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from replay.core.costs import Cost, CostMeter, sum_costs

ONE = Cost(requests=1, prompt_tokens=10, reused_tokens=4, generated_tokens=3, seconds=0.5)


def test_parts_are_counted_apart_and_sorted() -> None:
    """Each role of a run has its own line."""
    meter = CostMeter()
    for part in ("judge", "candidate", "judge"):
        meter.add(part, ONE)
    assert ["candidate", "judge"] == list(meter.read())
    assert ONE + ONE == meter.read()["judge"]


def test_many_threads_lose_nothing() -> None:
    """Roles of one episode may be counted side by side."""
    meter = CostMeter()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: meter.add("candidate", ONE), range(200)))
    assert 200 == meter.read()["candidate"].requests


def test_episodes_sum_to_a_run() -> None:
    """An episode without a part adds nothing to it."""
    total = sum_costs([{"candidate": ONE}, {}, {"candidate": ONE, "judge": ONE}])
    assert {"candidate": ONE + ONE, "judge": ONE} == total
