"""Small files for people and other programs (reports, want lists, signatures): whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from replay.core.canonical import canonical_bytes
from replay.core.errors import StoreError
from replay.core.types import Json

__all__ = ["staged_document", "write_document", "write_file"]


def write_document(path: Path, document: Json) -> None:
    """Write one JSON document. Errors: StoreError, and then nothing is left behind."""
    with staged_document(path, document):
        pass


def write_file(path: Path, content: bytes) -> None:
    """Write one file. Errors: StoreError, and then nothing is left behind."""
    with _staged(path, content):
        pass


@contextmanager
def staged_document(path: Path, document: Json) -> Iterator[None]:
    """Write a document beside its place and move it there when the work inside has succeeded.

    Errors:  StoreError before the work begins when the document cannot be written.
    """
    with _staged(path, canonical_bytes(document) + b"\n"):
        yield


@contextmanager
def _staged(path: Path, content: bytes) -> Iterator[None]:
    temporary = path.with_name(f".{path.name}.new")
    try:
        with _disk_errors(path):
            temporary.write_bytes(content)
        yield
        with _disk_errors(path):
            temporary.replace(path)
    finally:
        # On a disk that cannot be written there is nothing to take away either.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot write {path.name}: {error.strerror}",
            where=str(path),
            expected="a writable folder with room",
            next_step="choose another place",
        ) from None
