"""From plain schemas to rules: one rule for each different schema, written breadth first.

A schema's rule is named when it is first needed and written later, so recursion in a schema is recursion
between rules, and a deep schema takes no deep stack.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable
from typing import Final

from replay.core.canonical import canonical_bytes
from replay.core.errors import GrammarError
from replay.core.types import Json
from replay.llm.grammar.bounds import Bounds
from replay.llm.grammar.containers import LITERALS, ContainerRules, Member
from replay.llm.grammar.expressions import EMPTY, Expression, Reference, choose
from replay.llm.grammar.keywords import NOTES, Place, pointer
from replay.llm.grammar.literals import one_of
from replay.llm.grammar.merging import ContradictionError, Schema, types_of
from replay.llm.grammar.numbers import any_number, integer_between, number_between
from replay.llm.grammar.patterns import parse_pattern
from replay.llm.grammar.resolving import Resolver
from replay.llm.grammar.rulebook import MAX_REPEAT, ROOT, RuleBook
from replay.llm.grammar.strings import StringRules
from replay.llm.grammar.validate import fits

__all__ = ["REPEATED_NAMES", "GrammarWriter"]

REPEATED_NAMES: Final = "made-up names may occur twice"
"""No grammar can remember the names an object has already: such an output is refused afterwards."""

_INFERRED: Final = {
    "properties": "object",
    "required": "object",
    "additionalProperties": "object",
    "minProperties": "object",
    "maxProperties": "object",
    "items": "array",
    "prefixItems": "array",
    "minItems": "array",
    "maxItems": "array",
    "uniqueItems": "array",
    "minLength": "string",
    "maxLength": "string",
    "pattern": "string",
    "minimum": "number",
    "maximum": "number",
    "exclusiveMinimum": "number",
    "exclusiveMaximum": "number",
    "multipleOf": "number",
}
"""A schema without `type` whose keywords speak of one type is written as that type."""

_NESTING: Final = frozenset(
    {"$ref", "additionalProperties", "allOf", "anyOf", "items", "oneOf", "prefixItems", "properties"}
)
"""A schema without any of these is written where it stands: it cannot lead back to itself."""


class GrammarWriter:
    """Writes the grammar of one checked schema document."""

    def __init__(self, document: Json, bounds: Bounds) -> None:
        """Prepare an empty book of rules."""
        self._document = document
        self._bounds = bounds
        self._resolver = Resolver(document)
        self._book = RuleBook()
        self._strings = StringRules(self._book, bounds)
        self._containers = ContainerRules(self._book, self._strings, bounds)
        self._names: dict[bytes, str] = {}
        self._waiting: deque[tuple[str, Json, Place]] = deque()
        self.unsupported: set[str] = set()
        """Places where the grammar turned out to allow more than the schema, each with the reason."""

    def write(self) -> tuple[str, int]:
        """Write all rules; return the grammar text and the length of the shortest text that fits.

        Errors:  GrammarError naming what cannot be written, and where.
        """
        self._book.define(ROOT, self._value(self._document, ()))
        while self._waiting:
            name, schema, place = self._waiting.popleft()
            self._book.define(name, self._body(schema, place))
        return self._book.finish()

    def most_tokens(self) -> int | None:
        """Count the tokens of the longest text, once it is written; None when there is none."""
        return self._book.most_tokens()

    def _value(self, schema: Json, place: Place) -> Expression:
        """Refer to the rule of a schema, and see to it that it is written."""
        if not isinstance(schema, dict) or not _NESTING & schema.keys():
            return self._body(schema, place)
        bare = {keyword: value for keyword, value in schema.items() if keyword not in NOTES}
        key = canonical_bytes(bare)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = self._book.reserve("value")
            self._waiting.append((name, schema, place))
        return Reference(name)

    def _body(self, schema: Json, place: Place) -> Expression:
        found = self._resolver.alternatives(schema, place)
        options: list[Expression] = []
        reason: ContradictionError | None = None
        for plain in found:
            try:
                options.append(self._plain(plain, place))
            except ContradictionError as error:
                reason = error
        if not options and reason is not None:
            raise reason
        return choose(options)

    def _plain(self, schema: Schema, place: Place) -> Expression:
        if "enum" in schema:
            return self._literals(schema, place)
        named = types_of(schema)
        if "type" not in schema:
            inferred = {_INFERRED[keyword] for keyword in schema if keyword in _INFERRED}
            if not inferred:
                return self._free(self._bounds.free_depth, place)
            named = tuple(name for name in named if name in inferred)
        makers: dict[str, Callable[[Schema, Place], Expression]] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "integer": self._integer,
            "number": self._number,
        }
        return choose(
            makers[name](schema, place) if name in makers else LITERALS[name]
            for name in named
            if name != "integer" or "number" not in named
        )

    def _free(self, depth: int, place: Place) -> Expression:
        if depth > 0:
            self._note(place, REPEATED_NAMES)
        return self._containers.free(depth)

    def _note(self, place: Place, what: str) -> None:
        self.unsupported.add(f"{pointer(place)} ({what})")

    # ---- values ----------------------------------------------------------------------------------------

    def _literals(self, schema: Schema, place: Place) -> Expression:
        rest = {keyword: value for keyword, value in schema.items() if keyword != "enum"}
        texts = {
            json.dumps(value, ensure_ascii=False): None
            for value in schema["enum"]
            if not rest or fits(rest, value, self._document)
        }
        if not texts:
            raise ContradictionError(
                "no value of `enum` or `const` fits the keywords beside it", where=pointer(place)
            )
        return self._book.share("literal", one_of(list(texts), self._book))

    def _string(self, schema: Schema, place: Place) -> Expression:
        low, high = schema.get("minLength", 0), schema.get("maxLength")
        where = pointer(place)
        if high is not None and low > high:
            raise ContradictionError(f"minLength {low} above maxLength {high}", where=where)
        if "pattern" not in schema:
            return self._strings.text(low, high)
        pattern = parse_pattern(schema["pattern"], where=where)
        expression, exact = self._strings.pattern(pattern, low, high)
        if not exact:
            self._note(place, "lengths beside a pattern")
        return expression

    def _integer(self, schema: Schema, place: Place) -> Expression:
        lows = [math.ceil(schema["minimum"])] if "minimum" in schema else []
        highs = [math.floor(schema["maximum"])] if "maximum" in schema else []
        if "exclusiveMinimum" in schema:
            lows.append(math.floor(schema["exclusiveMinimum"]) + 1)
        if "exclusiveMaximum" in schema:
            highs.append(math.ceil(schema["exclusiveMaximum"]) - 1)
        low, high = max(lows, default=None), min(highs, default=None)
        if low is not None and high is not None and low > high:
            raise ContradictionError(f"no integer lies from {low} to {high}", where=pointer(place))
        return self._book.share("integer", integer_between(low, high))

    def _number(self, schema: Schema, place: Place) -> Expression:
        """Whole bounds are written out; of others the sign is, and the output is validated."""
        low = max((schema[name] for name in ("minimum", "exclusiveMinimum") if name in schema), default=None)
        high = min((schema[name] for name in ("maximum", "exclusiveMaximum") if name in schema), default=None)
        if low is not None and high is not None and low > high:
            raise ContradictionError(f"no number lies from {low} to {high}", where=pointer(place))
        if (low is None or low == 0) and high is None:
            return self._book.share("number", any_number(negative=low is None))
        whole_low = None if low is None else math.floor(low)
        whole_high = None if high is None else math.ceil(high)
        return self._book.share("number", number_between(whole_low, whole_high))

    # ---- containers ------------------------------------------------------------------------------------

    def _object(self, schema: Schema, place: Place) -> Expression:
        properties: dict[str, Json] = schema.get("properties", {})
        required: list[str] = schema.get("required", [])
        extra = schema.get("additionalProperties")
        names = [*properties, *(name for name in required if name not in properties)]
        members: list[Member] = []
        if len(names) > MAX_REPEAT:
            what = f"an object of {len(names):,} named members"
            raise GrammarError(what, where=pointer(place), expected=f"at most {MAX_REPEAT:,}")
        for name in names:
            inner = properties.get(name, True if extra is None else extra)
            if inner is False and name in required:
                raise ContradictionError(
                    f"property {name[:60]!r} is required and refused", where=pointer(place)
                )
            if inner is not False:
                value = self._value(inner, (*place, "properties", name))
                members.append(Member(name=name, value=value, required=name in required))
        if extra is False or (extra is None and names):
            return self._containers.object(members, EMPTY, 0, 0)
        low, high = self._extra_counts(schema, len(members), place)
        if extra is None or extra is True:
            value = self._free(max(self._bounds.free_depth - 1, 0), place)
        else:
            value = self._value(extra, (*place, "additionalProperties"))
        if high > 1:
            self._note(place, REPEATED_NAMES)
        return self._containers.object(members, self._containers.other_member(names, value), low, high)

    def _extra_counts(self, schema: Schema, members: int, place: Place) -> tuple[int, int]:
        least, most = schema.get("minProperties", 0), schema.get("maxProperties")
        if most is not None and least > most:
            raise ContradictionError(
                f"minProperties {least} above maxProperties {most}", where=pointer(place)
            )
        low = 0 if members else least
        high = max(low, self._bounds.extra_members)
        if low > MAX_REPEAT:
            raise GrammarError(
                f"objects of at least {low:,} members",
                where=pointer(place),
                expected=f"at most {MAX_REPEAT:,}",
            )
        return low, high if most is None or members else min(high, most)

    def _array(self, schema: Schema, place: Place) -> Expression:
        prefix: list[Json] = schema.get("prefixItems", [])
        item = schema.get("items")
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        where = pointer(place)
        if low > MAX_REPEAT:
            raise GrammarError(
                f"arrays of at least {low:,} items", where=where, expected=f"at most {MAX_REPEAT:,}"
            )
        if item is False or (item is None and prefix and low <= len(prefix)):
            high = len(prefix) if high is None else min(high, len(prefix))
        refused = prefix.index(False) if False in prefix else None
        if refused is not None:
            high = refused if high is None else min(high, refused)
        usual = self._bounds.array_items if high is None else min(high, self._bounds.listed_items)
        most = max(low, len(prefix), usual)
        most = most if high is None else min(high, most)
        if low > most:
            raise ContradictionError(f"at least {low} items and at most {most}", where=where)
        first = [
            self._value(inner, (*place, "prefixItems", index)) for index, inner in enumerate(prefix[:most])
        ]
        if most <= len(first):
            return self._containers.array(first, EMPTY, low, most)
        if item is None:
            return self._free_items(first, low, most, place)
        return self._containers.array(first, self._value(item, (*place, "items")), low, most)

    def _free_items(self, first: list[Expression], low: int, most: int, place: Place) -> Expression:
        value = self._free(max(self._bounds.free_depth - 1, 0), place)
        return self._containers.array(
            first, value, low, min(most, max(low, len(first) + self._bounds.extra_members))
        )
