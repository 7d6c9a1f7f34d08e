"""64 clients for a minute against `/virtual`: every answer whole and right, memory flat.

Run it: `python -m tests.bench.serve_soak [SECONDS]`; exit 1 when an answer was wrong or memory grew. It is
not among the benches, for it takes a minute by its nature. The clients walk through the records of a cache
like the benchmark's (`virtual_data`), each from another place on, with a text that is no JSON after every
tenth, and compare each answer byte by byte with what is recorded. Memory is what the server and its workers
hold for themselves, once each worker has been asked about everything, and after each part from then on. Linux
only.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.bench_serve import CACHE, prepare_archive, running, serve_command
from tests.bench.http_load import Ask, memory_bytes, run_load
from tests.bench.virtual_data import make_asks, make_calls, make_request, write_cache

__all__ = ["Soak", "soak"]

CLIENTS: Final = 64
SECONDS: Final = 60.0
APIS: Final = 600
WORKERS: Final = 2

_PARTS: Final = 12
_WARM_S: Final = 1.0
_WARM_WALKS: Final = 10
"""Each worker has half of the clients, so this often the whole list is sure to reach both."""
_GROWTH_BYTES: Final = 4 * 1024 * 1024
"""What allocators may keep of their own in a minute; a leak of 20 bytes a request is more."""
_REFUSED: Final = b'{"error":"Tool input parse error...\\n","response":""}'


class Soak(NamedTuple):
    """What was seen."""

    answers: int
    wrong: tuple[bytes, ...]
    """Answers that were not what is recorded, and connections that broke: the first of each client."""
    rate: float
    p50_ms: float
    p99_ms: float
    longest_ms: float
    memory_mib: tuple[float, ...]
    """After warming up, then after each part."""

    @property
    def growth_bytes(self) -> int:
        """Memory of the last third less that after warming up."""
        last = self.memory_mib[-(len(self.memory_mib) // 3) :]
        return round((statistics.median(last) - self.memory_mib[0]) * 2**20)

    @property
    def is_sound(self) -> bool:
        """Every answer right and memory flat."""
        return bool(self.answers) and not self.wrong and self.growth_bytes <= _GROWTH_BYTES


def soak(folder: Path, *, seconds: float = SECONDS, apis: int = APIS, clients: int = CLIENTS) -> Soak:
    """Load a server of its own, over an archive of its own made in this empty folder."""
    calls = list(make_calls(apis=apis))
    write_cache(folder / "cache" / CACHE, calls)
    asks = list(_mixed(make_asks(calls)))
    command = serve_command(prepare_archive(folder), "--workers", str(WORKERS))
    with running(command) as server:

        def load(part_s: float) -> tuple[list[float], tuple[bytes, ...]]:
            seen = run_load(server.port, asks, clients=clients, seconds=part_s)
            return list(seen.times), seen.wrong

        parts = [load(_WARM_S)]
        while sum(len(times) for times, _ in parts) < _WARM_WALKS * len(asks):
            parts.append(load(_WARM_S))
        warm = len(parts)
        memory = [memory_bytes(server.pid) / 2**20]
        for _ in range(_PARTS):
            parts.append(load(seconds / _PARTS))
            memory.append(memory_bytes(server.pid) / 2**20)
    times = sorted(time for part, _ in parts[warm:] for time in part)
    return Soak(
        answers=len(times),
        wrong=tuple(said for _, wrong in parts for said in wrong),
        rate=round(len(times) / seconds, 1),
        p50_ms=round(times[len(times) // 2] * 1e3, 2),
        p99_ms=round(times[len(times) * 99 // 100] * 1e3, 2),
        longest_ms=round(times[-1] * 1e3, 2),
        memory_mib=tuple(round(size, 2) for size in memory),
    )


def _mixed(asks: list[Ask]) -> Iterator[Ask]:
    """The asks, with one whose arguments are no JSON after every tenth."""
    for number, ask in enumerate(asks):
        yield ask
        if number % 10 == 0:
            fields = {"category": "Category_0", "tool_name": "tool_0", "api_name": "api_0"}
            yield Ask(make_request({**fields, "tool_input": f"{{{number}"}), _REFUSED)


def main(seconds: float) -> int:
    """Soak, and print what was seen as one JSON document."""
    with tempfile.TemporaryDirectory() as name:
        found = soak(Path(name), seconds=seconds)
    wrong = [said.decode("latin-1")[:500] for said in found.wrong]
    shown = {**found._asdict(), "wrong": wrong, "growth_bytes": found.growth_bytes, "sound": found.is_sound}
    sys.stdout.write(json.dumps(shown, indent=2) + "\n")
    return 0 if found.is_sound else 1


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS))
