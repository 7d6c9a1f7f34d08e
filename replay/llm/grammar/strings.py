r"""Rules for strings: of any characters, of a length, of a pattern, and names that are not certain words.

A generated string is JSON text: quotes around plain characters, the short escapes, and `\uXXXX` of characters
that are neither control characters nor halves of a surrogate pair. Each of these is one character of the
value, so that lengths count what JSON Schema counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from replay.core.errors import GrammarError
from replay.llm.grammar.bounds import Bounds
from replay.llm.grammar.classes import DIGITS, PLAIN, complement, intersect, points
from replay.llm.grammar.expressions import (
    EMPTY,
    Chars,
    Expression,
    Ranges,
    Reference,
    Text,
    choose,
    repeat,
    sequence,
)
from replay.llm.grammar.patterns import Branch, Node, One, Pattern, Row, Times, span
from replay.llm.grammar.rulebook import MAX_REPEAT, RuleBook

__all__ = ["NAME_CHARS", "StringRules", "json_text"]

NAME_CHARS: Final = 64
"""Longest member name that is made up; names in a schema may be longer."""

_QUOTE: Final = Text('"')
_ESCAPED: Final = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 0x22: '\\"', 0x5C: "\\\\"}
_HEX: Final = Chars((*DIGITS, (0x41, 0x46), (0x61, 0x66)))
_MAX_NAME_STATES: Final = 4000  # characters of all names that an object's other names must differ from


def json_text(value: str) -> Expression:
    """Write one string, quotes included, as it stands in JSON."""
    return Text(json.dumps(value, ensure_ascii=False))


class StringRules:
    """Makes the string rules of one grammar."""

    def __init__(self, book: RuleBook, bounds: Bounds) -> None:
        """Write into a book."""
        self._book = book
        self._bounds = bounds

    def text(self, low: int, high: int | None) -> Expression:
        """Make a string of `low` to `high` characters."""
        most = self._cap(low, high)
        return self._book.share("string", sequence([_QUOTE, repeat(self._char(), low, most), _QUOTE]))

    def name(self, taken: Iterable[str]) -> Expression:
        """Make a member name that is none of those taken: plain characters, at least one."""
        words = sorted(word for word in set(taken) if all(_is_plain(char) for char in word))
        if sum(len(word) for word in words) > _MAX_NAME_STATES:
            raise GrammarError(
                f"{len(words)} properties beside which others may stand",
                expected=f"names of at most {_MAX_NAME_STATES:,} characters in all",
                next_step="set additionalProperties to false",
            )
        inner = self._unlike(words, first=True)
        return self._book.share("name", sequence([_QUOTE, inner, _QUOTE]))

    def pattern(self, pattern: Pattern, low: int, high: int | None) -> tuple[Expression, bool]:
        """Make a string that a pattern is found in, and tell whether the lengths hold by themselves.

        Errors:  GrammarError when no length fits, or a class has only characters strings here never hold.
        """
        options: list[Expression] = []
        exact = True
        for branch in pattern.branches:
            fitted = _fit(branch, low, high)
            if fitted is None:
                continue
            options.append(self._branch(fitted, pattern.text))
            exact = exact and _holds(fitted, low, high)
        if not options:
            raise GrammarError(f"pattern {pattern.text[:60]!r} fits no string of {low} to {high} characters")
        return self._book.share("pattern", sequence([_QUOTE, choose(options), _QUOTE])), exact

    # ---- private ---------------------------------------------------------------------------------------

    def _cap(self, low: int, high: int | None) -> int:
        if low > MAX_REPEAT:
            raise GrammarError(f"strings of at least {low:,} characters", expected=f"at most {MAX_REPEAT:,}")
        return min(max(low, self._bounds.string_chars) if high is None else high, MAX_REPEAT)

    def _char(self) -> Expression:
        code = choose(
            [
                # Neither a control character (0000-001f, 007f-009f) nor half of a surrogate pair (d800-dfff).
                sequence([Text("00"), choose([sequence([_set("2-6"), _HEX]), _LOW_SEVEN, _HIGH_LATIN])]),
                sequence([Text("0"), _set("1-9a-fA-F"), _HEX, _HEX]),
                sequence([_set("1-9a-ce-fA-CE-F"), _HEX, _HEX, _HEX]),
                sequence([_set("dD"), _set("0-7"), _HEX, _HEX]),
            ]
        )
        coded = self._book.share("code", code)
        short = Chars(points('"\\/bfnrt'))
        escaped = sequence([Text("\\"), choose([short, sequence([Text("u"), coded])])])
        return self._book.share("char", choose([Chars(PLAIN), escaped]))

    def _unlike(self, words: list[str], *, first: bool) -> Expression:
        """Make every run of plain characters that is not one of the words; the words share beginnings."""
        heads = sorted({word[0] for word in words if word})
        other = intersect(complement(points("".join(heads))), PLAIN)
        rest = repeat(Chars(PLAIN), 0, NAME_CHARS - 1)
        options: list[Expression] = [sequence([Chars(other), self._book.share("rest", rest)])]
        for head in heads:
            inner = self._unlike([word[1:] for word in words if word[:1] == head], first=False)
            options.append(sequence([Text(head), inner]))
        if not first and "" not in words:
            options.append(EMPTY)
        return self._book.share("unlike", choose(options))

    def _branch(self, branch: Branch, text: str) -> Expression:
        around = repeat(self._char(), 0, self._bounds.string_chars)
        free = self._book.share("around", around)
        parts = [] if branch.from_start else [free]
        parts.append(self._node(branch.node, text))
        return sequence(parts if branch.to_end else [*parts, free])

    def _node(self, node: Node, text: str) -> Expression:
        if isinstance(node, One):
            return self._one(node.ranges, text)
        if isinstance(node, Times):
            return self._times(node, text)
        if isinstance(node, Row):
            return sequence(self._node(part, text) for part in node.parts)
        return choose(self._node(option, text) for option in node.options)

    def _times(self, node: Times, text: str) -> Expression:
        if node.low > MAX_REPEAT:
            raise GrammarError(f"pattern {text[:60]!r} repeats at least {node.low:,} times")
        item = self._node(node.item, text)
        atomic = isinstance(item, (Chars, Reference, Text))
        single = isinstance(node.item, One)
        room = self._bounds.string_chars if single else self._bounds.array_items
        most = min(MAX_REPEAT, max(node.low, room) if node.high is None else node.high)
        return repeat(item if atomic else self._book.share("part", item), node.low, most)

    def _one(self, ranges: Ranges, text: str) -> Expression:
        plain = intersect(ranges, PLAIN)
        lone = len(plain) == 1 and plain[0][0] == plain[0][1]
        options: list[Expression] = [Text(chr(plain[0][0])) if lone else Chars(plain)] if plain else []
        options += [Text(short) for point, short in _ESCAPED.items() if intersect(ranges, ((point, point),))]
        if not options:
            raise GrammarError(
                f"pattern {text[:60]!r} asks for control characters only",
                expected="characters that generated strings may hold",
            )
        return choose(options)


def _set(text: str) -> Chars:
    """Read a class such as `1-9a-f`."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(text):
        end = at + 2 if text[at + 1 : at + 2] == "-" else at
        found.append((ord(text[at]), ord(text[end])))
        at = end + 1
    return Chars(tuple(sorted(found)))


_LOW_SEVEN: Final = sequence([Text("7"), _set("0-9a-eA-E")])
_HIGH_LATIN: Final = sequence([_set("a-fA-F"), _HEX])


def _is_plain(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in PLAIN)


def _fit(branch: Branch, low: int, high: int | None) -> Branch | None:
    """Narrow a branch to a length where that is simple; None when no length of it fits."""
    least, most = span(branch.node)
    anchored = branch.from_start and branch.to_end
    if (high is not None and least > high) or (anchored and most is not None and most < low):
        return None
    node = branch.node
    if not anchored or not isinstance(node, Times) or not isinstance(node.item, One):
        return branch
    highs = [limit for limit in (node.high, high) if limit is not None]
    narrowed = Times(node.item, max(node.low, low), min(highs, default=None))
    return Branch(node=narrowed, from_start=True, to_end=True)


def _holds(branch: Branch, low: int, high: int | None) -> bool:
    least, most = span(branch.node)
    if high is None:
        return least >= low
    return branch.from_start and branch.to_end and least >= low and most is not None and most <= high
