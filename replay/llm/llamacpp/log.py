"""What the C library says, kept for error texts instead of going to a terminal."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["LibraryLog"]

_STDERR: Final = 2

_LINES: Final = 40
_WARNING: Final = 3  # ggml_log_level: 1 debug, 2 info, 3 warning, 4 error, 5 continued line
_ERROR: Final = 4

_CAPTURED_BYTES: Final = 4096
"""The first lines say what is wrong; the rest is the text that was being read."""


class LibraryLog:
    """The last warnings and errors of the library, for each thread its own."""

    def __init__(self) -> None:
        self._threads = threading.local()
        self._redirecting = threading.Lock()

    def clear(self) -> None:
        """Forget what this thread's earlier calls said."""
        self._lines().clear()

    def _lines(self) -> deque[str]:
        found: deque[str] | None = getattr(self._threads, "lines", None)
        if found is None:
            found = self._threads.lines = deque(maxlen=_LINES)
        return found

    def write(self, level: int, text: bytes | None, _data: object) -> None:
        """Take one message; called by C code on whatever thread it runs."""
        if level in {_WARNING, _ERROR} and text:
            self._lines().append(text.decode("utf-8", "replace").strip())

    def reason(self) -> str:
        """The first error that says more than that something failed, shortened."""
        told = [re.sub(r"^\w+: (error loading model: )?", "", line) for line in self._lines()]
        telling = [line for line in told if line and not line.startswith("failed to load model")]
        return (telling or told or ["no reason given"])[0][:300]

    @contextmanager
    def capture_stderr(self) -> Iterator[None]:
        """Take what C code writes to standard error by itself, past the callback, as the grammar parser does.

        The descriptor belongs to the whole process, so this is for calls of a millisecond.
        """
        with self._redirecting, tempfile.TemporaryFile() as catcher:
            try:
                real = os.dup(_STDERR)
            except OSError:  # closed: nothing can be written to it
                yield
                return
            try:
                os.dup2(catcher.fileno(), _STDERR)
                try:
                    yield
                finally:
                    os.dup2(real, _STDERR)
            finally:
                os.close(real)
            catcher.seek(0)
            text = catcher.read(_CAPTURED_BYTES).decode("utf-8", "replace")
            self._lines().extend(line.strip() for line in text.splitlines() if line.strip())
