"""`POST /virtual` against the original's design and against the least that uvicorn can do.

All servers are processes of their own over the same records (`virtual_data`), asked in turn by the same eight
clients, round after round, and every answer is compared with what is recorded. Rates on a shared machine
move; so ratios are taken within a round and their medians shown, of rates and of the processor time that a
server took for a request.

`again`: a thousand calls over and over, whose answers a worker keeps in memory. `each`: other calls in every
round, more than a worker keeps, so that nearly every answer comes out of the sealed store. The original loads
a file both times; `original_one_record` has files of one record, the least that its design can do.
"""

from __future__ import annotations

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
from tests.bench.virtual_data import Call, make_asks, make_calls, write_cache
from tests.support.commands import run_process
from tests.support.data import CHECKOUT

__all__ = ["CLIENTS", "Server", "prepare_archive", "run", "running", "serve_command"]

CLIENTS = 8
ROUNDS = 5
SECONDS = 0.5
AGAIN = 1_000
CACHE = "tool_response_cache"


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
        body = max((ask.answer for ask in asks), key=len)
        up = {
            label: stack.enter_context(running(command, body))
            for label, command in _commands(folder, calls).items()
        }
        samples = _measure_all(up, asks, body)
    return {
        "data": {"records": len(calls), "bytes": size_bytes},
        "clients": CLIENTS,
        "start_s": {label: round(server.start_s, 2) for label, server in up.items()},
        "servers": {label: _middle(rounds) for label, rounds in samples.items()},
        "times_the_original": _ratios(samples, "original"),
        "share_of_bare": _ratios(samples, "bare"),
    }


def prepare_archive(folder: Path) -> Path:
    """Import the cache that lies in a folder's `cache`, as a user does."""
    archive = folder / "cache.replay"
    done = run_process("import", "stabletoolbench", folder / "cache", "-o", archive)
    assert done.code == 0, done.err
    return archive


def serve_command(archive: Path, *options: str | Path) -> list[str]:
    """`replay serve` as a process, its store beside the archive; the port is to be added."""
    words = [archive, "--home", archive.parent / "home", *options]
    return [sys.executable, "-m", "replay", "serve", *map(str, words), "--port"]


def _commands(folder: Path, calls: list[Call]) -> dict[str, list[str]]:
    """Every server that is measured; one record of each API is in the files of the last."""
    archive = prepare_archive(folder)
    write_cache(folder / "one" / CACHE, list({call[:3]: call for call in calls}.values()))
    original = [sys.executable, "-m", "tests.bench.original_server"]
    return {
        "original": [*original, str(folder / "cache" / CACHE)],
        "bare": [sys.executable, "-m", "tests.bench.bare_server"],
        "replay": serve_command(archive),
        "replay_log": serve_command(archive, "--log", folder / "log"),
        "replay_two_workers": serve_command(archive, "--workers", "2"),
        "original_one_record": [*original, str(folder / "one" / CACHE)],
    }


def _measure_all(up: dict[str, Server], asks: list[Ask], body: bytes) -> dict[str, list[Sample]]:
    samples: dict[str, list[Sample]] = {}
    step = len(asks) // CLIENTS // ROUNDS
    for number in range(ROUNDS + 1):
        turned = asks[number * step :] + asks[: number * step]
        for label, server in up.items():
            phases = {"again": asks[:AGAIN], "each": turned}
            if label == "bare":
                phases = {phase: [Ask(ask.request, body) for ask in given] for phase, given in phases.items()}
            if label == "original_one_record":
                phases = {"again": make_asks(list({call[:3]: call for call in make_calls()}.values()))}
            for phase, given in phases.items():
                sample = _measure(server, given)
                if number:  # the first round is for warming up
                    samples.setdefault(f"{label}_{phase}", []).append(sample)
    return samples


def _measure(server: Server, asks: list[Ask]) -> Sample:
    before = cpu_seconds(server.pid)
    load = run_load(server.port, asks, clients=CLIENTS, seconds=SECONDS)
    assert not load.wrong, load.wrong[0]
    cpu_us = (cpu_seconds(server.pid) - before) / len(load.times) * 1e6
    return Sample(load.rate, load.percentile_ms(0.5), load.percentile_ms(0.99), cpu_us)


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
        process.wait(20)


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
