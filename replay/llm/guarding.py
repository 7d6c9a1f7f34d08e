"""Control tokens that stand in somebody's text: they stay text.

A tool answer or a user may write `<|im_end|>`. Read as the control token it would end the message and let its
author speak as the system. So every spelling of a control token in a request is broken by a mark before the
conversation is rendered, and the rendered prompt is cut there: what the dialect wrote itself is read with
control tokens, what stood in the request is read as plain text. A mark is broken *into* a spelling, so
whatever a template does to it on the way, no control token can come of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from replay.core.errors import HistoryError
from replay.core.types import ChatRequest, Json

__all__ = ["GUARD_VERSION", "Guard", "Piece"]

GUARD_VERSION: Final = 1
"""A part of a local model's identity: raised when prompts are cut otherwise."""

_MARKS: Final = tuple(map(chr, range(0xFDD0, 0xFDF0)))
"""Code points that Unicode keeps out of texts; one that the request does not hold is taken."""


class Piece(NamedTuple):
    """A part of a prompt."""

    text: str
    is_plain: bool
    """True when control tokens in it are only text."""


class Guard:
    """Keeps the control tokens of one vocabulary out of what people and tools wrote. Safe to share."""

    def __init__(self, spellings: Iterable[str]) -> None:
        """Guard against these texts, each of which the tokenizer would read as one control token."""
        longest_first = sorted({text for text in spellings if text}, key=lambda text: (-len(text), text))
        self._spelled = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def write(self, request: ChatRequest) -> tuple[ChatRequest, str]:
        """Break every spelling in the texts of a request; return the mark, empty when there was none.

        Errors:  HistoryError when the request holds every mark there is.
        """
        if self._spelled is None:
            return request, ""
        plain = msgspec.to_builtins(request)
        texts = [*_texts(plain["messages"]), *_texts(plain["tools"])]
        if not any(map(self._spelled.search, texts)):
            return request, ""
        mark = next((mark for mark in _MARKS if not any(mark in text for text in texts)), "")
        if not mark:
            raise HistoryError("a conversation with all 32 code points that Unicode keeps out of texts")
        plain["messages"] = self._break(plain["messages"], mark)
        plain["tools"] = self._break(plain["tools"], mark)
        return msgspec.convert(plain, ChatRequest), mark

    def cut(self, prompt: str, mark: str) -> tuple[Piece, ...]:
        """Cut a rendered prompt into what the dialect wrote and what stood in the request."""
        if not mark:
            return (Piece(prompt, is_plain=False),)
        return tuple(piece for piece in self._cut(prompt, mark) if piece.text)

    def _cut(self, prompt: str, mark: str) -> Iterator[Piece]:
        done = 0
        for found in re.finditer(f"[^{mark}]?{mark}+", prompt):
            whole = self._restore(prompt, found, mark)
            yield Piece(prompt[done : found.start()].replace(mark, ""), is_plain=False)
            yield Piece(whole.replace(mark, ""), is_plain=True)
            done = found.start() + len(whole)
        yield Piece(prompt[done:].replace(mark, ""), is_plain=False)

    def _restore(self, prompt: str, found: re.Match[str], mark: str) -> str:
        """Find how far the spelling reaches that was broken here; only the break when a template cut it."""
        assert self._spelled is not None
        rest = self._spelled.match(found.group().replace(mark, "") + prompt[found.end() : found.end() + 256])
        reach = 0 if rest is None else len(rest.group()) - len(found.group().replace(mark, ""))
        return prompt[found.start() : found.end() + max(reach, 0)]

    def _break(self, value: Json, mark: str) -> Json:
        if isinstance(value, str):
            assert self._spelled is not None
            return self._spelled.sub(lambda found: f"{found.group()[0]}{mark}{found.group()[1:]}", value)
        if isinstance(value, list | tuple):
            return [self._break(item, mark) for item in value]
        if isinstance(value, dict):
            return {self._break(name, mark): self._break(item, mark) for name, item in value.items()}
        return value


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
