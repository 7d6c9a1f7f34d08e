"""The common case, read fast: a bracketed list of calls with plain literals and nothing else.

Owns one promise: what `read_plain` accepts means the same to the official decoder, to the strict reading and
to Python itself. Whatever could be read in two ways (bare words, operators, prefixes, escapes, positional or
repeated arguments, calls in arguments, names beyond ASCII) is not accepted here and goes to the complete
reading.

One pass of a pattern cuts the text into words; the functions below take the words from place `at` on and
return what they read with the place after it. They are written for speed: values that are no containers are
read where they stand.
"""

from __future__ import annotations

import keyword
import re
from typing import Final

from replay.core.types import Json

__all__ = ["Call", "read_plain"]

Call = tuple[str, dict[str, Json]]
"""Name and keyword arguments of one call."""

_MAX_DEPTH: Final = 90
"""Brackets in one another; CPython refuses 200. Deeper texts take the complete reading."""

_WORDS: Final = re.compile(
    r"""[ \t\n]*+([=,:\[\](){}]|'[^'\\\n\r\0]*+'|"[^"\\\n\r\0]*+\""""
    r"""|[A-Za-z_][A-Za-z0-9_.]*+|[0-9-][A-Za-z0-9_.]*+|.|\Z)""",
    re.DOTALL,
)
"""Signs, texts, names and what begins like a number; any other character is a word that nothing accepts.
Nothing is tried twice, so the time is that of one pass, whatever the text."""

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?")
_DOTTED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+(?:\.[A-Za-z_][A-Za-z0-9_]*+)++")
_CONSTANTS: Final[dict[str, Json]] = {"True": True, "False": False, "None": None}
_QUOTES: Final = frozenset("'\"")
_KEYWORDS: Final = frozenset(keyword.kwlist)


class _NotPlain(Exception):  # noqa: N818 - a jump, no failure
    """The text needs the complete reading."""


def read_plain(text: str) -> list[Call] | None:
    """Read a list of calls, or None when the text is not one in its plainest form.

    Shape:   arguments keep the order in which they were written.
    """
    if text[:1] != "[":
        return None
    try:
        if not text.isascii():
            text.encode()  # a lone surrogate is no source text
        return _calls(_WORDS.findall(text))
    except (_NotPlain, IndexError, ValueError):  # ValueError: more digits than CPython takes, a surrogate
        return None


def _calls(words: list[str]) -> list[Call]:
    found: list[Call] = []
    at = 1
    while words[at] != "]":
        name = words[at]
        if words[at + 1] != "(" or not (_is_name(name) or _is_dotted(name)):
            raise _NotPlain
        arguments, at = _arguments(words, at + 2)
        found.append((name, arguments))
        if words[at] == ",":
            at += 1
        elif words[at] != "]":
            raise _NotPlain
    if any(words[at + 1 :]):
        raise _NotPlain
    return found


def _is_name(name: str) -> bool:
    return name.isidentifier() and name.isascii() and name not in _KEYWORDS


def _is_dotted(name: str) -> bool:
    return _DOTTED.fullmatch(name) is not None and _KEYWORDS.isdisjoint(name.split("."))


def _arguments(words: list[str], at: int) -> tuple[dict[str, Json], int]:
    """Keyword arguments up to the closing bracket of their call."""
    found: dict[str, Json] = {}
    while words[at] != ")":
        name, word = words[at], words[at + 2]
        if words[at + 1] != "=" or name in found or name in _KEYWORDS or not name.isidentifier():
            raise _NotPlain
        if word[0] in _QUOTES and len(word) > 1:
            found[name] = word[1:-1]
            at += 3
        else:
            found[name], at = _value(words, at + 2, 1)
        word = words[at]
        if word == ",":
            at += 1
        elif word != ")":
            raise _NotPlain
    if not "".join(found).isascii():
        raise _NotPlain  # Python folds letters of other scripts into one form
    return found, at + 1


def _value(words: list[str], at: int, depth: int) -> tuple[Json, int]:
    """Any value but a text."""
    word = words[at]
    if word == "{":
        return _mapping(words, at + 1, depth + 1)
    if word == "[":
        return _list(words, at + 1, depth + 1)
    if word in _CONSTANTS:
        return _CONSTANTS[word], at + 1
    if word.isdigit() and word.isascii() and word[0] != "0":
        return int(word), at + 1
    if _NUMBER.fullmatch(word) is None:
        raise _NotPlain
    return float(word) if "." in word else int(word), at + 1


def _list(words: list[str], at: int, depth: int) -> tuple[list[Json], int]:
    if depth > _MAX_DEPTH:
        raise _NotPlain
    found: list[Json] = []
    while words[at] != "]":
        word = words[at]
        if word[0] in _QUOTES and len(word) > 1:
            found.append(word[1:-1])
            at += 1
        else:
            value, at = _value(words, at, depth)
            found.append(value)
        word = words[at]
        if word == ",":
            at += 1
        elif word != "]":
            raise _NotPlain
    return found, at + 1


def _mapping(words: list[str], at: int, depth: int) -> tuple[dict[str, Json], int]:
    """Object with texts for names; any other name takes the complete reading."""
    if depth > _MAX_DEPTH:
        raise _NotPlain
    found: dict[str, Json] = {}
    while words[at] != "}":
        name, word = words[at], words[at + 2]
        if words[at + 1] != ":" or name[0] not in _QUOTES or len(name) == 1:
            raise _NotPlain
        if word[0] in _QUOTES and len(word) > 1:
            found[name[1:-1]] = word[1:-1]
            at += 3
        else:
            found[name[1:-1]], at = _value(words, at + 2, depth)
        word = words[at]
        if word == ",":
            at += 1
        elif word != "}":
            raise _NotPlain
    return found, at + 1
