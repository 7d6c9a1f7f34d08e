"""The only door to seeds, randomness, clock, identifiers, environment and the network guard.

Nothing else in the program reads a clock, an environment variable or a random number, so this page lists
everything that could make two runs differ:

* seeds and identifiers are SHA-256 of named parts, never of order, time or `hash()` (which Python salts anew
  in each process): results do not depend on PYTHONHASHSEED, and `child_environment` pins it all the same;
* `Stream` is a random stream of our own, specified here to the bit, because the standard library's shuffles
  and samples have changed between Python versions;
* what a candidate or a template may see of the time is `FrozenClock`; `Stopwatch` measures durations that go
  to timings.jsonl, which is never hashed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import struct
import time
from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from typing import Final, TypeVar

from replay.core.errors import InputError, InternalError
from replay.core.network import NetworkAttempt, NetworkGuard

__all__ = [
    "FROZEN_TIME",
    "FrozenClock",
    "NetworkAttempt",
    "NetworkGuard",
    "Stopwatch",
    "Stream",
    "building_environment",
    "child_environment",
    "count_cpus",
    "derive_seed",
    "deterministic_id",
    "fetching_environment",
    "pause",
    "pin_environment",
    "read_environment",
    "temporary_name",
]

FROZEN_TIME: Final = "2024-01-01T00:00:00Z"
"""What time it is in every episode, unless a benchmark's task says otherwise."""

_LARGEST_SEED: Final = 2**31 - 1  # fits every engine's signed 32 bits; 0, -1 and 2^32-1 mean "random" to some

_BLOCK_NUMBERS: Final = 512  # numbers made at once: large enough that hashing costs less than taking

_Item = TypeVar("_Item")


# ---- seeds and identifiers -----------------------------------------------------------------------------


def derive_seed(*parts: str | int) -> int:
    """Derive a seed from named parts, never from order or time.

    Units:   1..2^31-1, so never 0, -1 or 2^32-1, which engines take for "choose one yourself".
    """
    return int.from_bytes(_hash_parts(parts)[:8], "big") % _LARGEST_SEED + 1


def deterministic_id(prefix: str, *parts: str | int) -> str:
    """Make a short identifier from its parts: the prefix and 64 bits of their hash."""
    return f"{prefix}_{_hash_parts(parts).hex()[:16]}"


def _hash_parts(parts: Sequence[str | int]) -> bytes:
    """Hash parts with type and length, so that ("ab", "c"), ("a", "bc") and 1, "1", True all differ."""
    state = hashlib.sha256()
    for part in parts:
        text = str(part).encode("utf-8", "surrogatepass")
        state.update(f"{type(part).__name__}:{len(text)}:".encode() + text)
    return state.digest()


# ---- randomness ----------------------------------------------------------------------------------------


class Stream:
    """A seeded random stream, equal on every platform and in every Python version.

    Specification. Block i is the first 4,096 bytes of SHAKE-256(key || i as 8 bytes, big-endian), where key
    is the SHA-256 that seeds are made of; blocks follow one another from i = 0. A number is the next 8 bytes,
    big-endian. A number below n: numbers not under the largest multiple of n up to 2^64 are thrown away, the
    first other one is taken modulo n, so there is no bias. A shuffle is Fisher and Yates from the end: for i
    from the last position down to 1, swap i with a number below i + 1.
    """

    def __init__(self, *parts: str | int) -> None:
        self._key = _hash_parts(parts)
        self._counter = 0
        self._waiting: list[int] = []  # numbers of the current block, the next one last

    def next_bits(self) -> int:
        """Take the next 64 bits as a number."""
        if not self._waiting:
            block = hashlib.shake_256(self._key + self._counter.to_bytes(8, "big")).digest(8 * _BLOCK_NUMBERS)
            self._counter += 1
            self._waiting = list(reversed(struct.unpack(f">{_BLOCK_NUMBERS}Q", block)))
        return self._waiting.pop()

    def below(self, limit: int) -> int:
        """Take a number from 0 up to `limit` - 1, each equally likely; `limit` is 1..2^64."""
        if not 1 <= limit <= 2**64:
            raise InternalError(f"a random number below {limit}", expected="a limit from 1 to 2^64")
        unbiased = 2**64 - 2**64 % limit
        while (bits := self.next_bits()) >= unbiased:
            pass
        return bits % limit

    def fraction(self) -> float:
        """Take a double from 0 up to but without 1: the first 53 bits of a number over 2^53."""
        return (self.next_bits() >> 11) / 2**53

    def choice(self, items: Sequence[_Item]) -> _Item:
        """Take one of the items."""
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[_Item]) -> None:
        """Put the items in random order, in place."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def sample(self, items: Iterable[_Item], count: int) -> list[_Item]:
        """Take `count` different positions of the items, in random order."""
        pool = list(items)
        if count > len(pool):
            raise InternalError(f"a sample of {count}", expected=f"at most the {len(pool)} items there are")
        self.shuffle(pool)
        return pool[:count]


# ---- time ----------------------------------------------------------------------------------------------


class FrozenClock:
    """The time as an episode sees it: UTC, standing still unless it is moved."""

    def __init__(self, start: str = FROZEN_TIME) -> None:
        try:
            moment = dt.datetime.fromisoformat(start)
        except ValueError:
            raise InputError(f"not a time: {start!r}", expected=f"ISO 8601 such as {FROZEN_TIME}") from None
        if moment.tzinfo is None:
            raise InputError(f"a time without a zone: {start!r}", expected=f"UTC such as {FROZEN_TIME}")
        self._moment = moment.astimezone(dt.UTC)

    def now(self) -> dt.datetime:
        """Tell the time, with its zone."""
        return self._moment

    def timestamp(self) -> float:
        """Tell the time in seconds since 1970-01-01 UTC."""
        return self._moment.timestamp()

    def text(self) -> str:
        """Tell the time as `2024-01-01T00:00:00Z`, with microseconds only where there are some."""
        return self._moment.isoformat().removesuffix("+00:00") + "Z"

    def advance(self, seconds: float) -> None:
        """Move the clock, as a world's own `wait` does."""
        self._moment += dt.timedelta(seconds=seconds)


class Stopwatch:
    """Measures how long something took. For timings, progress and thread counts only; never hashed."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._cpu_start = time.process_time()

    def elapsed_s(self) -> float:
        """Seconds since the stopwatch was made."""
        return time.perf_counter() - self._start

    def cpu_s(self) -> float:
        """Processor seconds that all threads of this process took since the stopwatch was made."""
        return time.process_time() - self._cpu_start


def pause(seconds: float) -> None:
    """Wait, as politeness to a live upstream asks; no answer depends on it."""
    if seconds > 0:
        time.sleep(seconds)


# ---- the machine ---------------------------------------------------------------------------------------

_PINNED: Final = {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
_PASSED_ON: Final = frozenset(
    {"PATH", "HOME", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}
)


_BUILD_SETTINGS: Final = frozenset(
    {
        "ARCHFLAGS",
        "CFLAGS",
        "CPPFLAGS",
        "CXXFLAGS",
        "FORCE_CMAKE",
        "LDFLAGS",
        "MAKEFLAGS",
        "SOURCE_DATE_EPOCH",
    }
)


def read_environment(name: str, default: str = "") -> str:
    """Read one environment variable; where to look and what to show, never what an answer is."""
    return os.environ.get(name, default)


def pin_environment(prefixes: tuple[str, ...], values: Mapping[str, str]) -> None:
    """Drop every variable of this process with one of the prefixes, then set `values`.

    For C libraries that read the environment while they compute.
    """
    for name in sorted(os.environ):
        if name.startswith(prefixes):
            del os.environ[name]
    os.environ.update(values)


def child_environment(*keep: str) -> dict[str, str]:
    """Build the environment of a child process: what it needs to start, pinned hash seed, zone and locale.

    Credentials, proxies and `PYTHON*` variables of the caller do not come along unless named in `keep`.
    """
    wanted = _PASSED_ON.union(keep)
    passed = {name: value for name, value in sorted(os.environ.items()) if name in wanted}
    return passed | _PINNED


def fetching_environment() -> dict[str, str]:
    """Build the environment of the one child process that may use the network: a package client.

    It sees the caller's own settings (indexes, proxies, certificates, credentials of the client), because
    they are how a site says where packages come from; Python's own variables are left out.
    """
    passed = {name: value for name, value in sorted(os.environ.items()) if not name.startswith("PYTHON")}
    return passed | _PINNED


def building_environment() -> dict[str, str]:
    """Build the environment of a child process that compiles: as for fetching, without flags of the caller.

    `CFLAGS=-march=native` or a SOURCE_DATE_EPOCH of the shell would make another program of one source.
    """
    passed = fetching_environment()
    return {
        name: value
        for name, value in passed.items()
        if name not in _BUILD_SETTINGS and not name.startswith(("CMAKE_", "GGML_", "LLAMA_", "SKBUILD_"))
    }


def count_cpus() -> int:
    """Count the processors this process may use, which under a container is less than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def temporary_name(final: str) -> str:
    """Make a name beside `final` that no other process uses; it is renamed away and never recorded."""
    return f".{final}.{os.getpid()}-{os.urandom(6).hex()}.tmp"
