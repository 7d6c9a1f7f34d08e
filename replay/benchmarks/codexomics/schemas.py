"""Tool schemas: the native form shown to a model, and the official evaluator's validator (spec section 3).

The validator checks type, enum, const, minimum, maximum, lengths, pattern, items, required,
additionalProperties, oneOf (exactly one), anyOf and allOf; with both oneOf and anyOf only oneOf counts, and
exclusive bounds and formats are not looked at, as upstream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from replay.benchmarks.codexomics.scoring.coercion import is_number, is_same
from replay.core.errors import InputError
from replay.core.jsonpath import join_path
from replay.core.types import Json

__all__ = ["MAX_DESCRIPTION", "find_contradictions", "native_schema", "schema_errors", "schema_only"]

MAX_DESCRIPTION: Final = 1_024
"""Characters of a tool's description that providers take."""

_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_DEPTH: Final = 40
_MAX_ERRORS: Final = 20
_MAX_PATTERN_TEXT: Final = 100_000

_CHECKED: Final = frozenset(
    {
        "type",
        "enum",
        "const",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "pattern",
        "items",
        "properties",
        "required",
        "additionalProperties",
        "oneOf",
        "anyOf",
        "allOf",
    }
)
_SHOWN: Final = _CHECKED | {
    "title",
    "description",
    "default",
    "format",
    "not",
    "uniqueItems",
    "$ref",
    "$defs",
}
_SUBSCHEMAS: Final = ("oneOf", "anyOf", "allOf")
_TYPES: Final = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_BOUNDS: Final = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))


def native_schema(name: str, parameters: Json) -> dict[str, Json]:
    """Make the schema of a tool's arguments that a model is given.

    Shape:   allowed keywords only; `required: true` on a property is lifted into the list; objects that list
             properties take no others.
    Errors:  InputError for a name that no provider takes, or a schema that is no object.
    """
    if _TOOL_NAME.fullmatch(name) is None:
        raise InputError(f"unusable tool name {name!r}", expected="1 to 64 letters, digits, _ or -")
    given = {"type": "object", "properties": {}} if parameters is None else parameters
    if not isinstance(given, dict):
        raise InputError(
            f"parameters are {type(given).__name__}", where=f"tool {name}", expected="a JSON Schema object"
        )
    return {"type": "object", **_native(given, 0)}


def schema_only(schema: Json) -> Json:
    """Keep of a schema what the validator reads."""
    if not isinstance(schema, dict):
        return schema
    kept = {name: value for name, value in schema.items() if name in _CHECKED}
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {name: schema_only(value) for name, value in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = schema_only(kept["items"])
    for name in _SUBSCHEMAS:
        if isinstance(kept.get(name), list):
            kept[name] = [schema_only(item) for item in kept[name]]
    return kept


def schema_errors(schema: Json, value: Json) -> tuple[str, ...]:
    """Validate a value; each error names its place. An empty result means valid."""
    found: list[str] = []
    for error in _errors(schema, value, []):
        found.append(error)
        if len(found) >= _MAX_ERRORS:
            break
    return tuple(found)


def find_contradictions(schema: Json) -> tuple[str, ...]:
    """Name every place where a schema's keywords leave no value, or cannot be read."""
    return tuple(_contradictions(schema, []))


# ---- native form ---------------------------------------------------------------------------------------


def _native(schema: Json, depth: int) -> Json:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return schema
    # `required: true` belongs to the property's parent; the parent lifts it.
    made = {name: value for name, value in schema.items() if name in _SHOWN and not _is_flag(name, value)}
    properties = made.get("properties")
    if isinstance(properties, dict):
        lifted = [name for name, item in properties.items() if _is_required(item)]
        listed = [name for name in made.get("required") or [] if isinstance(name, str)]
        made["properties"] = {name: _native(item, depth + 1) for name, item in properties.items()}
        required = [*listed, *(name for name in lifted if name not in listed)]
        made.pop("required", None)
        if required:
            made["required"] = required
        made["additionalProperties"] = False if properties else made.get("additionalProperties", False)
    if "items" in made:
        made["items"] = _native(made["items"], depth + 1)
    for name in _SUBSCHEMAS:
        if isinstance(made.get(name), list):
            made[name] = [_native(item, depth + 1) for item in made[name]]
    return made


def _is_flag(name: str, value: Json) -> bool:
    return name == "required" and not isinstance(value, list)


def _is_required(schema: Json) -> bool:
    return isinstance(schema, dict) and schema.get("required") is True


# ---- validation ----------------------------------------------------------------------------------------


def _errors(schema: Json, value: Json, path: list[str | int]) -> Iterator[str]:
    if not isinstance(schema, dict) or len(path) > _MAX_DEPTH:
        return
    yield from _value_errors(schema, value, path)
    if isinstance(value, str):
        yield from _text_errors(schema, value, path)
    elif is_number(value):
        yield from _bound_errors(schema, value, path, ("minimum", "maximum"))
    elif isinstance(value, list):
        yield from _bound_errors(schema, len(value), path, ("minItems", "maxItems"))
        for index, item in enumerate(value):
            yield from _errors(schema.get("items"), item, [*path, index])
    elif isinstance(value, dict):
        yield from _object_errors(schema, value, path)
    yield from _combined_errors(schema, value, path)


def _value_errors(schema: Mapping[str, Json], value: Json, path: list[str | int]) -> Iterator[str]:
    types = schema.get("type")
    listed = types if isinstance(types, list) else [types]
    if types is not None and not any(_has_type(value, name) for name in listed):
        yield f"{join_path(path)}: not of type {' or '.join(map(str, listed))}"
    enum = schema.get("enum")
    if isinstance(enum, list) and not any(is_same(item, value) for item in enum):
        yield f"{join_path(path)}: not one of the {len(enum)} allowed values"
    if "const" in schema and not is_same(schema["const"], value):
        yield f"{join_path(path)}: not the constant value"


def _has_type(value: Json, name: Json) -> bool:
    if name == "number":
        return is_number(value)
    if name == "integer":
        return is_number(value) and (isinstance(value, int) or value.is_integer())
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kind = kinds.get(name) if isinstance(name, str) else None
    return kind is None or isinstance(value, kind)


def _text_errors(schema: Mapping[str, Json], value: str, path: list[str | int]) -> Iterator[str]:
    yield from _bound_errors(schema, len(value), path, ("minLength", "maxLength"))
    pattern = _compiled(schema.get("pattern"))
    if pattern is not None and pattern.search(value[:_MAX_PATTERN_TEXT]) is None:
        yield f"{join_path(path)}: does not fit pattern {pattern.pattern}"


def _bound_errors(
    schema: Mapping[str, Json], size: float, path: list[str | int], names: tuple[str, str]
) -> Iterator[str]:
    low, high = (schema.get(name) for name in names)
    if low is not None and is_number(low) and size < low:
        yield f"{join_path(path)}: under {names[0]} {low}"
    if high is not None and is_number(high) and size > high:
        yield f"{join_path(path)}: over {names[1]} {high}"


def _object_errors(
    schema: Mapping[str, Json], value: Mapping[str, Json], path: list[str | int]
) -> Iterator[str]:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    for name in required if isinstance(required, list) else []:
        if isinstance(name, str) and name not in value:
            yield f"{join_path([*path, name])}: required and missing"
    further = schema.get("additionalProperties")
    for name, item in value.items():
        if name in properties:
            yield from _errors(properties[name], item, [*path, name])
        elif further is False:
            yield f"{join_path([*path, name])}: not a property of the schema"
        elif isinstance(further, dict):
            yield from _errors(further, item, [*path, name])


def _combined_errors(schema: Mapping[str, Json], value: Json, path: list[str | int]) -> Iterator[str]:
    one, some, every = (_subschemas(schema, name) for name in _SUBSCHEMAS)
    if one:
        fitting = sum(1 for item in one if _fits(item, value, path))
        if fitting != 1:
            yield f"{join_path(path)}: fits {fitting} of {len(one)} forms, exactly one is wanted"
    elif some and not any(_fits(item, value, path) for item in some):
        yield f"{join_path(path)}: fits none of {len(some)} forms"
    for item in every:
        yield from _errors(item, value, path)


def _subschemas(schema: Mapping[str, Json], name: str) -> list[Json]:
    found = schema.get(name)
    return found if isinstance(found, list) else []


def _fits(schema: Json, value: Json, path: list[str | int]) -> bool:
    return next(_errors(schema, value, path), None) is None


def _compiled(pattern: Json) -> re.Pattern[str] | None:
    if not isinstance(pattern, str):
        return None
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


# ---- contradictions ------------------------------------------------------------------------------------


def _contradictions(schema: Json, path: list[str | int]) -> Iterator[str]:
    if not isinstance(schema, dict) or len(path) > _MAX_DEPTH:
        return
    place = join_path(path)
    yield from _bound_contradictions(schema, place)
    yield from _value_contradictions(schema, place)
    yield from _object_contradictions(schema, path)
    if "items" in schema:
        yield from _contradictions(schema["items"], [*path, "items"])
    for name in _SUBSCHEMAS:
        for index, item in enumerate(_subschemas(schema, name)):
            yield from _contradictions(item, [*path, name, index])


def _bound_contradictions(schema: Mapping[str, Json], place: str) -> Iterator[str]:
    for low, high in _BOUNDS:
        if is_number(schema.get(low)) and is_number(schema.get(high)) and schema[low] > schema[high]:
            yield f"{place}: {low} {schema[low]} is over {high} {schema[high]}"


def _object_contradictions(schema: Mapping[str, Json], path: list[str | int]) -> Iterator[str]:
    place = join_path(path)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        required = schema.get("required")
        for name in required if isinstance(required, list) else []:
            is_declared = isinstance(name, str) and name in properties
            if schema.get("additionalProperties") is False and not is_declared:
                yield f"{place}: {name!r} is required and not allowed"
        for name, item in properties.items():
            yield from _contradictions(item, [*path, "properties", name])


def _value_contradictions(schema: Mapping[str, Json], place: str) -> Iterator[str]:
    enum, types = schema.get("enum"), schema.get("type")
    listed = types if isinstance(types, list) else [types]
    for name in listed:
        if name is not None and not (isinstance(name, str) and name in _TYPES):
            yield f"{place}: unknown type {name!r}"
    if isinstance(schema.get("pattern"), str) and _compiled(schema["pattern"]) is None:
        yield f"{place}: pattern cannot be read"
    if isinstance(enum, list):
        usable = [item for item in enum if types is None or any(_has_type(item, name) for name in listed)]
        if not usable:
            yield f"{place}: no value of enum is of type {' or '.join(map(str, listed))}"
        if "const" in schema and not any(is_same(schema["const"], item) for item in enum):
            yield f"{place}: const is not in enum"
