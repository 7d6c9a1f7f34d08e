"""Named rules of one grammar: deterministic names, bounded size, and the checks that llama.cpp leaves out.

llama.cpp lets a repetition above its own limit become endless, finds left recursion only where a rule has an
empty alternative of its own, and walks shared beginnings again and again while it looks. A grammar that left
this book cannot trip over any of that. Source: src/llama-grammar.cpp of the version models/README.md pins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from replay.core.errors import GrammarError, InternalError
from replay.llm.grammar.expressions import (
    EMPTY,
    TOKEN_UNITS,
    Chars,
    Choice,
    Expression,
    Reference,
    Repeat,
    Sequence,
    Text,
    most_tokens,
    references,
    shortest,
    write,
)

__all__ = ["MAX_GRAMMAR_CHARS", "MAX_REPEAT", "ROOT", "RuleBook"]

ROOT: Final = "root"

MAX_REPEAT: Final = 2000
"""MAX_REPETITION_THRESHOLD of llama.cpp: above it an upper bound is dropped without a word."""

MAX_GRAMMAR_CHARS: Final = 1 << 20
"""A hundred times the grammar of the largest tool list known; the sampler copies it for every generation."""

_MAX_EXPANDED: Final = 200_000
"""Elements after llama.cpp has written every repetition out; each takes 8 bytes and a little time."""

_MAX_WALK: Final = 1_000_000
"""Steps of llama.cpp's search for left recursion, which walks a rule again for each way that leads to it."""


class RuleBook:
    """Rules by name, in the order in which they were named."""

    def __init__(self) -> None:
        """Start with no rule."""
        self._rules: dict[str, Expression | None] = {}
        self._numbers: dict[str, int] = {}
        self._by_content: dict[Expression, str] = {}

    def reserve(self, kind: str) -> str:
        """Name a rule before it is written: `object-1`, `object-2`."""
        self._numbers[kind] = self._numbers.get(kind, 0) + 1
        name = f"{kind}-{self._numbers[kind]}"
        self._rules[name] = None
        return name

    def define(self, name: str, expression: Expression) -> None:
        """Write a rule that was reserved, or one with a fixed name."""
        if self._rules.get(name) is not None:
            raise InternalError(f"grammar rule {name} is defined twice")
        self._rules[name] = expression

    def has(self, name: str) -> bool:
        """Tell whether a name is taken."""
        return name in self._rules

    def share(self, kind: str, expression: Expression) -> Expression:
        """Give an expression a rule of its own, the same one each time, and refer to it."""
        if isinstance(expression, Reference) or expression == EMPTY:
            return expression
        name = self._by_content.get(expression)
        if name is None:
            name = self.reserve(kind)
            self.define(name, expression)
            self._by_content[expression] = name
        return Reference(name)

    def finish(self) -> tuple[str, int]:
        """Write the grammar, `root` first, and count the characters of its shortest text.

        Errors:  GrammarError when it is too large, can call itself without reading a character, or has a rule
                 that no finite text fits.
        """
        rules = self._reachable()
        sizes = _shortest_texts(rules)
        _check_expanded(rules)
        _check_walks(rules, sizes)
        text = "".join(f"{name} ::= {write(rule)}\n" for name, rule in rules.items())
        if len(text) > MAX_GRAMMAR_CHARS:
            raise _too_large(f"{len(text):,} characters", f"at most {MAX_GRAMMAR_CHARS:,}")
        return text, sizes[ROOT]

    def most_tokens(self) -> int | None:
        """Count the tokens of the longest text, as `expressions` counts them; None: there is none."""
        units = _settle(self._reachable(), most_tokens).get(ROOT)
        return None if units is None else -(-units // TOKEN_UNITS)

    def _reachable(self) -> dict[str, Expression]:
        """Collect the rules that the root needs, in the order in which it comes to them."""
        found: dict[str, Expression] = {}
        waiting = deque([ROOT])
        while waiting:
            name = waiting.popleft()
            rule = self._rules.get(name)
            if rule is None:
                raise InternalError(f"grammar rule {name} is not defined")
            if name not in found:
                found[name] = rule
                waiting.extend(references(rule))
        return found


def _too_large(what: str, expected: str) -> GrammarError:
    return GrammarError(
        f"the grammar of the schema is too large: {what}",
        expected=expected,
        next_step="lower maxItems, maxLength or the number of alternatives",
    )


def _shortest_texts(rules: dict[str, Expression]) -> dict[str, int]:
    known = _settle(rules, shortest)
    endless = sorted(rules.keys() - known.keys())
    if endless:
        raise GrammarError(
            f"no finite text fits the schema: rule {endless[0]} always needs itself",
            expected="recursion with a way out, for example an optional property",
        )
    return known


def _settle(
    rules: dict[str, Expression], measure: Callable[[Expression, dict[str, int]], int | None]
) -> dict[str, int]:
    """Measure every rule by asking again until nothing changes; rules that stay unknown are left out."""
    users: dict[str, list[str]] = {}
    for name, rule in rules.items():
        for used in references(rule):
            users.setdefault(used, []).append(name)
    known: dict[str, int] = {}
    waiting = dict.fromkeys(reversed(rules))
    while waiting:
        name = next(iter(waiting))
        del waiting[name]
        size = measure(rules[name], known)
        if size is not None and size < known.get(name, size + 1):
            known[name] = size
            waiting.update(dict.fromkeys(users.get(name, ())))
    return known


def _check_expanded(rules: dict[str, Expression]) -> None:
    total = sum(_expanded(rule) for rule in rules.values())
    if total > _MAX_EXPANDED:
        raise _too_large(f"{total:,} elements once repetitions are written out", f"at most {_MAX_EXPANDED:,}")


def _expanded(expression: Expression) -> int:
    if isinstance(expression, Text):
        return len(expression.text) + 1
    if isinstance(expression, Chars):
        return 2 * len(expression.ranges)
    if isinstance(expression, Reference):
        return 1
    if isinstance(expression, Repeat):
        if expression.high > MAX_REPEAT or not isinstance(expression.item, (Text, Chars, Reference)):
            raise InternalError("a repetition that llama.cpp would not take")
        return (_expanded(expression.item) + 2) * max(expression.high, 1)
    parts = expression.options if isinstance(expression, Choice) else expression.parts
    return sum(_expanded(part) + 1 for part in parts)


def _check_walks(rules: dict[str, Expression], sizes: dict[str, int]) -> None:
    """Refuse left recursion, and beginnings so entangled that looking for it would take for ever.

    Units:   a walk of a rule is one step, plus the walk of each rule that can stand at its beginning.
    """
    walks: dict[str, int] = {}
    for start in rules:
        trail: dict[str, None] = {} if start in walks else {start: None}
        while trail:
            name = next(reversed(trail))
            first = _beginnings(rules[name], sizes)
            unknown = [other for other in first if other not in walks]
            if any(other in trail for other in unknown):
                raise GrammarError(
                    f"rule {name} of the grammar can come back to itself without reading a character",
                    expected="references that pass through a property or an item",
                )
            if unknown:
                trail[unknown[0]] = None
                continue
            walks[name] = 1 + sum(walks[other] for other in first)
            del trail[name]
    total = sum(walks.values())
    if total > _MAX_WALK:
        raise _too_large(f"{total:,} ways to begin its rules", f"at most {_MAX_WALK:,}")


def _beginnings(expression: Expression, sizes: dict[str, int]) -> list[str]:
    if isinstance(expression, Reference):
        return [expression.name]
    if isinstance(expression, Repeat):
        return _beginnings(expression.item, sizes)
    if isinstance(expression, Choice):
        return [name for option in expression.options for name in _beginnings(option, sizes)]
    found: list[str] = []
    if isinstance(expression, Sequence):
        for part in expression.parts:
            found += _beginnings(part, sizes)
            if shortest(part, sizes) != 0:
                break
    return found
