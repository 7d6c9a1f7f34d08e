"""A small interpreter of GBNF text, written apart from the writer it tests: parse, match, generate.

It knows what llama.cpp's parser knows of literals, classes, references, groups and repetitions, and like it
refuses what it does not know. Matching follows all ways at once; generating is seeded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

from replay.core.determinism import Stream

__all__ = ["Grammar", "parse_grammar"]


@dataclass(frozen=True)
class Literal:
    """Exactly this text."""

    text: str


@dataclass(frozen=True)
class CharClass:
    """One character of some ranges."""

    ranges: tuple[tuple[int, int], ...]

    def holds(self, char: str) -> bool:
        """Tell whether a character is one of them."""
        return any(low <= ord(char) <= high for low, high in self.ranges)


@dataclass(frozen=True)
class Rule:
    """Another rule."""

    name: str


@dataclass(frozen=True)
class Row:
    """One part after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Either:
    """One of several."""

    options: tuple[Part, ...]


@dataclass(frozen=True)
class Times:
    """The same again."""

    item: Part
    low: int
    high: int


Part = Literal | CharClass | Rule | Row | Either | Times

MAX_REPEAT = 2000


class Grammar:
    """Rules by name."""

    def __init__(self, rules: dict[str, Part]) -> None:
        """Keep the rules; `root` is where texts start."""
        self.rules = rules

    def accepts(self, text: str) -> bool:
        """Tell whether the whole text fits."""

        @cache
        def ends(part: Part, start: int) -> frozenset[int]:
            if isinstance(part, Literal):
                return frozenset({start + len(part.text)} if text.startswith(part.text, start) else ())
            if isinstance(part, CharClass):
                return frozenset({start + 1} if start < len(text) and part.holds(text[start]) else ())
            if isinstance(part, Rule):
                return ends(self.rules[part.name], start)
            if isinstance(part, Either):
                return frozenset().union(*(ends(option, start) for option in part.options))
            places = frozenset({start})
            if isinstance(part, Row):
                for inner in part.parts:
                    places = frozenset().union(*(ends(inner, place) for place in places))
                return places
            found = places if part.low == 0 else frozenset[int]()
            for count in range(1, part.high + 1):
                places = frozenset().union(*(ends(part.item, place) for place in places))
                if not places:
                    break
                found = found | places if count >= part.low else found
            return found

        return len(text) in ends(self.rules["root"], 0)

    def generate(self, stream: Stream, *, room: int = 2_000) -> str:
        """Make one text; beyond `room` characters the shortest ways are taken."""
        sizes = self._sizes
        written: list[str] = []
        size = 0
        waiting: list[Part] = [self.rules["root"]]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Rule):
                waiting.append(self.rules[part.name])
            elif isinstance(part, Row):
                waiting += reversed(part.parts)
            elif isinstance(part, Either):
                short = size > room or len(waiting) > room
                best = min(part.options, key=sizes)
                waiting.append(best if short else stream.choice(part.options))
            elif isinstance(part, Times):
                waiting += [part.item] * _count(part, stream, small=size > room)
            else:
                text = part.text if isinstance(part, Literal) else _char(part, stream)
                written.append(text)
                size += len(text)
        return "".join(written)

    @cached_property
    def _sizes(self) -> Callable[[Part], float]:
        known: dict[str, float] = dict.fromkeys(self.rules, float("inf"))

        def size(part: Part) -> float:
            if isinstance(part, Literal):
                return len(part.text)
            if isinstance(part, CharClass):
                return 1
            if isinstance(part, Rule):
                return known[part.name]
            if isinstance(part, Either):
                return min(size(option) for option in part.options)
            if isinstance(part, Row):
                return sum(size(inner) for inner in part.parts)
            return size(part.item) * part.low if part.low else 0

        changed = True
        while changed:
            fresh = {name: size(rule) for name, rule in self.rules.items()}
            changed = fresh != known
            known.update(fresh)
        return size


def _count(part: Times, stream: Stream, *, small: bool) -> int:
    if small:
        return part.low
    spread = (part.low, part.low + stream.below(4), part.low + stream.below(part.high - part.low + 1))
    return min(part.high, spread[0 if stream.below(4) == 0 else 1 + (stream.below(12) == 0)])


def _char(part: CharClass, stream: Stream) -> str:
    low, high = stream.choice(part.ranges)
    ends = (low, high, low + stream.below(high - low + 1), low + stream.below(min(high - low + 1, 96)))
    return chr(stream.choice(ends))


def parse_grammar(text: str) -> Grammar:
    """Parse GBNF text; a ValueError says what is wrong."""
    rules: dict[str, Part] = {}
    for line in text.splitlines():
        name, mark, body = line.partition(" ::= ")
        if not mark or not name or name in rules:
            raise ValueError(f"not a rule: {line!r}")
        reader = _Reader(body)
        rules[name] = reader.either()
        if not reader.done:
            raise ValueError(f"rest of rule {name}: {reader.rest!r}")
    missing = {used for rule in rules.values() for used in _used(rule)} - rules.keys()
    if missing or "root" not in rules:
        raise ValueError(f"rules that are not defined: {missing or 'root'}")
    return Grammar(rules)


def _used(part: Part) -> set[str]:
    if isinstance(part, Rule):
        return {part.name}
    if isinstance(part, Times):
        return _used(part.item)
    inner = part.parts if isinstance(part, Row) else part.options if isinstance(part, Either) else ()
    return {name for one in inner for name in _used(one)}


class _Reader:
    def __init__(self, text: str) -> None:
        self.rest = text

    @property
    def done(self) -> bool:
        return not self.rest

    def take(self, count: int) -> str:
        taken, self.rest = self.rest[:count], self.rest[count:]
        if len(taken) < count:
            raise ValueError("unexpected end")
        return taken

    def either(self) -> Part:
        options = [self.row()]
        while self.rest.startswith("| "):
            self.take(2)
            options.append(self.row())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def row(self) -> Part:
        parts: list[Part] = []
        while self.rest and self.rest[0] not in "|)":
            parts.append(self.repeated(self.atom()))
            self.rest = self.rest.lstrip(" ")
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def atom(self) -> Part:
        first = self.take(1)
        if first == '"':
            chars: list[str] = []
            while self.rest[:1] != '"':
                chars.append(self.char())
            self.take(1)
            return Literal("".join(chars))
        if first == "[":
            return self.char_class()
        if first == "(":
            inner = self.either()
            if self.take(1) != ")":
                raise ValueError("a group that is not closed")
            return inner
        name = first
        while self.rest and (self.rest[0].isalnum() or self.rest[0] == "-"):
            name += self.take(1)
        if not (name.isascii() and name.replace("-", "").isalnum()):
            raise ValueError(f"not a rule name: {name!r}")
        return Rule(name)

    def char_class(self) -> CharClass:
        if self.rest.startswith("^"):
            raise ValueError("a negated class")
        ranges: list[tuple[int, int]] = []
        while self.rest[:1] != "]":
            low = high = ord(self.char())
            if self.rest.startswith("-") and not self.rest.startswith("-]"):
                self.take(1)
                high = ord(self.char())
            if low > high:
                raise ValueError("a range upside down")
            ranges.append((low, high))
        self.take(1)
        if not ranges:
            raise ValueError("an empty class")
        return CharClass(tuple(ranges))

    def char(self) -> str:
        char = self.take(1)
        if char != "\\":
            return char
        kind = self.take(1)
        digits = {"x": 2, "u": 4, "U": 8}.get(kind)
        if digits is not None:
            return chr(int(self.take(digits), 16))
        if kind in 'trn\\"[]-':
            return {"t": "\t", "r": "\r", "n": "\n"}.get(kind, kind)
        raise ValueError(f"unknown escape {kind!r}")

    def repeated(self, item: Part) -> Part:
        if self.rest.startswith("?"):
            self.take(1)
            return Times(item, 0, 1)
        if not self.rest.startswith("{"):
            return item
        counts, self.rest = self.rest[1:].split("}", 1)
        low, _, high = counts.partition(",")
        found = Times(item, int(low), int(high or low))
        if not found.low <= found.high <= MAX_REPEAT:
            raise ValueError(f"repetition {counts}")
        return found
