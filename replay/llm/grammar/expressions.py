"""What a grammar is made of: literal text, character classes, references, sequences, choices, repetitions.

Owns the written form (GBNF, the notation of llama.cpp, ASCII only) and the facts that every larger part needs
of a smaller one: how short its texts can be, how many tokens they can take, and whether one of them is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from replay.core.types import Record

__all__ = [
    "EMPTY",
    "TOKEN_UNITS",
    "Chars",
    "Choice",
    "Expression",
    "Ranges",
    "Reference",
    "Repeat",
    "Sequence",
    "Text",
    "choose",
    "most_tokens",
    "references",
    "repeat",
    "sequence",
    "shortest",
    "write",
]

Ranges = tuple[tuple[int, int], ...]
"""Code point ranges, both ends included, sorted and disjoint."""

_ESCAPES: Final = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x5C: "\\\\"}
_IN_CLASS: Final = {0x5B: "\\[", 0x5D: "\\]", 0x2D: "\\-", 0x5E: "\\x5E"}


class Text(Record, frozen=True, kw_only=False):
    """Exactly these characters."""

    text: str


class Chars(Record, frozen=True, kw_only=False):
    """One character out of some ranges."""

    ranges: Ranges


class Reference(Record, frozen=True, kw_only=False):
    """Another rule, by name."""

    name: str


class Sequence(Record, frozen=True, kw_only=False):
    """One part after the other."""

    parts: tuple[Expression, ...]


class Choice(Record, frozen=True, kw_only=False):
    """One of several."""

    options: tuple[Expression, ...]


class Repeat(Record, frozen=True, kw_only=False):
    """The same again, between two counts, both included."""

    item: Expression
    low: int
    high: int


Expression = Text | Chars | Reference | Sequence | Choice | Repeat
EMPTY: Final = Text("")

TOKEN_UNITS: Final = 5
"""Parts of a token that `most_tokens` counts in."""


def sequence(parts: Iterable[Expression]) -> Expression:
    """Put parts in a row; rows in rows become one, neighbouring texts too."""
    flat: list[Expression] = []
    for part in parts:
        inner = part.parts if isinstance(part, Sequence) else (part,)
        for piece in inner:
            last = flat[-1] if flat else None
            if piece == EMPTY:
                continue
            if isinstance(piece, Text) and isinstance(last, Text):
                flat[-1] = Text(last.text + piece.text)
            else:
                flat.append(piece)
    if not flat:
        return EMPTY
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def choose(options: Iterable[Expression]) -> Expression:
    """Offer options, each once, in the order given; choices in choices become one."""
    flat: dict[Expression, None] = {}
    for option in options:
        for piece in option.options if isinstance(option, Choice) else (option,):
            flat[piece] = None
    return next(iter(flat)) if len(flat) == 1 else Choice(tuple(flat))


def repeat(item: Expression, low: int, high: int) -> Expression:
    """Repeat an item; what is never there is empty, what is there once is itself."""
    if high == 0 or item == EMPTY:
        return EMPTY
    return item if low == high == 1 else Repeat(item, low, high)


def references(expression: Expression) -> tuple[str, ...]:
    """Name every rule an expression refers to, in order."""
    if isinstance(expression, Reference):
        return (expression.name,)
    return tuple(name for part in _parts(expression) for name in references(part))


def shortest(expression: Expression, known: Mapping[str, int]) -> int | None:  # noqa: PLR0911  one a kind
    """Count the characters of the shortest text, or None while a rule it needs is not known yet."""
    if isinstance(expression, Text):
        return len(expression.text)
    if isinstance(expression, Chars):
        return 1
    if isinstance(expression, Reference):
        return known.get(expression.name)
    if isinstance(expression, Repeat):
        if expression.low == 0:
            return 0
        one = shortest(expression.item, known)
        return None if one is None else one * expression.low
    sizes = [shortest(part, known) for part in _parts(expression)]
    found = [size for size in sizes if size is not None]
    if isinstance(expression, Choice):
        return min(found, default=None)
    return sum(found) if len(found) == len(sizes) else None


def most_tokens(expression: Expression, known: Mapping[str, int]) -> int | None:  # noqa: PLR0911  one a kind
    """Count the tokens of the longest text, or None while a rule it needs is not known.

    Units:   fifths of a token, so that small parts are not rounded. Given text takes two for each character:
             names and brackets of 95 in 100 response shapes need no more. Free text takes a whole token, as
             rows of digits do; usual words need a third of that. An escape counts as the character it is.
    """
    if isinstance(expression, Text):
        return 2 * len(expression.text)
    if isinstance(expression, Chars):
        return TOKEN_UNITS
    if isinstance(expression, Reference):
        return known.get(expression.name)
    if isinstance(expression, Choice) and any(isinstance(option, Chars) for option in expression.options):
        return TOKEN_UNITS
    sizes = [most_tokens(part, known) for part in _parts(expression)]
    found = [size for size in sizes if size is not None]
    if len(found) < len(sizes):
        return None
    if isinstance(expression, Repeat):
        return found[0] * expression.high
    return max(found) if isinstance(expression, Choice) else sum(found)


def write(expression: Expression) -> str:
    """Write an expression as GBNF."""
    if isinstance(expression, Text):
        return '"' + "".join(_escape(ord(char)) for char in expression.text) + '"'
    if isinstance(expression, Chars):
        return "[" + "".join(_range(low, high) for low, high in expression.ranges) + "]"
    if isinstance(expression, Reference):
        return expression.name
    if isinstance(expression, Sequence):
        return " ".join(_nested(part) for part in expression.parts)
    if isinstance(expression, Choice):
        return " | ".join(write(option) for option in expression.options)
    return _nested(expression.item, repeated=True) + _count(expression.low, expression.high)


def _parts(expression: Expression) -> tuple[Expression, ...]:
    if isinstance(expression, Sequence):
        return expression.parts
    if isinstance(expression, Choice):
        return expression.options
    return (expression.item,) if isinstance(expression, Repeat) else ()


def _nested(expression: Expression, *, repeated: bool = False) -> str:
    bare = (Text, Chars, Reference) if repeated else (Text, Chars, Reference, Repeat, Sequence)
    text = write(expression)
    return text if isinstance(expression, bare) else f"({text})"


def _count(low: int, high: int) -> str:
    if (low, high) == (0, 1):
        return "?"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


def _range(low: int, high: int) -> str:
    first = _IN_CLASS.get(low) or _escape(low)
    if low == high:
        return first
    return f"{first}-{_IN_CLASS.get(high) or _escape(high)}"


def _escape(point: int) -> str:
    if point in _ESCAPES:
        return _ESCAPES[point]
    if 0x20 <= point <= 0x7E:
        return chr(point)
    if point <= 0xFF:
        return f"\\x{point:02X}"
    return f"\\u{point:04X}" if point <= 0xFFFF else f"\\U{point:08X}"
