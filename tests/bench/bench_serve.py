"""`POST /virtual` against the original's design and against the least that uvicorn can do.

All servers are processes of their own over the same records (`virtual_data`), asked in turn by the same eight
clients, round after round, and every answer is compared with what is recorded. Rates on a shared machine
move; so ratios are taken within a round and their medians shown, of rates and of the processor time that a
server took for a request.

`again`: a thousand calls over and over, whose answers a worker keeps in memory. `each`: other calls in every
round, more than a worker keeps, so that nearly every answer comes out of the sealed store. The original loads
a file both times; `original_one_record` has files of one record, the least that its design can do.

`cold`: servers that have just started, after the kernel was told to drop the pages of their files from its
cache: the time to the first answer, and the rate over the first two thousand different calls.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from replay.core.determinism import child_environment
from tests.bench.http_load import Ask, cpu_seconds, run_load
from tests.bench.virtual_data import make_asks, make_calls, write_cache
from tests.support.commands import run_process
from tests.support.data import CHECKOUT

__all__ = ["CLIENTS", "Server", "prepare_archive", "run", "running", "serve_command"]

CLIENTS = 8
ROUNDS = 5
SECONDS = 0.5
AGAIN = 1_000
COLD = 2_000
COLD_STARTS = 3
COLD_SECONDS = 20.0
CACHE = "tool_response_cache"
ARCHIVE = "cache.replay"


class Server(NamedTuple):
    """A server that runs."""

    port: int
    pid: int
    start_s: float
    """From the start of the process to the first connection it accepts."""


class Sample(NamedTuple):
    """One round of one server."""

    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    """Processor time of the server for one request."""


def run() -> dict[str, Any]:
    """Measure; rates in requests a second."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        calls = list(make_calls())
        size_bytes = write_cache(folder / "cache" / CACHE, calls)
        asks = make_asks(calls)
        single = list({call[:3]: call for call in calls}.values())
        write_cache(folder / "one" / CACHE, single)
        prepare_archive(folder)
        body = max((ask.answer for ask in asks), key=len)
        up = {
            label: stack.enter_context(running(command, body)) for label, command in _commands(folder).items()
        }
        samples = _measure_all(up, _Questions(asks, make_asks(single), body))
        cold = {label: _measure_cold(folder, label, asks) for label in ("original", "replay")}
    return {
        "data": {"records": len(calls), "bytes": size_bytes},
        "clients": CLIENTS,
        "cold": cold,
        "servers": {label: _middle(rounds) for label, rounds in samples.items()},
        "times_the_original": _ratios(samples, "original"),
        "share_of_bare": _ratios(samples, "bare"),
    }


def prepare_archive(folder: Path) -> Path:
    """Import the cache that lies in a folder's `cache`, as a user does."""
    archive = folder / ARCHIVE
    done = run_process("import", "stabletoolbench", folder / "cache", "-o", archive)
    assert done.code == 0, done.err
    return archive


def serve_command(archive: Path, *options: str | Path) -> list[str]:
    """`replay serve` as a process, its store beside the archive; the port is to be added."""
    words = [archive, "--home", archive.parent / "home", *options]
    return [sys.executable, "-m", "replay", "serve", *map(str, words), "--port"]


def _commands(folder: Path) -> dict[str, list[str]]:
    """Every server that is measured; the last has files of one record each."""
    archive = folder / ARCHIVE
    original = [sys.executable, "-m", "tests.bench.original_server"]
    return {
        "original": [*original, str(folder / "cache" / CACHE)],
        "bare": [sys.executable, "-m", "tests.bench.bare_server"],
        "replay": serve_command(archive),
        "replay_log": serve_command(archive, "--log", folder / "log"),
        "replay_two_workers": serve_command(archive, "--workers", "2"),
        "original_one_record": [*original, str(folder / "one" / CACHE)],
    }


class _Questions(NamedTuple):
    """What servers are asked."""

    asks: list[Ask]
    single: list[Ask]
    """One of each API."""
    body: bytes
    """What the bare server says to everything."""

    def of_round(self, number: int, label: str) -> dict[str, list[Ask]]:
        """By phase; a round's `each` begins where the clients were not yet."""
        if label == "original_one_record":
            return {"again": self.single}
        start = number * (len(self.asks) // CLIENTS // (ROUNDS + 1))
        phases = {"again": self.asks[:AGAIN], "each": self.asks[start:] + self.asks[:start]}
        if label == "bare":
            return {phase: [Ask(ask.request, self.body) for ask in asks] for phase, asks in phases.items()}
        return phases


def _measure_all(up: dict[str, Server], questions: _Questions) -> dict[str, list[Sample]]:
    samples: dict[str, list[Sample]] = {}
    for number in range(ROUNDS + 1):
        for label, server in up.items():
            for phase, asks in questions.of_round(number, label).items():
                sample = _measure(server, asks)
                if number:  # the first round is for warming up
                    samples.setdefault(f"{label}_{phase}", []).append(sample)
    return samples


def _measure(server: Server, asks: list[Ask]) -> Sample:
    before = cpu_seconds(server.pid)
    load = run_load(server.port, asks, clients=CLIENTS, seconds=SECONDS)
    assert not load.wrong, load.wrong[0]
    cpu_us = (cpu_seconds(server.pid) - before) / len(load.times) * 1e6
    return Sample(load.rate, load.percentile_ms(0.5), load.percentile_ms(0.99), cpu_us)


def _measure_cold(folder: Path, label: str, asks: list[Ask]) -> dict[str, float]:
    """Medians over a few starts."""
    found = []
    for _ in range(COLD_STARTS):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                _forget_pages(path)
        with running(_commands(folder)[label]) as server:
            first = run_load(server.port, asks[:1], clients=1, seconds=0)
            seen = run_load(server.port, asks[1 : COLD + 1], clients=CLIENTS, seconds=COLD_SECONDS, once=True)
            assert not first.wrong + seen.wrong, first.wrong + seen.wrong
            found.append((server.start_s, server.start_s + first.seconds, seen.rate))
    names = ("accepts_after_s", "first_answer_after_s", "rate")
    return {name: round(statistics.median(row[n] for row in found), 3) for n, name in enumerate(names)}


def _forget_pages(path: Path) -> None:
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _middle(rounds: list[Sample]) -> dict[str, float]:
    """The median of each figure over the rounds."""
    middle = Sample(*(statistics.median(figures) for figures in zip(*rounds, strict=True)))
    return {label: round(value, 2) for label, value in middle._asdict().items()}


def _ratios(samples: dict[str, list[Sample]], to: str) -> dict[str, dict[str, float]]:
    """Rates and processor times against one server, round by round."""
    found = {}
    for label, rounds in samples.items():
        server, _, phase = label.rpartition("_")
        if server == to:
            continue
        pairs = list(zip(rounds, samples[f"{to}_{phase}"], strict=True))
        found[label] = {
            "rate": round(statistics.median(ours.rate / other.rate for ours, other in pairs), 2),
            "cpu": round(statistics.median(other.cpu_us / ours.cpu_us for ours, other in pairs), 2),
        }
    return found


@contextmanager
def running(command: list[str], given: bytes = b"") -> Iterator[Server]:
    """Run a server until the block ends; its port is the last word of its command."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = time.perf_counter()
    process = subprocess.Popen(
        [*command, str(port)],
        cwd=CHECKOUT,
        env=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.close()
        while not _accepts(port):
            assert process.poll() is None, "the server did not start"
            time.sleep(0.01)
        yield Server(port, process.pid, time.perf_counter() - start)
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            # A server with a log makes a run of it when it stops, which takes its time and is not measured.
            process.kill()
            process.wait()


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
