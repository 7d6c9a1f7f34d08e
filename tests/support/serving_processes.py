"""`replay serve` as a process of its own, started on a free port and stopped at the end of a block."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from replay.core.determinism import child_environment
from tests.support.data import CHECKOUT

__all__ = ["ServingProcess", "serving_process"]


class ServingProcess:
    """A running server; what it printed is there once it has stopped."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Wait until it accepts requests."""
        assert process.stdout is not None
        self.process = process
        line = process.stdout.readline()
        if not line:
            out, err = process.communicate(timeout=30)
            raise AssertionError(f"the server did not start: {out}{err}")
        self.address: str = json.loads(line)["address"]
        self.client = httpx.Client(base_url=self.address, timeout=60)
        self.out = self.err = ""

    def metric(self, name: str) -> int:
        """Read one counter."""
        lines = dict(line.rsplit(" ", 1) for line in self.client.get("/metrics").text.splitlines())
        return int(lines[f"replay_{name}_total"])

    def stop(self) -> int:
        """Stop it as a user does, and return its exit code."""
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.out, self.err = self.process.communicate(timeout=60)
        return self.process.returncode


@contextmanager
def serving_process(
    *words: str | Path, program: Sequence[str | Path] = ("-m", "replay")
) -> Iterator[ServingProcess]:
    """Run `replay serve` with these words until the block ends; `program` is what Python is told to run."""
    process = subprocess.Popen(
        [sys.executable, *map(str, program), "serve", *map(str, words), "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment(),
        cwd=CHECKOUT,
        text=True,
    )
    running = None
    try:
        running = ServingProcess(process)
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(60)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        if running is not None:
            running.client.close()
