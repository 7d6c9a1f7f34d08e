"""Memory of one and of two processes with the same model: the second brings its KV cache and little else.

Weights are mapped from the file, so that processes share them. Linux only: the kernel is asked for the sizes.
Run as a program it is one such process: it loads the file, answers once, says so, and reports its share of
memory when it is asked to.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from tests.bench.llm_load import CONTEXT_TOKENS, make_job, open_engine

__all__ = ["measure_memory"]

SEQUENCES = 4


def measure_memory(weights: Path, *, cache_bytes_per_token: int) -> dict[str, object]:
    """Proportional set sizes in bytes; two jobs should take 1.2 x one and the KV cache of the second."""
    cache = SEQUENCES * CONTEXT_TOKENS * cache_bytes_per_token
    (one,), two = _measure(weights, 1), _measure(weights, 2)
    return {
        "one_bytes": one,
        "two_bytes": sum(two),
        "kv_cache_bytes": cache,
        "weights_bytes": weights.stat().st_size,
        "two_less_a_cache_over_one": round((sum(two) - cache) / one, 3),
    }


def _measure(weights: Path, count: int) -> list[int]:
    """Let so many processes answer, then ask each while all are there."""
    command = [sys.executable, "-m", "tests.bench.llm_memory", str(weights)]
    with ExitStack() as stack:
        children = [
            stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(count)
        ]
        for child in children:
            _stream(child.stdout).readline()
        sizes = []
        for child in children:
            _stream(child.stdin).write("size\n")
            _stream(child.stdin).flush()
            sizes.append(int(_stream(child.stdout).readline()))
        for child in children:
            _stream(child.stdin).close()
        return sizes


def _stream(found: IO[str] | None) -> IO[str]:
    assert found is not None
    return found


def _share_bytes() -> int:
    """Memory of this process; a page that n processes map counts as its nth part."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise OSError("no Pss in smaps_rollup")


def _serve(weights: Path) -> None:
    with open_engine(weights, sequences=SEQUENCES) as engine:
        engine.generate(make_job(engine.tokenize("What is the weather in Oslo? " * 60), count=8))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for _ in sys.stdin:
            sys.stdout.write(f"{_share_bytes()}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
