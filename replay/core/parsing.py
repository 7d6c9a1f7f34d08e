"""Strict reading of one JSON text (RFC 8259, I-JSON names): what is read is what was written, or an error.

Python's reader keeps the last of duplicate names, takes `NaN`, turns `1e400` into infinity, lets lone
surrogates through and has limits that depend on the interpreter's settings. Here each of them is refused with
its JSON path. Reading is done by the standard reader; only when something is wrong is the text read again,
slowly, to say where.

Decisions: bytes are UTF-8 and nothing else; a byte order mark is refused (RFC 8259 section 8.1 forbids
writing one; decode with `utf-8-sig` where upstream files have it); a number too small for a double is zero.
"""

from __future__ import annotations

import json
import math
import re
from typing import Final

from replay.core.errors import CanonicalError
from replay.core.jsonpath import join_path
from replay.core.numbers import MAX_DIGITS, parse_integer
from replay.core.types import Json

__all__ = ["MAX_DEPTH", "is_too_deep", "parse_json"]

MAX_DEPTH: Final = 200
"""How many containers may lie in one another: `[[1]]` has depth 2."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
# Tried once for each run of digits, so that many long runs cost no more than one reading.
_LONG_DIGITS: Final = re.compile(rf"(?<![0-9])[0-9]{{{MAX_DIGITS + 1}}}")
_SHOWN_NUMBER: Final = 20
_CONTAINERS: Final = frozenset({dict, list})


def parse_json(text: str | bytes, *, where: str = "") -> Json:
    """Read one JSON text strictly.

    `where` names the text in messages (a file and record number); the place inside it is added.
    Errors: CanonicalError for bytes that are not UTF-8, a byte order mark, anything that is not one JSON
            value, NaN and infinities, numbers beyond a double, integers of more than 4,300 digits, names that
            occur twice in an object (escapes decoded), lone surrogates, nesting over 200.
    """
    decoded = _decode(text, where)
    if _LONG_DIGITS.search(decoded):
        return _read_slowly(decoded, where)
    try:
        value = _STRICT.decode(decoded)
        if "\\ud" in decoded or "\\uD" in decoded:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # UnicodeEncodeError and JSONDecodeError are ValueErrors
        return _read_slowly(decoded, where)
    if decoded.count("[") + decoded.count("{") > MAX_DEPTH and is_too_deep(value):
        return _read_slowly(decoded, where)
    return value


def is_too_deep(value: Json) -> bool:
    """Tell whether containers lie in one another more than MAX_DEPTH deep, level by level."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(MAX_DEPTH):
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) in _CONTAINERS
        ]
        if not level:
            return False
    return True


def _decode(text: str | bytes, where: str) -> str:
    try:
        if isinstance(text, str):
            text.encode()
            decoded = text
        else:
            decoded = text.decode()
    except UnicodeEncodeError as error:
        raise _refusal("a lone surrogate in the text", where, f"character {error.start}") from None
    except UnicodeDecodeError as error:
        raise _refusal("bytes that are not UTF-8", where, f"byte {error.start}") from None
    if decoded.startswith("\ufeff"):
        raise CanonicalError(
            "a byte order mark before a JSON text",
            where=where,
            expected="UTF-8 without a mark",
            next_step="remove its first three bytes (EF BB BF)",
        )
    return decoded


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _read_double(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError
    return value


def _refuse_constant(_name: str) -> Json:
    raise ValueError


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_read_double, parse_constant=_refuse_constant
)
"""Made once: making it takes as long as reading a short text."""


# ---- the second, slow reading: the same text, only to say where it is wrong --------------------------------


class _Token(str):
    """A number or constant as it was written."""

    __slots__ = ()


class _Pairs(list[tuple[str, Json]]):
    """An object with all its names, duplicates too."""

    __slots__ = ()


def _read_slowly(text: str, where: str) -> Json:
    try:
        tree = json.loads(
            text, object_pairs_hook=_Pairs, parse_float=_Token, parse_int=_Token, parse_constant=_Token
        )
    except json.JSONDecodeError as error:
        raise _refusal(f"not one JSON value: {error.msg}", where, _spot(text, error.pos)) from None
    except RecursionError:
        raise _too_deep(where, _find_depth(text)) from None
    return _build(tree, where, [])


def _find_depth(text: str) -> str:
    depth = 0
    for found in _BRACKETS.finditer(text):
        if found[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                break
        elif found[0] in "]}":
            depth -= 1
    else:
        return ""
    return _spot(text, found.start())


def _spot(text: str, at: int) -> str:
    """Line and column of a place; the column alone in a text of one line, whose line the caller knows."""
    before = text[:at]
    column = f"column {len(before) - before.rfind(chr(10))}"
    return f"line {before.count(chr(10)) + 1} {column}" if "\n" in text else column


def _build(node: Json, where: str, path: list[str | int]) -> Json:
    if isinstance(node, _Token):
        return _read_number(node, where, path)
    if isinstance(node, str):
        if _SURROGATE.search(node):
            raise _refusal("a lone surrogate in a string", where, join_path(path))
        return node
    if isinstance(node, list) and len(path) >= MAX_DEPTH:
        raise _too_deep(where, join_path(path))
    if isinstance(node, _Pairs):
        return _build_object(node, where, path)
    if isinstance(node, list):
        return [_build(item, where, [*path, index]) for index, item in enumerate(node)]
    return node


def _build_object(pairs: _Pairs, where: str, path: list[str | int]) -> dict[str, Json]:
    built: dict[str, Json] = {}
    for name, item in pairs:
        inner = [*path, name]
        if _SURROGATE.search(name):
            raise _refusal("a lone surrogate in a name", where, join_path(inner))
        if name in built:
            raise _refusal("a name that occurs twice in one object", where, join_path(inner))
        built[name] = _build(item, where, inner)
    return built


def _read_number(token: _Token, where: str, path: list[str | int]) -> int | float:
    text = str(token)
    try:
        if text.lstrip("-").isdigit():
            return parse_integer(text)
        value = float(text)
    except OverflowError:
        digits = len(text.lstrip("-"))
        raise CanonicalError(
            f"an integer of {digits:,} digits",
            where=_place(where, join_path(path)),
            expected=f"at most {MAX_DIGITS:,} digits",
        ) from None
    if not math.isfinite(value):
        shown = text if len(text) <= _SHOWN_NUMBER else text[:_SHOWN_NUMBER] + "..."
        raise CanonicalError(
            f"{shown} is not a number that a double holds",
            where=_place(where, join_path(path)),
            expected="finite numbers",
        )
    return value


def _too_deep(where: str, place: str) -> CanonicalError:
    return CanonicalError(
        "nested too deeply", where=_place(where, place), expected=f"at most {MAX_DEPTH} levels"
    )


def _refusal(what: str, where: str, place: str) -> CanonicalError:
    return CanonicalError(what, where=_place(where, place), expected="one strict JSON text in UTF-8")


def _place(where: str, place: str) -> str:
    return f"{where}, {place}" if where and place else where or place
