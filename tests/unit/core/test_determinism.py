"""Seeds, identifiers, the random stream, clocks and the environment."""

from __future__ import annotations

import datetime as dt
import hashlib
import subprocess
import sys
from collections import Counter

import pytest

from replay.core.determinism import (
    FROZEN_TIME,
    FrozenClock,
    Stopwatch,
    Stream,
    building_environment,
    child_environment,
    count_cpus,
    derive_seed,
    deterministic_id,
    fetching_environment,
    read_environment,
    temporary_name,
)
from replay.core.errors import InputError, InternalError


def test_seeds_are_what_they_were() -> None:
    """A seed depends on its parts and on nothing else, now and later."""
    assert 1988328129 == derive_seed("run", 0, "stabletoolbench", "G1-1", 0)
    assert "call_60b480a25b4e3b02" == deterministic_id("call", "stabletoolbench", "G1-1", 3)


@pytest.mark.parametrize("other", [("a", "bc"), ("abc",), ("ab", "c", ""), ("ab", "C"), ("c", "ab")])
def test_parts_do_not_run_into_one_another(other: tuple[str, ...]) -> None:
    """Where one part ends and the next begins is a part of the seed."""
    assert derive_seed("ab", "c") != derive_seed(*other)


def test_a_number_is_not_its_text() -> None:
    """1, "1" and True are three parts."""
    assert 3 == len({derive_seed(1), derive_seed("1"), derive_seed(True)})


def test_seeds_stay_inside_every_engine() -> None:
    """No seed is 0, -1 or 2^32-1, and all fit signed 32 bits."""
    assert all(0 < derive_seed("s", n) < 2**31 for n in range(2_000))


def test_hash_seed_changes_nothing() -> None:
    """Another PYTHONHASHSEED gives the same seed, identifier and stream."""
    code = (
        "from replay.core.determinism import *; s = Stream('x'); i = list(range(9)); s.shuffle(i);"
        "print(derive_seed('a', 1), deterministic_id('p', 'b'), i)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert 1 == len(printed)


def test_stream_follows_its_specification() -> None:
    """The bits are SHAKE-256 of key and block number, recomputed here without the class."""
    key = hashlib.sha256(b"str:4:seed" + b"int:1:7").digest()
    blocks = b"".join(hashlib.shake_256(key + n.to_bytes(8, "big")).digest(4096) for n in range(2))
    stream = Stream("seed", 7)
    expected = [int.from_bytes(blocks[at : at + 8], "big") for at in range(0, len(blocks), 8)]
    assert expected == [stream.next_bits() for _ in expected]


def test_stream_is_what_it_was() -> None:
    """Shuffle, choice and sample of a known stream, as golden values."""
    stream = Stream("golden")
    items = list(range(10))
    stream.shuffle(items)
    assert [4, 3, 2, 7, 8, 9, 1, 5, 0, 6] == items
    assert ("c", [1, 3]) == (stream.choice("abcde"), stream.sample(range(5), 2))


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000, 2**63 + 1, 2**64])
def test_numbers_stay_below_their_limit(limit: int) -> None:
    """A number below n is one of 0..n-1."""
    stream = Stream("below", limit)
    assert all(0 <= stream.below(limit) < limit for _ in range(300))


def test_numbers_are_even() -> None:
    """Six faces of a die come up within five standard deviations of alike."""
    stream = Stream("die")
    counts = Counter(stream.below(6) for _ in range(12_000))
    assert all(abs(count - 2_000) < 5 * 41 for count in counts.values())
    assert 6 == len(counts)


def test_biased_numbers_are_thrown_away() -> None:
    """With a limit just over half of the range, about half of the numbers are not used."""

    class _Counting(Stream):
        taken = 0

        def next_bits(self) -> int:
            self.taken += 1
            return super().next_bits()

    stream = _Counting("bias")
    for _ in range(500):
        stream.below(2**63 + 1)
    assert 800 < stream.taken < 1_200


@pytest.mark.parametrize("limit", [0, -1, 2**64 + 1])
def test_impossible_limits_are_our_bug(limit: int) -> None:
    """A limit without numbers below it is refused instead of looping."""
    with pytest.raises(InternalError, match="a random number below"):
        Stream("x").below(limit)


def test_sample_larger_than_the_items_is_our_bug() -> None:
    """A sample cannot hold more than there is."""
    with pytest.raises(InternalError, match="at most the 2 items"):
        Stream("x").sample("ab", 3)


def test_fractions_are_in_the_half_open_unit() -> None:
    """Fractions reach from 0 to below 1."""
    stream = Stream("f")
    assert all(0.0 <= stream.fraction() < 1.0 for _ in range(1_000))


def test_frozen_clock_stands_still() -> None:
    """The clock says the frozen time, with zone, until it is moved."""
    clock = FrozenClock()
    assert FROZEN_TIME == clock.text() == clock.text()
    assert dt.datetime(2024, 1, 1, tzinfo=dt.UTC) == clock.now()
    clock.advance(90.5)
    assert "2024-01-01T00:01:30.500000Z" == clock.text()
    assert 1704067290.5 == clock.timestamp()


def test_frozen_clock_is_utc_wherever_it_starts() -> None:
    """A start in another zone is the same moment in UTC."""
    assert "2023-12-31T22:00:00Z" == FrozenClock("2024-01-01T00:00:00+02:00").text()


@pytest.mark.parametrize(("start", "match"), [("yesterday", "not a time"), ("2024-01-01T00:00:00", "zone")])
def test_faulty_start_times_are_refused(start: str, match: str) -> None:
    """A time without zone or form is the user's error, named."""
    with pytest.raises(InputError, match=match):
        FrozenClock(start)


def test_stopwatch_never_runs_back() -> None:
    """Durations do not shrink."""
    watch = Stopwatch()
    first = watch.elapsed_s()
    assert 0.0 <= first <= watch.elapsed_s()


def test_environment_is_read_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable is read when asked for, with a default."""
    monkeypatch.setenv("REPLAY_X", "1")
    assert ("1", "d") == (read_environment("REPLAY_X"), read_environment("REPLAY_Y", "d"))


def test_child_environment_pins_what_could_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child gets pinned hash seed, zone and locale, and no credentials."""
    monkeypatch.setenv("PYTHONHASHSEED", "9")
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    monkeypatch.setenv("REPLAY_HOME", "kept")
    found = child_environment("REPLAY_HOME")
    assert ("0", "UTC", "kept") == (found["PYTHONHASHSEED"], found["TZ"], found["REPLAY_HOME"])
    assert "canary" not in found.values()


def test_machine_facts() -> None:
    """There is a processor, and two temporary names differ and hide."""
    assert count_cpus() >= 1
    names = {temporary_name("a.replay"), temporary_name("a.replay")}
    assert 2 == len(names)
    assert all(name.startswith(".a.replay.") for name in names)


def test_a_package_client_sees_the_sites_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes, proxies and certificates come along, Python's own variables do not; hash seeds are pinned."""
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    found = fetching_environment()
    assert ("https://index.example/simple", "http://proxy.example", None, "0") == tuple(
        found.get(name) for name in ("PIP_INDEX_URL", "HTTPS_PROXY", "PYTHONPATH", "PYTHONHASHSEED")
    )


@pytest.mark.parametrize(
    "name", ["CFLAGS", "CXXFLAGS", "CMAKE_ARGS", "GGML_NATIVE", "SOURCE_DATE_EPOCH", "MAKEFLAGS"]
)
def test_a_compiler_sees_no_flags_of_the_shell(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What would make another program of the same source is left out; the rest is as for fetching."""
    monkeypatch.setenv(name, "-march=native")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    assert name not in building_environment()
    assert "PIP_INDEX_URL" in building_environment()
