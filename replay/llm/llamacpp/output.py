"""The text of one generation as it grows: bytes of tokens, stop strings found across token borders."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Output"]


class Output:
    """Bytes so far, and where a stop string cut them.

    Tokens may end inside a character and stop strings may span tokens, so everything is done on bytes; the
    text is decoded once, at the end.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Watch for the given stop strings; without any, nothing is searched."""
        self._stops = tuple(sorted({stop.encode("utf-8") for stop in stops}))
        self._longest = max((len(stop) for stop in self._stops), default=0)
        self._bytes = bytearray()
        self._cut: int | None = None

    def add(self, piece: bytes) -> bool:
        """Append the bytes of a token; True when a stop string is complete now."""
        start = max(len(self._bytes) - self._longest + 1, 0)
        self._bytes += piece
        found = [place for stop in self._stops if (place := self._bytes.find(stop, start)) >= 0]
        if found:
            self._cut = min(found)
        return bool(found)

    def settled(self) -> bytes:
        """Return what no stop string that is still to be completed can cut away."""
        end = self._cut
        if end is None and self._longest:
            end = max(len(self._bytes) - self._longest + 1, 0)
        return bytes(self._bytes[:end])

    def kept(self) -> bytes:
        """Return what came before the first stop string."""
        return bytes(self._bytes[: self._cut])

    def text(self) -> str:
        """Decode what came before the first stop string; bytes that are no UTF-8 become U+FFFD."""
        return self.kept().decode("utf-8", "replace")
