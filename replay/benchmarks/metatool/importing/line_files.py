"""Text files of outputs: read within bounds, one JSON value a line; model output in them is hostile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from replay.benchmarks.plain_files import plain_status
from replay.core.errors import InputError, LimitError
from replay.core.types import Json

__all__ = ["clean_text", "decode_json", "read_lines", "read_text"]

MAX_OUTPUT_BYTES: Final = 512 << 20
"""5,327 answers of 64 KiB come to 340 MB."""


def read_text(path: Path) -> str:
    """Read a file of outputs, with or without a byte order mark. Raises InputError or LimitError."""
    try:
        size = plain_status(path, follow=True).st_size
        if size > MAX_OUTPUT_BYTES:
            raise LimitError(
                f"a file of {size} bytes", where=path.name, expected=f"at most {MAX_OUTPUT_BYTES} bytes"
            )
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise InputError(what, where=path.name, expected="a readable file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}", where=path.name, expected="UTF-8 text") from None


def read_lines(text: str, *, where: str) -> Iterator[tuple[int, Json]]:
    """Decode one JSON value a line, with its line number from 1; blank lines are passed over."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, decode_json(line, where=f"{where}, line {number}")


def decode_json(text: str, *, where: str) -> Json:
    """Decode one JSON value as Python's reader does. Raises InputError saying where it stops being one."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"not a JSON value: {what}", where=where, expected="JSON") from None


def clean_text(text: str) -> str:
    """Replace lone surrogates, which models write as escapes and no store keeps, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
