"""First bytes of a vocabulary: which tokens a grammar must never let through, and which it need not look at.

llama.cpp's grammar reads a control token as the text it is written with, so that `<|im_start|>` could stand
in a JSON string; the generated text leaves such tokens out. They are never allowed. And since a grammar that
refuses a token's first byte refuses the token, one probe a byte spares most of the vocabulary.
"""

from __future__ import annotations

import codecs
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

import numpy as np

from replay.llm.llamacpp.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["TokenTable"]

_BYTES: Final = 256
_END: Final = _BYTES  # stands for the first byte of end tokens, which are always looked at
_SILENT: Final = _BYTES + 1  # and of tokens that add no text

_MOST_KNOWN: Final = 1024
"""Beginnings of characters that are remembered; no text has many."""


class TokenTable:
    """First bytes of all tokens."""

    def __init__(self, vocabulary: Vocabulary, end_tokens: AbstractSet[int]) -> None:
        """Read the text of every token once: about half a second for 262,144 tokens."""
        size = vocabulary.size()
        self._broken: dict[int, bytes] = {}
        self._first = np.full(size, _SILENT, dtype=np.int16)
        alone = np.full(_BYTES, -1, dtype=np.int32)
        for token in range(size):
            piece = b"" if token in end_tokens else vocabulary.piece(token, special=False)
            if piece:
                self._first[token] = piece[0]
                if not _is_utf8(piece):
                    self._broken[token] = piece
                if len(piece) == 1 and alone[piece[0]] < 0:
                    alone[piece[0]] = token
        self._first[sorted(end_tokens)] = _END
        self.probes: npt.NDArray[np.int32] = alone[alone >= 0]
        """Tokens that are one byte each."""
        self._is_broken = np.zeros(size, dtype=bool)
        self._is_broken[list(self._broken)] = True
        self._known: dict[bytes, npt.NDArray[np.int32]] = {}
        self._unprobed = np.flatnonzero(alone < 0)

    def is_silent(self, token: int) -> bool:
        """Tell whether a token adds no text and does not end the generation: a control token, for example."""
        return bool(self._first[token] == _SILENT)

    def follow(self, token: int, begun: bytes) -> bytes | None:
        """Go on with a character that was begun; return what is begun after the token.

        None when no character has these bytes: llama.cpp lets characters through that are written with more
        bytes than they need.
        """
        piece = self._broken.get(token)
        if piece is None:
            return None if begun else b""
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(begun + piece)
        except UnicodeDecodeError:
            return None
        return decoder.getstate()[0]

    def without_broken(self, tokens: npt.NDArray[np.int32], begun: bytes) -> npt.NDArray[np.int32]:
        """Take out the tokens after which no character can be completed."""
        if not self._broken and not begun:
            return tokens
        going_on = self._going_on(begun)
        if begun:  # every whole character would break the one that was begun
            return tokens[np.isin(tokens, going_on)]
        return tokens[~self._is_broken[tokens] | np.isin(tokens, going_on)]

    def _going_on(self, begun: bytes) -> npt.NDArray[np.int32]:
        """List the tokens of broken characters that go on with what was begun; looked up once for each."""
        found = self._known.get(begun)
        if found is None:
            fitting = [token for token in self._broken if self.follow(token, begun) is not None]
            found = np.array(fitting, dtype=np.int32)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[begun] = found
        return found

    def starting_with(self, allowed: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
        """List the tokens that may be allowed when of the probes these are, in order of id."""
        is_open = np.zeros(_BYTES + 2, dtype=bool)
        is_open[self._unprobed] = True
        is_open[self._first[allowed]] = True
        is_open[_END] = True
        return np.flatnonzero(is_open[self._first])


def _is_utf8(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True
