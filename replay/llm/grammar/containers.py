"""Rules for objects and arrays, of a schema or free.

Members come in the order of the schema, because another order changes what a model says. Between tokens there
is at most one space, after a comma and after a colon; a generated value has no other white space.
"""

from __future__ import annotations

from collections.abc import Sequence as Row
from typing import Final

from replay.core.types import Record
from replay.llm.grammar.bounds import Bounds
from replay.llm.grammar.expressions import EMPTY, Expression, Text, choose, repeat, sequence
from replay.llm.grammar.numbers import any_number
from replay.llm.grammar.rulebook import RuleBook
from replay.llm.grammar.strings import StringRules, json_text

__all__ = ["LITERALS", "ContainerRules", "Member"]

LITERALS: Final = {
    "boolean": choose([Text("true"), Text("false")]),
    "null": Text("null"),
}


class Member(Record, frozen=True, kw_only=True):
    """One member an object may have."""

    name: str
    value: Expression
    required: bool


class ContainerRules:
    """Makes the object and array rules of one grammar."""

    def __init__(self, book: RuleBook, strings: StringRules, bounds: Bounds) -> None:
        """Write into a book."""
        self._book = book
        self._strings = strings
        self._bounds = bounds

    # ---- objects ---------------------------------------------------------------------------------------

    def object(self, members: Row[Member], extra: Expression, low: int, high: int) -> Expression:
        """Make an object of members in order, then `low` to `high` others that `extra` writes."""
        if not members:
            return sequence([Text("{"), self._list(extra, low, high), Text("}")])
        first = next((i for i, member in enumerate(members) if member.required), len(members))
        parts: list[Expression] = []
        for member in members[first + 1 :]:
            written = sequence([self._comma(), self._write(member)])
            parts.append(written if member.required else choose([written, EMPTY]))
        after = sequence([*parts, self._others(extra, low, high)])
        if first < len(members):
            after = self._book.share("members", after)
            start = sequence([self._write(members[first]), after])
            rest = sequence([self._comma(), start])
        else:
            start, rest = self._list(extra, low, high), after
        return self._with_optional_start(members[:first], start, rest)

    def _with_optional_start(self, members: Row[Member], start: Expression, rest: Expression) -> Expression:
        """Put optional members before the first required one: only the first written has no comma."""
        options = [start]
        for member in reversed(members):
            rest = self._book.share("members", rest)
            written = self._write(member)
            options.append(sequence([written, rest]))
            rest = sequence([choose([sequence([self._comma(), written]), EMPTY]), rest])
        return sequence([Text("{"), choose(reversed(options)), Text("}")])

    def other_member(self, taken: Row[str], value: Expression) -> Expression:
        """Make a member whose name is none of those taken."""
        return self._book.share("extra", sequence([self._strings.name(taken), self._colon(), value]))

    def _write(self, member: Member) -> Expression:
        return sequence([json_text(member.name), self._colon(), member.value])

    # ---- arrays ----------------------------------------------------------------------------------------

    def array(self, prefix: Row[Expression], item: Expression, low: int, high: int) -> Expression:
        """Make an array of `low` to `high` items, the first of them as `prefix` says."""
        if not prefix:
            return sequence([Text("["), self._list(item, low, high), Text("]")])
        count = len(prefix)
        after = self._others(item, max(low - count, 0), max(high - count, 0))
        for index in range(min(count, high) - 1, -1, -1):
            comma = self._comma() if index else EMPTY
            written = sequence([comma, prefix[index], after])
            after = self._book.share("items", written if index < low else choose([written, EMPTY]))
        return sequence([Text("["), after, Text("]")])

    # ---- free values -----------------------------------------------------------------------------------

    def free(self, depth: int) -> Expression:
        """Make any JSON value with at most so many containers in one another."""
        name = f"free-depth-{depth}"
        options: list[Expression] = [
            self._strings.text(0, None),
            any_number(),
            LITERALS["boolean"],
            LITERALS["null"],
        ]
        if depth > 0:
            options = [self.free_object(depth), self.free_array(depth), *options]
        return self._book.share(name, choose(options))

    def free_object(self, depth: int) -> Expression:
        """Make any object with at most so many containers in one another, itself included."""
        if depth <= 0:
            return Text("{}")
        extra = self.other_member((), self.free(depth - 1))
        return self._book.share("free-object", self.object((), extra, 0, self._bounds.extra_members))

    def free_array(self, depth: int) -> Expression:
        """Make any array with at most so many containers in one another, itself included."""
        if depth <= 0:
            return Text("[]")
        items = self._list(self.free(depth - 1), 0, self._bounds.extra_members)
        return self._book.share("free-array", sequence([Text("["), items, Text("]")]))

    # ---- private ---------------------------------------------------------------------------------------

    def _list(self, item: Expression, low: int, high: int) -> Expression:
        """Write `low` to `high` of something with commas between."""
        if high <= 0:
            return EMPTY
        some = sequence([item, self._others(item, max(low - 1, 0), high - 1)])
        return some if low else choose([some, EMPTY])

    def _others(self, item: Expression, low: int, high: int) -> Expression:
        if high <= 0:
            return EMPTY
        return repeat(self._book.share("other", sequence([self._comma(), item])), low, high)

    def _comma(self) -> Expression:
        return sequence([Text(","), self._space()])

    def _colon(self) -> Expression:
        return sequence([Text(":"), self._space()])

    def _space(self) -> Expression:
        return self._book.share("space", choose([Text(" "), EMPTY]))
