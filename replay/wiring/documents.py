"""JSON documents for people and other programs (import reports, want lists): whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replay.core.canonical import canonical_bytes
from replay.core.errors import StoreError
from replay.core.types import Json

__all__ = ["staged_document", "write_document"]


def write_document(path: Path, document: Json) -> None:
    """Write one document. Errors: StoreError, and then nothing is left behind."""
    with staged_document(path, document):
        pass


@contextmanager
def staged_document(path: Path, document: Json) -> Iterator[None]:
    """Write a document beside its place and move it there when the work inside has succeeded.

    Errors:  StoreError before the work begins when the document cannot be written.
    """
    temporary = path.with_name(f".{path.name}.new")
    try:
        try:
            temporary.write_bytes(canonical_bytes(document) + b"\n")
        except OSError as error:
            raise _cannot_write(path, error) from None
        yield
        try:
            temporary.replace(path)
        except OSError as error:
            raise _cannot_write(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)


def _cannot_write(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write {path.name}: {error.strerror}",
        where=str(path),
        expected="a writable folder with room",
        next_step="choose another place",
    )
