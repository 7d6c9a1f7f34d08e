"""Two schemas that must both hold, made one: what `allOf`, and keywords beside `$ref` or `anyOf`, ask for.

Only what can be merged exactly is merged; anything else is an error rather than a guess. Both schemas are
*plain*: references and combinations at their top have been resolved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from replay.core.canonical import canonical_bytes
from replay.core.errors import GrammarError
from replay.core.types import Json
from replay.llm.grammar.keywords import CHECKED, NOTES, TYPES

__all__ = ["ContradictionError", "Schema", "both", "merge", "types_of"]

Schema = dict[str, Json]


class ContradictionError(GrammarError):
    """No value fits: of several alternatives such a one is left out, alone it is an error."""


def types_of(schema: Schema) -> tuple[str, ...]:
    """List the types a plain schema allows, in its own order; all of them when it names none."""
    named = schema.get("type", TYPES)
    return (named,) if isinstance(named, str) else tuple(named)


def both(first: Json, second: Json) -> Json:
    """Ask for two schemas at once, without looking into them yet."""
    if first is True or first == second:
        return second
    if second is True:
        return first
    if first is False or second is False:
        return False
    return {"allOf": [first, second]}


def merge(first: Schema, second: Schema, *, where: str) -> Schema:
    """Merge two plain schemas.

    Errors:  ContradictionError when no value fits both; GrammarError for keywords that cannot be merged.
    """
    one, other = _close(first, second, where), _close(second, first, where)
    merged: Schema = dict(one)
    for keyword, value in other.items():
        if keyword not in merged:
            merged[keyword] = value
        elif merged[keyword] != value and keyword not in NOTES:
            merged[keyword] = _merge_keyword(keyword, merged[keyword], value, where)
    return merged


def _merge_keyword(keyword: str, first: Json, second: Json, where: str) -> Json:
    if keyword == "type":
        return _common_types({"type": first}, {"type": second}, where)
    if keyword == "enum":
        return _common_values(first, second, where)
    simple = _SIMPLE.get(keyword)
    if simple is not None:
        return simple(first, second)
    if keyword in CHECKED:
        return first  # the finished output is validated against the whole schema
    raise GrammarError(
        f"two different {keyword!r} that must both hold", where=where, expected="one schema that says it all"
    )


def _common_types(first: Schema, second: Schema, where: str) -> list[str]:
    one, other = types_of(first), types_of(second)
    common = [name for name in one if name in other or (name == "integer" and "number" in other)]
    if "number" in one and "integer" in other and "integer" not in common:
        common.append("integer")
    if not common:
        raise ContradictionError(f"types {', '.join(one)} and {', '.join(other)} at once", where=where)
    return common


def _common_values(first: list[Json], second: list[Json], where: str) -> list[Json]:
    known = {canonical_bytes(value) for value in second}
    common = [value for value in first if canonical_bytes(value) in known]
    if not common:
        raise ContradictionError("two lists of values that have none in common", where=where)
    return common


def _merge_properties(first: Schema, second: Schema) -> Schema:
    merged = dict(first)
    for name, schema in second.items():
        merged[name] = both(merged[name], schema) if name in merged else schema
    return merged


def _merge_prefix(first: list[Json], second: list[Json]) -> list[Json]:
    longer = first if len(first) >= len(second) else second
    pairs = [both(one, other) for one, other in zip(first, second, strict=False)]
    return pairs + longer[len(pairs) :]


_SIMPLE: Final[dict[str, Callable[[Json, Json], Json]]] = {
    "additionalProperties": both,
    "items": both,
    "maxItems": min,
    "maxLength": min,
    "maximum": min,
    "minItems": max,
    "minLength": max,
    "minimum": max,
    "prefixItems": _merge_prefix,
    "properties": _merge_properties,
    "required": lambda first, second: list(dict.fromkeys([*first, *second])),
}


def _close(schema: Schema, other: Schema, where: str) -> Schema:
    """Apply the other schema's rules for properties and items this one alone knows."""
    closed = dict(schema)
    extra = other.get("additionalProperties", True)
    if extra is not True and "properties" in schema:
        known = other.get("properties", {})
        closed["properties"] = {
            name: inner if name in known else both(inner, extra)
            for name, inner in schema["properties"].items()
        }
    if "prefixItems" in schema and other.get("items", True) is not True:
        start = len(other.get("prefixItems", ()))
        rest = other["items"]
        closed["prefixItems"] = [
            inner if index < start else both(inner, rest) for index, inner in enumerate(schema["prefixItems"])
        ]
    if "const" in schema:
        closed["enum"] = _common_values([closed.pop("const")], schema.get("enum", [schema["const"]]), where)
    return closed
