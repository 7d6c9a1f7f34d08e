r"""Patterns of strings: a safe subset of ECMA 262, written as a grammar and matched in linear time.

The subset: literal characters, `.`, classes, `\d \w \s` and their complements, escapes of characters,
groups, alternation, `? * + {m} {m,} {m,n}` (lazy forms mean the same here), `^` at the start and `$` at the
end of the whole pattern or of its top alternatives. Everything else (look-around, back-references, word
boundaries, named groups, flags, property classes) is an error, as is repeating what may be empty: such
patterns are how matchers are made to run for ever. A pattern without `^` or `$` may stand anywhere in a
string, as JSON Schema says.
"""

from __future__ import annotations

from typing import Final

from replay.core.errors import GrammarError
from replay.core.types import Record
from replay.llm.grammar.classes import ANY, DIGITS, DOT, SPACE, WORD, complement, union
from replay.llm.grammar.expressions import Ranges

__all__ = ["Branch", "Either", "Node", "One", "Pattern", "Row", "Times", "parse_pattern", "span"]

MAX_PATTERN_CHARS: Final = 1000
MAX_NESTING: Final = 16
MAX_POSITIONS: Final = 4000
"""Characters a pattern can hold once its repetitions are written out: 2,000 is the longest string anyway."""

_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_CLASSES: Final = {"d": DIGITS, "w": WORD, "s": SPACE}


class One(Record, frozen=True, kw_only=False):
    """One character of a class."""

    ranges: Ranges


class Row(Record, frozen=True, kw_only=False):
    """One part after the other."""

    parts: tuple[Node, ...]


class Either(Record, frozen=True, kw_only=False):
    """One of several."""

    options: tuple[Node, ...]


class Times(Record, frozen=True, kw_only=False):
    """The same again; `high` is None without an upper bound."""

    item: Node
    low: int
    high: int | None


Node = One | Row | Either | Times


class Branch(Record, frozen=True, kw_only=True):
    """One alternative at the top of a pattern, with its anchors."""

    node: Node
    from_start: bool
    to_end: bool


class Pattern(Record, frozen=True, kw_only=True):
    """A pattern that was read."""

    text: str
    branches: tuple[Branch, ...]


def parse_pattern(text: str, *, where: str) -> Pattern:
    """Read a pattern of the subset.

    Errors:  GrammarError with the place inside the pattern and what is not supported there.
    """
    if len(text) > MAX_PATTERN_CHARS:
        raise GrammarError(
            f"pattern of {len(text):,} characters", where=where, expected=f"at most {MAX_PATTERN_CHARS:,}"
        )
    reader = _Reader(text, where)
    branches = [reader.branch()]
    while reader.take("|"):
        branches.append(reader.branch())
    if not reader.done:
        raise reader.refuse("'$' before the end, or a closing bracket without an opening one")
    pattern = Pattern(text=text, branches=tuple(branches))
    positions = sum(_positions(branch.node) for branch in branches)
    if positions > MAX_POSITIONS:
        raise reader.refuse(f"repetitions of {positions:,} characters in all (at most {MAX_POSITIONS:,})")
    return pattern


def span(node: Node) -> tuple[int, int | None]:
    """Count the characters of the shortest and the longest text; None without an upper bound."""
    if isinstance(node, One):
        return 1, 1
    if isinstance(node, Times):
        low, high = span(node.item)
        if node.high == 0 or high == 0:
            return low * node.low, 0
        return low * node.low, None if high is None or node.high is None else high * node.high
    spans = [span(part) for part in (node.parts if isinstance(node, Row) else node.options)]
    lows, highs = [low for low, _ in spans], [high for _, high in spans]
    if isinstance(node, Row):
        return sum(lows), None if None in highs else sum(high for high in highs if high is not None)
    return min(lows), None if None in highs else max(high for high in highs if high is not None)


def _positions(node: Node) -> int:
    if isinstance(node, One):
        return 1
    if isinstance(node, Times):
        return _positions(node.item) * max(node.low + 1 if node.high is None else node.high, 1)
    return sum(_positions(part) for part in (node.parts if isinstance(node, Row) else node.options))


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text
        self._where = where
        self._at = 0
        self._depth = 0

    @property
    def done(self) -> bool:
        return self._at >= len(self._text)

    def refuse(self, what: str) -> GrammarError:
        return GrammarError(
            f"pattern {self._text[:60]!r}: {what}",
            where=f"{self._where}, character {self._at}",
            expected="characters, classes, groups, alternation, bounded repetition, ^ and $ at the ends",
        )

    def take(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def branch(self) -> Branch:
        from_start = self.take("^")
        node = self._row()
        return Branch(node=node, from_start=from_start, to_end=self.take("$"))

    def _either(self) -> Node:
        options = [self._row()]
        while self.take("|"):
            options.append(self._row())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _row(self) -> Node:
        parts: list[Node] = []
        while not self.done and self._text[self._at] not in "|)$":
            parts.append(self._repeated())
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _repeated(self) -> Node:
        item = self._atom()
        bounds = self._bounds()
        if bounds is None:
            return item
        self.take("?")
        low, high = bounds
        if high is not None and high < low:
            raise self.refuse(f"a repetition from {low} to {high}")
        if span(item)[0] == 0 and high != 1:
            raise self.refuse("a repetition of something that may be empty")
        if self._bounds() is not None:
            raise self.refuse("a repetition of a repetition")
        return Times(item, low, high)

    def _bounds(self) -> tuple[int, int | None] | None:
        if self.take("*"):
            return 0, None
        if self.take("+"):
            return 1, None
        if self.take("?"):
            return 0, 1
        if not self.take("{"):
            return None
        low = self._number()
        high: int | None = low
        if self.take(","):
            high = None if self._text.startswith("}", self._at) else self._number()
        if not self.take("}"):
            raise self.refuse("a count that is not {m}, {m,} or {m,n}")
        return low, high

    def _number(self) -> int:
        start = self._at
        while not self.done and self._text[self._at] in "0123456789":
            self._at += 1
        digits = self._text[start : self._at]
        if not 1 <= len(digits) <= 4:
            raise self.refuse("a count that is not {m}, {m,} or {m,n} with numbers of one to four digits")
        return int(digits)

    def _atom(self) -> Node:
        if self.take("("):
            return self._group()
        if self.take("["):
            return One(self._class())
        if self.take("."):
            return One(DOT)
        if self.take("\\"):
            return One(self._escape())
        char = self._text[self._at]
        if char in "^$*+?{}]":
            raise self.refuse(f"{char!r} in this place")
        self._at += 1
        return One(((ord(char), ord(char)),))

    def _group(self) -> Node:
        if self.take("?") and not self.take(":"):
            raise self.refuse("look-around, a named group or a flag")
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self.refuse(f"groups nested deeper than {MAX_NESTING}")
        node = self._either()
        if not self.take(")"):
            raise self.refuse("'$' inside a group" if not self.done else "a group that is not closed")
        self._depth -= 1
        return node

    def _class(self) -> Ranges:
        negated = self.take("^")
        found: list[tuple[int, int]] = []
        while not self.take("]"):
            if self.done:
                raise self.refuse("a class that is not closed")
            low = self._member()
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                found.append(self._between(low, self._member()))
            else:
                found += low
        ranges = complement(union(found)) if negated else union(found)
        if not ranges:
            raise self.refuse("a class that no character is in")
        return ranges

    def _between(self, low: Ranges, high: Ranges) -> tuple[int, int]:
        single = len(low) == len(high) == 1 and low[0][0] == low[0][1] and high[0][0] == high[0][1]
        if not single or low[0][0] > high[0][0]:
            raise self.refuse("a range that does not run from one character up to another")
        return low[0][0], high[0][0]

    def _member(self) -> Ranges:
        if self.take("\\"):
            return ((8, 8),) if self.take("b") else self._escape()
        if self.done:
            raise self.refuse("a class that is not closed")
        point = ord(self._text[self._at])
        self._at += 1
        return ((point, point),)

    def _escape(self) -> Ranges:
        if self.done:
            raise self.refuse("a backslash at the end")
        char = self._text[self._at]
        self._at += 1
        if char.lower() in _CLASSES:
            ranges = _CLASSES[char.lower()]
            return ranges if char.islower() else complement(ranges)
        if char in _CONTROLS:
            return ((_CONTROLS[char], _CONTROLS[char]),)
        if char in "xu":
            return self._code(2 if char == "x" else 4)
        if not char.isalnum() and char != "_":
            return ((ord(char), ord(char)),)
        self._at -= 1
        raise self.refuse(f"the escape \\{char} (a back-reference, boundary or property class)")

    def _code(self, digits: int) -> Ranges:
        text = self._text[self._at : self._at + digits]
        if len(text) != digits or not set(text) <= set("0123456789abcdefABCDEF"):
            raise self.refuse(f"an escape without its {digits} hexadecimal digits")
        point = int(text, 16)
        if not any(low <= point <= high for low, high in ANY):
            raise self.refuse("an escape of half a surrogate pair")
        self._at += digits
        return ((point, point),)
