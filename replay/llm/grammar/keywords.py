"""Which JSON Schema keywords are understood, which are only checked afterwards, and which are refused.

JSON Schema lets a reader ignore what it does not know; a constraint that is ignored is a constraint that
fails open. So every keyword is in one of four lists, and a keyword in none of them is an error:

* GRAMMAR: the grammar allows only what the keyword allows;
* CHECKED: the grammar may allow more; the finished output is validated (in strict mode: an error);
* NOTES: says something to people, constrains nothing;
* REFUSED: an error with its reason, because a grammar that does not know it would mostly miss it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from replay.core.errors import GrammarError
from replay.core.types import Json

__all__ = ["CHECKED", "GRAMMAR", "NOTES", "REFUSED", "TYPES", "Place", "check_document", "find", "pointer"]

TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null")

GRAMMAR: Final = {
    "$defs": "schemas by name",
    "$ref": "reference",
    "additionalProperties": "schema",
    "allOf": "schemas",
    "anyOf": "schemas",
    "const": "value",
    "definitions": "schemas by name",
    "enum": "values",
    "items": "schema",
    "maxItems": "count",
    "maxLength": "count",
    "minItems": "count",
    "minLength": "count",
    "oneOf": "schemas",
    "pattern": "text",
    "prefixItems": "schemas",
    "properties": "schemas by name",
    "required": "names",
    "type": "type or types",
}
"""Keywords that shape the grammar, with the kind of value each takes."""

CHECKED: Final = {
    "exclusiveMaximum": "number",
    "exclusiveMinimum": "number",
    "maxProperties": "count",
    "maximum": "number",
    "minProperties": "count",
    "minimum": "number",
    "multipleOf": "positive number",
    "uniqueItems": "flag",
}
"""The grammar does keep bounds of integers, and whole inclusive bounds of numbers; those are not listed."""

NOTES: Final = frozenset(
    {
        "$comment",
        "contentEncoding",
        "contentMediaType",
        "default",
        "deprecated",
        "description",
        "example",
        "examples",
        "format",
        "readOnly",
        "title",
        "writeOnly",
    }
)

REFUSED: Final = {
    "$anchor": "references go to #/$defs and #/definitions",
    "$dynamicAnchor": "references go to #/$defs and #/definitions",
    "$dynamicRef": "references go to #/$defs and #/definitions",
    "$recursiveAnchor": "references go to #/$defs and #/definitions",
    "$recursiveRef": "references go to #/$defs and #/definitions",
    "$vocabulary": "it belongs to the schemas of schemas",
    "additionalItems": "prefixItems and items say it in the 2020-12 draft",
    "contains": "use prefixItems, or an array of anyOf",
    "contentSchema": "it describes the inside of a string",
    "dependencies": "use anyOf of objects",
    "dependentRequired": "use anyOf of objects",
    "dependentSchemas": "use anyOf of objects",
    "else": "use anyOf",
    "if": "use anyOf",
    "maxContains": "use prefixItems, or an array of anyOf",
    "minContains": "use prefixItems, or an array of anyOf",
    "not": "say what is allowed, for example with enum",
    "patternProperties": "use properties, or additionalProperties with a schema",
    "propertyNames": "use properties",
    "then": "use anyOf",
    "unevaluatedItems": "use items",
    "unevaluatedProperties": "use additionalProperties in one object schema",
}

_DRAFTS: Final = frozenset(
    {
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    }
)
_BOUNDS: Final = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"})
_AT_ROOT: Final = frozenset({"$id", "$schema"})
_EXPECTED: Final = {
    "schema": "a schema: an object, true or false",
    "schemas": "a list of at least one schema",
    "schemas by name": "an object of schemas",
    "reference": "text such as #/$defs/name",
    "value": "any value",
    "values": "a list of at least one value",
    "count": "a whole number that is not negative",
    "number": "a number",
    "positive number": "a number above 0",
    "text": "text",
    "names": "a list of names, each once",
    "flag": "true or false",
    "type or types": f"one or more of {', '.join(TYPES)}, each once",
}

Place = tuple[str | int, ...]
"""Steps from the root of a document."""


def pointer(place: Place) -> str:
    """Write a place as a JSON pointer in a URI fragment, `#/properties/a`."""
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in place)
    return "#" + "".join(f"/{step if len(step) <= 60 else step[:60] + '...'}" for step in steps)


def find(document: Json, reference: str, where: str) -> tuple[Json, Place]:
    """Follow a reference inside a document.

    Errors:  GrammarError for one that leaves the document or its definitions, or that finds nothing.
    """
    steps = reference.removeprefix("#/").split("/")
    if not reference.startswith(("#/$defs/", "#/definitions/")):
        raise GrammarError(
            f"$ref {reference[:80]!r}", where=where, expected="a place in this document: #/$defs/name"
        )
    place: list[str | int] = []
    found = document
    for step in (step.replace("~1", "/").replace("~0", "~") for step in steps):
        if isinstance(found, dict) and step in found:
            found = found[step]
            place.append(step)
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
            place.append(int(step))
        else:
            raise GrammarError(f"$ref {reference[:80]!r} finds nothing", where=where)
    if not isinstance(found, (dict, bool)):
        raise GrammarError(f"$ref {reference[:80]!r} finds no schema", where=where)
    return found, tuple(place)


def check_document(document: Json) -> tuple[str, ...]:
    """Check every keyword of a schema document and list where those stand that are only checked afterwards.

    Errors:  GrammarError naming the keyword and its JSON pointer: unknown, refused, or of a wrong kind.
    """
    found: list[str] = []
    waiting: list[tuple[Json, Place]] = [(document, ())]
    while waiting:
        schema, place = waiting.pop()
        if isinstance(schema, bool):
            continue
        for keyword, value in schema.items():
            here = (*place, keyword)
            _check_keyword(keyword, value, here)
            if keyword == "$ref":
                find(document, value, pointer(here))
            if keyword == "oneOf" or (keyword in CHECKED and not _is_in_grammar(keyword, value, schema)):
                found.append(pointer(here))
            waiting += _inner(GRAMMAR.get(keyword, ""), value, here)
    return tuple(sorted(found))


def _is_in_grammar(keyword: str, value: Json, schema: dict[str, Json]) -> bool:
    """Tell whether the grammar enforces this bound: any of integers, whole inclusive ones of numbers."""
    types = schema.get("type")
    if keyword not in _BOUNDS or types is None or ("number" in types and keyword.startswith("exclusive")):
        return False
    return "number" not in types or value == int(value)


def _check_keyword(keyword: str, value: Json, place: Place) -> None:
    where = pointer(place)
    if keyword in REFUSED:
        raise GrammarError(f"keyword {keyword!r} is not supported", where=where, expected=REFUSED[keyword])
    if keyword in NOTES:
        return
    if keyword in _AT_ROOT:
        _check_root_keyword(keyword, value, place)
        return
    kind = GRAMMAR.get(keyword) or CHECKED.get(keyword)
    if kind is None:
        known = sorted({*GRAMMAR, *CHECKED, *NOTES})
        raise GrammarError(
            f"keyword {keyword[:60]!r} is unknown", where=where, expected=f"one of {', '.join(known)}"
        )
    if not _KINDS[kind](value):
        raise GrammarError(f"keyword {keyword!r} has a wrong value", where=where, expected=_EXPECTED[kind])


def _check_root_keyword(keyword: str, value: Json, place: Place) -> None:
    if len(place) > 1:
        raise GrammarError(
            f"keyword {keyword!r} is not supported", where=pointer(place), expected="it at the root only"
        )
    if keyword == "$schema" and (not isinstance(value, str) or value.rstrip("#") not in _DRAFTS):
        raise GrammarError(
            f"$schema {str(value)[:80]!r}",
            where=pointer(place),
            expected=f"one of {', '.join(sorted(_DRAFTS))}",
        )


def _is_schema(value: Json) -> bool:
    return isinstance(value, (dict, bool))


def _are_different_texts(values: list[Json]) -> bool:
    return all(isinstance(value, str) for value in values) and len(set(values)) == len(values)


def _inner(kind: str, value: Json, place: Place) -> Iterator[tuple[Json, Place]]:
    if kind == "schema":
        yield value, place
    elif kind == "schemas":
        yield from ((item, (*place, index)) for index, item in enumerate(value))
    elif kind == "schemas by name":
        yield from ((item, (*place, name)) for name, item in value.items())


def _is_list_of(check: Callable[[Json], bool], value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(map(check, value))


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_types(value: Json) -> bool:
    named = value if isinstance(value, list) else [value]
    return bool(named) and _are_different_texts(named) and set(named) <= set(TYPES)


_KINDS: Final[dict[str, Callable[[Json], bool]]] = {
    "schema": _is_schema,
    "schemas": lambda value: _is_list_of(_is_schema, value),
    "schemas by name": lambda value: isinstance(value, dict) and all(map(_is_schema, value.values())),
    "reference": lambda value: isinstance(value, str),
    "value": lambda _: True,
    "values": lambda value: isinstance(value, list) and bool(value),
    "count": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "number": _is_number,
    "positive number": lambda value: _is_number(value) and value > 0,
    "text": lambda value: isinstance(value, str),
    "names": lambda value: isinstance(value, list) and _are_different_texts(value),
    "flag": lambda value: isinstance(value, bool),
    "type or types": _is_types,
}
