"""What an API's answer looks like: the benchmark's `template_response`, as JSON Schema.

A template is a recorded answer with type names for values: `str`, `int`, `float`, `bool`, `NoneType`,
`empty list`, and for lists one element that stands for all, `["list of str with length 3"]` or an object
with `_list_length`. A template given as text is the first 1,000 characters of such an object: what is whole
is kept, the member that was cut is left out. The survey behind this: all 2,748 templates of the 765 solvable
queries, 960 different ones. Source: `template_response` of the query files at aa4ed9f.
"""

from __future__ import annotations

import json
import re
from typing import Final

from replay.core.errors import InputError
from replay.core.jsonpath import join_path
from replay.core.types import Json

__all__ = ["MAX_LIST_ITEMS", "answer_schema", "shape_schema"]

MAX_LIST_ITEMS: Final = 3
"""Items a made-up list holds at most. Recorded lengths (up to 2,002) are those of one answer to other
arguments; three show a candidate what is in such a list at a cost a small model can pay."""

_MAX_DEPTH: Final = 40  # the deepest known is 15
_MAX_NODES: Final = 20_000
_LENGTH: Final = "_list_length"
_LEAVES: Final[dict[str, dict[str, Json]]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "NoneType": {"type": "null"},
    "empty list": {"type": "array", "maxItems": 0},
    "list": {"type": "array", "maxItems": MAX_LIST_ITEMS},
    "dict": {"type": "object"},
}
_LIST_OF: Final = re.compile(r"list of (\w+) with length (\d{1,9})", re.ASCII)


def answer_schema(shape: Json, *, where: str = "") -> dict[str, Json]:
    """Wrap the schema of a shape the way an API's answer is: `{"error": text, "response": ...}`.

    Without a shape (None, an empty object or empty text) the response is any JSON value.
    Errors:  InputError naming the JSON path and the leaf that is not known.
    """
    inner = shape_schema(shape, where=where)
    return {
        "type": "object",
        "properties": {"error": {"type": "string"}, "response": {} if inner is None else inner},
        "required": ["error", "response"],
        "additionalProperties": False,
    }


def shape_schema(shape: Json, *, where: str = "") -> dict[str, Json] | None:
    """Turn a template into the JSON Schema of the answer it was taken from; None when it says nothing.

    Every member of an object is required, in the template's order; lists hold up to three items, and those
    recorded as empty none. An object without members stays one.
    Errors:  InputError for a leaf, a list or a text that is none of the known forms.
    """
    if isinstance(shape, str) and shape not in _LEAVES and not _LIST_OF.fullmatch(shape):
        shape = _complete(shape, where) if shape.strip() else None
    if shape is None or shape == {}:
        return None
    return _Reader(where).read(shape, ())


class _Reader:
    """Reads one template and counts its parts."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._left = _MAX_NODES

    def read(self, shape: Json, path: tuple[str | int, ...]) -> dict[str, Json]:
        self._left -= 1
        if self._left < 0 or len(path) > _MAX_DEPTH:
            expected = f"at most {_MAX_NODES:,} parts and {_MAX_DEPTH} levels"
            raise self._refuse("a template that is too large", path, expected)
        if isinstance(shape, str):
            return self._leaf(shape, path)
        if isinstance(shape, dict):
            return self._object(shape, path)
        if isinstance(shape, list):
            return self._list(shape, path)
        raise self._refuse(f"{json.dumps(shape)} in a template", path, "type names as text, objects or lists")

    def _leaf(self, name: str, path: tuple[str | int, ...]) -> dict[str, Json]:
        if name in _LEAVES:
            return dict(_LEAVES[name])
        found = _LIST_OF.fullmatch(name)
        if found is None or found[1] not in _LEAVES:
            known = ", ".join([*_LEAVES, "list of <one of these> with length <number>"])
            raise self._refuse(f"leaf {name[:80]!r} of a template", path, f"one of {known}")
        return _array(dict(_LEAVES[found[1]]), int(found[2]))

    def _object(self, shape: dict[str, Json], path: tuple[str | int, ...]) -> dict[str, Json]:
        members = {name: inner for name, inner in shape.items() if not _is_length(name, inner)}
        return {
            "type": "object",
            "properties": {name: self.read(inner, (*path, name)) for name, inner in members.items()},
            "required": list(members),
            "additionalProperties": False,
        }

    def _list(self, shape: list[Json], path: tuple[str | int, ...]) -> dict[str, Json]:
        if not shape:
            return dict(_LEAVES["empty list"])
        if len(shape) > 1:
            raise self._refuse(f"a list of {len(shape)} elements", path, "one element that stands for all")
        [element] = shape
        if isinstance(element, str) and _LIST_OF.fullmatch(element):
            return self._leaf(element, (*path, 0))
        length = element.get(_LENGTH) if isinstance(element, dict) else None
        if not isinstance(length, int) or isinstance(length, bool):
            length = MAX_LIST_ITEMS
        return _array(self.read(element, (*path, 0)), length)

    def _refuse(self, what: str, path: tuple[str | int, ...], expected: str) -> InputError:
        place = f"template_response {join_path(path)}"
        return InputError(what, where=f"{self._where}, {place}" if self._where else place, expected=expected)


def _is_length(name: str, value: Json) -> bool:
    """A member of that name with a type name for a value would be the answer's own."""
    return name == _LENGTH and isinstance(value, int)


def _array(items: dict[str, Json], length: int) -> dict[str, Json]:
    if length == 0:
        return dict(_LEAVES["empty list"])
    return {"type": "array", "items": items, "maxItems": min(length, MAX_LIST_ITEMS)}


# ---- templates that were cut -------------------------------------------------------------------------------

_CLOSERS: Final = {"{": "}", "[": "]"}
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)


def _complete(text: str, where: str) -> Json:
    """Parse a template text, closing what a cut left open after its last whole member."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    for kept in _whole_prefixes(text):
        try:
            return json.loads(kept)
        except (ValueError, RecursionError):
            continue
    place = f"{where}, template_response" if where else "template_response"
    raise InputError(
        f"a template text that is no JSON: {text[:60]!r}", where=place, expected="JSON, or its beginning"
    )


def _whole_prefixes(text: str) -> list[str]:
    """Cut behind the last whole member, and behind the one before it, and close the brackets."""
    open_brackets: list[str] = []
    ends: list[tuple[int, str]] = []
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in _CLOSERS:
            open_brackets.append(_CLOSERS[sign])
            if len(open_brackets) > _MAX_DEPTH:
                return []
            ends.append((token.end(), "".join(reversed(open_brackets))))
        elif sign in ("}", "]"):
            if not open_brackets or open_brackets.pop() != sign:
                return []
            ends.append((token.end(), "".join(reversed(open_brackets))))
        elif sign == ",":
            ends.append((token.start(), "".join(reversed(open_brackets))))
    return [text[:end] + closers for end, closers in reversed(ends[-3:])]
