"""The common case, read fast: a bracketed list of calls with plain literals and nothing else.

Owns one promise: what `read_plain` accepts means the same to the official decoder, to the strict reading and
to Python itself. Whatever could be read in two ways (bare words, operators, prefixes, odd escapes, positional
arguments, names beyond ASCII) is not accepted here and goes to the complete reading.
"""

from __future__ import annotations

import keyword
import re
from typing import Final

from replay.core.types import Json

__all__ = ["MAX_PLAIN_DEPTH", "Call", "read_plain"]

Call = tuple[str, dict[str, Json]]
"""Name and keyword arguments of one call."""

MAX_PLAIN_DEPTH: Final = 90
"""Brackets in one another; CPython refuses 200. Deeper texts take the complete reading."""

_MAX_DIGITS: Final = 4_300  # CPython's own limit for an integer in a source text

_WORDS: Final = re.compile(
    r"""[ \t\n]*('[^'\\\n\r\0]*'|"[^"\\\n\r\0]*\""""
    r"""|[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*[ ]*[(=]"""
    r"""|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?=[ \t\n,)\]}:])|True|False|None|[\[\](){},:]|.|\Z)""",
    re.DOTALL,
)
"""A name is one word with the bracket or the equals sign after it, so that bare words are no words."""

_CONSTANTS: Final = {"True": True, "False": False, "None": None}
_QUOTES: Final = frozenset("'\"")
_DIGITS: Final = frozenset("0123456789")


class _NotPlain(Exception):  # noqa: N818 - a jump, no failure
    """The text needs the complete reading."""


def read_plain(text: str) -> list[Call] | None:
    """Read a list of calls, or None when the text is not one in its plainest form.

    Shape:   arguments keep the order in which they were written; a name given twice keeps its last value.
    """
    if text[:1] != "[":
        return None
    try:
        if not text.isascii():
            text.encode()  # a lone surrogate is no source text
        words = _WORDS.findall(text)
        return _Reader(words).calls()
    except (_NotPlain, IndexError, UnicodeEncodeError):
        return None


class _Reader:
    """One text at work: `at` is the next word."""

    __slots__ = ("at", "depth", "words")

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.at = 1
        self.depth = 1

    def calls(self) -> list[Call]:
        words = self.words
        found: list[Call] = []
        word = words[1]
        while word != "]":
            if word[-1] != "(" or len(word) == 1:
                raise _NotPlain
            self.at += 1
            found.append((_name(word[:-1].rstrip(" ")), self._arguments()))
            word = words[self.at]
            if word == ",":
                self.at += 1
                word = words[self.at]
            elif word != "]":
                raise _NotPlain
        if any(words[self.at + 1 :]):
            raise _NotPlain
        return found

    def _arguments(self) -> dict[str, Json]:
        """Keyword arguments up to the closing bracket, which is taken."""
        words = self.words
        found: dict[str, Json] = {}
        word = words[self.at]
        while word != ")":
            if word[-1] != "=" or "." in word or len(word) == 1:
                raise _NotPlain
            self.at += 1
            found[_name(word[:-1].rstrip(" "))] = self._value()
            word = words[self.at]
            if word == ",":
                self.at += 1
                word = words[self.at]
            elif word != ")":
                raise _NotPlain
        self.at += 1
        return found

    def _value(self) -> Json:
        word = self.words[self.at]
        self.at += 1
        first = word[0] if word else ""
        if first in _QUOTES and len(word) > 1:
            return word[1:-1]
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if first in _DIGITS or (first == "-" and len(word) > 1):
            return _number(word)
        if word == "{":
            return self._mapping()
        if word == "[":
            return self._list()
        raise _NotPlain

    def _list(self) -> list[Json]:
        self._descend()
        words = self.words
        found: list[Json] = []
        while words[self.at] != "]":
            found.append(self._value())
            if words[self.at] == ",":
                self.at += 1
            elif words[self.at] != "]":
                raise _NotPlain
        self.at += 1
        self.depth -= 1
        return found

    def _mapping(self) -> dict[Json, Json]:
        self._descend()
        words = self.words
        found: dict[Json, Json] = {}
        while words[self.at] != "}":
            name = self._value()
            if type(name) is not str or words[self.at] != ":":
                raise _NotPlain
            self.at += 1
            found[name] = self._value()
            if words[self.at] == ",":
                self.at += 1
            elif words[self.at] != "}":
                raise _NotPlain
        self.at += 1
        self.depth -= 1
        return found

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > MAX_PLAIN_DEPTH:
            raise _NotPlain


def _name(name: str) -> str:
    """Refuse reserved words, alone or in a dotted path; the complete reading says what they are."""
    if keyword.iskeyword(name) or ("." in name and any(map(keyword.iskeyword, name.split(".")))):
        raise _NotPlain
    return name


def _number(word: str) -> int | float:
    if "." in word:
        return float(word)
    if len(word) > _MAX_DIGITS:
        raise _NotPlain
    return int(word)
