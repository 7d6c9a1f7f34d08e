"""What a person or a program sees: results on standard output, everything else on standard error.

One `Screen` a command. With `--json` there is exactly one document (or JSON lines, for streams) on standard
output and errors are JSON on standard error; progress is drawn only on a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TextIO

import msgspec

from replay.core.determinism import read_environment
from replay.core.errors import ReplayError, StoreError
from replay.core.types import Json

__all__ = ["Advance", "Screen", "count_of", "freezing_line", "render_table"]


class Advance(Protocol):
    """Reports that `done` of `total` steps are behind us."""

    def __call__(self, done: int, total: int, what: str = "") -> None:
        """Move the bar."""
        ...


class Screen:
    """Standard output and standard error of one command."""

    def __init__(self, *, json: bool = False) -> None:
        """Choose text or JSON; the streams are looked up when used, so that tests can capture them."""
        self.json = json

    def say(self, text: str) -> None:
        """Print one line of result text (nothing with `--json`)."""
        if not self.json:
            _print(text)

    def emit(self, document: Json) -> None:
        """Print one JSON document on one line (nothing without `--json`)."""
        if self.json:
            _print(msgspec.json.encode(document).decode())

    def flush(self) -> None:
        """Bring everything that was printed to its reader. Errors: StoreError when it cannot be written."""
        with _output_errors():
            if sys.stdout is not None:
                sys.stdout.flush()

    def log(self, text: str) -> None:
        """Tell what is going on, on standard error."""
        if sys.stderr is None:
            return
        try:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        except OSError:
            # Without a standard error there is nobody to tell; the exit code says the rest.
            _leave(sys.stderr)

    def fail(self, error: ReplayError) -> None:
        """Print one error: a line of text, or its parts as JSON."""
        self.log(msgspec.json.encode(error.to_json()).decode() if self.json else f"replay: {error}")

    @contextmanager
    def progress(self, title: str) -> Iterator[Advance]:
        """Draw a bar on a terminal; elsewhere, and where NO_COLOR asks for plain text, stay quiet."""
        if not _may_draw():
            yield _stay_quiet
            return
        # rich costs 60 ms to import and is needed on a terminal only.
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bars:
            bar = bars.add_task(title, total=None)

            def advance(done: int, total: int, what: str = "") -> None:
                bars.update(bar, completed=done, total=total, description=f"{title} {what}".strip())

            yield advance


def count_of(number: int, noun: str) -> str:
    """Write a number with what it counts: 1 task, 2 tasks."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def freezing_line(overlay: str, base: Path | None) -> str:
    """Tell how an archive is made of what was recorded over another one, or over none."""
    below = f" --base {base}" if base else ""
    return f"freeze it  replay archive freeze {overlay} -o NAME.replay{below}"


def render_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay rows out in columns, two blanks apart; numbers are whatever text the caller made of them."""
    table = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
    return "\n".join(line.rstrip() for line in lines)


def _may_draw() -> bool:
    if read_environment("FORCE_COLOR"):
        return sys.stderr is not None
    return sys.stderr is not None and sys.stderr.isatty() and not read_environment("NO_COLOR")


def _print(line: str) -> None:
    with _output_errors():
        if sys.stdout is not None:
            sys.stdout.write(line + "\n")


@contextmanager
def _output_errors() -> Iterator[None]:
    """Go on without a reader that has gone (`| head`); a full disk is an error like any other."""
    try:
        yield
    except BrokenPipeError:
        _leave(sys.stdout)
    except OSError as error:
        _leave(sys.stdout)
        raise StoreError(
            f"cannot write to standard output: {error.strerror}", next_step="make room, or write elsewhere"
        ) from None


def _leave(stream: TextIO) -> None:
    """Send what is still buffered nowhere: Python writes it once more when it ends, and must not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _stay_quiet(done: int, total: int, what: str = "") -> None:
    """Progress of a command whose standard error is not a terminal."""
    del done, total, what
