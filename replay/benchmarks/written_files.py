"""Files of answers in upstream's forms: each is there whole or not at all, in every benchmark."""

from __future__ import annotations

from pathlib import Path

from replay.core.determinism import temporary_name
from replay.core.errors import StoreError

__all__ = ["write_file"]


def write_file(path: Path, text: str, *, encoding: str = "utf-8") -> None:
    """Write a file, and the folders above it, line ends as they are.

    Errors:  StoreError when the disk refuses; then nothing is left behind.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(temporary_name(path.name))
        try:
            draft.write_text(text, encoding=encoding, newline="")
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"an answer file cannot be written: {error.strerror or error}",
            where=path.name,
            next_step="check the folder and the free space, then write again",
        ) from None
