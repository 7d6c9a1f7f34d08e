"""The command line for tests: in this process for speed, in a process of its own where that matters."""

from __future__ import annotations

import io
import resource
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import msgspec

from replay.cli.main import main
from replay.core.determinism import child_environment
from replay.core.types import Json
from tests.support.data import CHECKOUT

__all__ = ["MINI", "SOURCES", "Answered", "read_folder", "run_command", "run_process"]

MINI = "stabletoolbench-mini-1.0"
"""Name of the shipped archive."""

SOURCES = CHECKOUT / "snapshots" / "sources" / "stabletoolbench-mini"
"""Upstream-shaped files that the shipped archive was made from."""


class Answered(NamedTuple):
    """What a command printed and the code it ended with."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Json:
        """The one JSON document on standard output."""
        (line,) = self.out.splitlines()
        return msgspec.json.decode(line)

    @property
    def documents(self) -> list[Json]:
        """The JSON lines on standard output."""
        return [msgspec.json.decode(line) for line in self.out.splitlines()]

    @property
    def error(self) -> Json:
        """The one JSON error on standard error."""
        (line,) = self.err.splitlines()
        return msgspec.json.decode(line)


def run_command(*words: str | Path) -> Answered:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    return Answered(code, out.getvalue(), err.getvalue())


def run_process(
    *words: str | Path,
    cwd: Path = CHECKOUT,
    limit_bytes: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> Answered:
    """Run `python -m replay` in a process of its own, with nothing of the caller's environment.

    limit_bytes: no file may grow beyond it, as on a disk that is full.
    """

    def limit() -> None:
        if limit_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    done = subprocess.run(
        [sys.executable, "-m", "replay", *map(str, words)],
        check=False,
        capture_output=True,
        cwd=cwd,
        # Python itself would leave half a bytecode file behind where files cannot grow.
        env={**child_environment(), "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})},
        timeout=300,
        preexec_fn=limit,
    )
    return Answered(done.returncode, done.stdout.decode(), done.stderr.decode())


def read_folder(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes, to see that a command left it alone."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }
