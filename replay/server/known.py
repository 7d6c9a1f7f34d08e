"""What is said between a connection and an application that knows answers by heart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Protocol, runtime_checkable

__all__ = ["WHOLE", "Header", "Recalls"]

Header = tuple[bytes, bytes]

WHOLE: Final = "replay.whole"
"""ASGI extension of a request whose body has come already, so that nobody has to watch it come."""


@runtime_checkable
class Recalls(Protocol):
    """An application that knows answers by heart."""

    @property
    def recalled(self) -> Collection[bytes]:
        """Raw paths for which it is worth asking."""
        ...

    def recall(self, path: bytes, headers: Sequence[Header], body: bytes) -> bytes | None:
        """Give the whole HTTP answer to a POST, counted and written down like any other, or None."""
        ...
