"""How an answer is cut for a stream: at words, the same way whether it is generated now or was recorded.

A piece is the white space before a word and the word, or the next `LONGEST` characters of a longer one. It
is sent as soon as it is certain; when that is changes no byte. A token with a log-probability goes with the
first piece that reaches the place where the token begins.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from replay.core.errors import InternalError
from replay.core.logprobs import RankedToken

__all__ = ["LONGEST", "Cutter", "Piece", "Placed", "place_tokens"]

LONGEST: Final = 16
"""Characters of a word that are sent at once: languages without spaces and long JSON stream too."""

_PIECE: Final = re.compile(rf"\s*\S{{1,{LONGEST}}}|\s+")


class Placed(NamedTuple):
    """A token and where it begins in the words."""

    token: RankedToken
    offset: int
    """Units: characters."""


class Piece(NamedTuple):
    """A part of the words, and the tokens that go with it."""

    text: str
    tokens: tuple[Placed, ...]


class Cutter:
    """Cuts the words of one answer, which may grow."""

    def __init__(self) -> None:
        """Start with no words."""
        self._told = ""
        self._places = _Places()

    def grow(self, words: str, tokens: Sequence[RankedToken]) -> Iterator[Piece]:
        """Yield the pieces that are certain now that the answer begins with these words."""
        if len(words) > len(self._told):
            yield from self._cut(words, tokens, is_whole=False)

    def end(self, words: str, tokens: Sequence[RankedToken]) -> Iterator[Piece]:
        """Yield the rest of the whole answer."""
        yield from self._cut(words, tokens, is_whole=True)

    def rest(self, tokens: Sequence[RankedToken]) -> tuple[Placed, ...]:
        """Return the tokens that went with no piece."""
        return self._places.take(tokens, None)

    def _cut(self, words: str, tokens: Sequence[RankedToken], *, is_whole: bool) -> Iterator[Piece]:
        if not words.startswith(self._told):
            raise InternalError("an answer does not begin with what was said of it")
        for found in _PIECE.finditer(words, len(self._told)):
            if not is_whole and found.end() == len(words) and not _is_full(found.group()):
                return
            self._told = words[: found.end()]
            yield Piece(found.group(), self._places.take(tokens, self._told))


def place_tokens(words: str, tokens: Sequence[RankedToken]) -> tuple[Placed, ...]:
    """Place the tokens of a whole answer."""
    cutter = Cutter()
    pieces = [placed for piece in cutter.end(words, tokens) for placed in piece.tokens]
    return (*pieces, *cutter.rest(tokens))


def _is_full(piece: str) -> bool:
    return len(piece.lstrip()) == LONGEST


class _Places:
    """Where each token begins: the words are the text of the tokens without the white space in front."""

    def __init__(self) -> None:
        self._given = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""

    def take(self, tokens: Sequence[RankedToken], words: str | None) -> tuple[Placed, ...]:
        """Return the next tokens that begin before the end of these words, or all that are left."""
        taken: list[Placed] = []
        for token in tokens[self._given :]:
            is_kept = words is not None and words[:1].isspace()
            in_front = 0 if is_kept else len(self._text) - len(self._text.lstrip())
            offset = len(self._text) - in_front
            if words is not None and offset >= len(words):
                break
            taken.append(Placed(token, offset))
            self._text += self._decoder.decode(token.piece)
        self._given += len(taken)
        return tuple(taken)
