"""Schemas with references and combinations, resolved into plain alternatives.

`$ref`, `allOf`, `anyOf`, `oneOf` and the keywords beside them become a list of plain schemas of which a value
fits one (`oneOf`: at least one; the finished output is validated). References are followed only here, only
inside the document, and all work is counted, so that no document takes more than its share.
"""

from __future__ import annotations

from typing import Final

from replay.core.errors import GrammarError
from replay.core.types import Json
from replay.llm.grammar.keywords import NOTES, Place, find, pointer
from replay.llm.grammar.merging import ContradictionError, Schema, merge

__all__ = ["MAX_ALTERNATIVES", "Resolver"]

MAX_ALTERNATIVES: Final = 256
"""Alternatives at one place; each costs the sampler a way to follow."""

_MAX_STEPS: Final = 100_000
_MAX_REFERENCES: Final = 32  # that lead to one another without passing a property or an item

_RESOLVED: Final = frozenset(
    {*NOTES, "$defs", "$id", "$ref", "$schema", "allOf", "anyOf", "const", "definitions", "oneOf"}
)


class Resolver:
    """Resolves the schemas of one document, which has been checked keyword by keyword."""

    def __init__(self, document: Json) -> None:
        """Follow references inside this document."""
        self._document = document
        self._steps = 0

    def alternatives(self, schema: Json, place: Place) -> list[Schema]:
        """List the plain schemas of which a value fits one, in order.

        Errors:  ContradictionError when no value can fit; GrammarError for references that lead in a circle,
                 keywords that cannot be merged, and too many alternatives.
        """
        return self._resolve(schema, pointer(place), ())

    def _resolve(self, schema: Json, where: str, trail: tuple[str, ...]) -> list[Schema]:
        self._spend(1, where)
        if schema is False:
            raise ContradictionError("no value fits the schema `false`", where=where)
        if schema is True:
            return [{}]
        plain = {keyword: value for keyword, value in schema.items() if keyword not in _RESOLVED}
        if "const" in schema:
            plain = merge(plain, {"enum": [schema["const"]]}, where=where)
        found = [plain]
        if "$ref" in schema:
            found = self._product(found, self._follow(schema["$ref"], where, trail), where)
        for part in schema.get("allOf", ()):
            found = self._product(found, self._resolve(part, where, trail), where)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                found = self._product(found, self._any(schema[keyword], where, trail), where)
        return found

    def _follow(self, reference: str, where: str, trail: tuple[str, ...]) -> list[Schema]:
        if reference in trail:
            raise GrammarError(
                f"$ref {reference[:80]!r} leads back to itself",
                where=where,
                expected="recursion that passes through a property or an item",
            )
        if len(trail) >= _MAX_REFERENCES:
            raise GrammarError(f"more than {_MAX_REFERENCES} references in a row", where=where)
        target, place = find(self._document, reference, where)
        return self._resolve(target, pointer(place), (*trail, reference))

    def _any(self, parts: list[Json], where: str, trail: tuple[str, ...]) -> list[Schema]:
        found: list[Schema] = []
        reason: ContradictionError | None = None
        for part in parts:
            try:
                found += [one for one in self._resolve(part, where, trail) if one not in found]
            except ContradictionError as error:
                reason = error
            self._count(found, where)
        if not found and reason is not None:
            raise reason
        return found

    def _product(self, first: list[Schema], second: list[Schema], where: str) -> list[Schema]:
        found: list[Schema] = []
        reason: ContradictionError | None = None
        for one in first:
            for other in second:
                try:
                    merged = merge(one, other, where=where)
                except ContradictionError as error:
                    reason = error
                    continue
                self._spend(1 + len(merged.get("properties", ())), where)
                found.append(merged)
            self._count(found, where)
        if not found and reason is not None:
            raise reason
        return found

    def _count(self, found: list[Schema], where: str) -> None:
        if len(found) > MAX_ALTERNATIVES:
            raise GrammarError(
                f"more than {MAX_ALTERNATIVES} alternatives at one place",
                where=where,
                expected="fewer, or alternatives inside a property",
            )

    def _spend(self, steps: int, where: str) -> None:
        self._steps += steps
        if self._steps > _MAX_STEPS:
            raise GrammarError(
                f"more than {_MAX_STEPS:,} steps to resolve the schema",
                where=where,
                expected="fewer references and combinations",
            )
