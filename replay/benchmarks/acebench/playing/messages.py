"""What an agent's message is: words for the user, or calls for the sandbox (spec 3.11).

Owns the reading of an agent's whole message, in the official way (`compat`: trailing blanks make a call no
call, a word in brackets is a message of no calls) and in the plain way (`clean`: a list of calls, blanks
around it do not matter). Parses only; nothing that a candidate wrote is ever run. Source: the agent's and the
execution's decoders at commit 56dd66c. Differs: a call inside an argument is never made, whatever it names.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from typing import Final

from replay.benchmarks.acebench.literals.official import resolve_official
from replay.benchmarks.acebench.literals.plain import read_plain
from replay.benchmarks.acebench.literals.strict import read_strict_list
from replay.benchmarks.acebench.literals.syntax import LiteralError, parse_expression
from replay.core.types import Json, Record

__all__ = ["LineCall", "is_for_execution", "read_calls", "read_clean_calls"]

_CALLED_NAME: Final = re.compile(r"\b([a-zA-Z_]\w*)\s*(?=\()")
_SYNTAX_ERROR: Final = "invalid syntax (<string>, line 1)"


class LineCall(Record, frozen=True, kw_only=True):
    """One call of a message."""

    name: str
    """As written, dotted path and all."""
    arguments: dict[Json, Json]
    tool: str = ""
    """Name that upstream looks up: the first one before a round bracket; empty when there is none."""
    fault: str = ""
    """Why Python would refuse the call before any tool runs; empty when it would not."""


def is_for_execution(message: str) -> bool:
    """Tell whether an agent of the multi-turn protocol speaks to the sandbox."""
    if not any("]" in line.partition("[")[2] for line in message.split("\n")):
        return False
    try:
        read_calls(message)
    except LiteralError:
        return False
    return True


def read_calls(message: str) -> list[LineCall]:
    """Read a message as the official execution does; no calls at all is a possible answer.

    Errors:  LiteralError for what upstream cannot decode.
    """
    if message.startswith("[") and message.endswith("]") and not _has_blanks(message):
        plain = read_plain(message)
        if plain:
            return [_line_call(name, arguments) for name, arguments in plain]
    text = message.removeprefix(" ") if message else ""
    if not message:
        raise LiteralError("an empty message")
    text = text if text.startswith("[") else f"[{text}"
    text = text if text.endswith("]") else f"{text}]"
    body = parse_expression(text.strip("[]'"))
    if isinstance(body, ast.Call):
        return [_read_call(body)]
    if not isinstance(body, (ast.Tuple, ast.List)):
        return []
    found = []
    for element in body.elts:
        if not isinstance(element, ast.Call):
            raise LiteralError("an element that is no call")
        found.append(_read_call(element))
    return found


def read_clean_calls(message: str) -> list[LineCall]:
    """Read a message that is a list of calls and nothing else, blanks around it aside.

    Errors:  LiteralError for everything else, an empty list included.
    """
    calls = read_strict_list(message.strip())
    if not calls:
        raise LiteralError("a list without calls")
    return [LineCall(name=name, arguments=dict(arguments), tool=name) for name, arguments in calls]


def _has_blanks(message: str) -> bool:
    """Line breaks anywhere, or blanks after the first bracket: there the official reading differs."""
    return "\n" in message or "\r" in message or message[1:2] in (" ", "\t")


def _read_call(node: ast.Call) -> LineCall:
    name, arguments = _call_parts(node)
    return _line_call(name, arguments)


def _call_parts(node: ast.Call) -> tuple[str, dict[Json, Json]]:
    arguments: dict[Json, Json] = {item.arg: _resolve(item.value) for item in node.keywords}
    parts: list[str] = []
    function = node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    return ".".join(reversed(parts)), arguments


def _resolve(node: ast.expr) -> Json:
    """Value of one argument: as in the official checker, but a call without arguments is its own text."""
    match node:
        case ast.Call(keywords=[]):
            return _source(node)
        case ast.Call():
            return dict([_call_parts(node)])
        case ast.List(elts=items):
            return [_resolve(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_resolve(item) for item in items)
        case ast.Dict(keys=names, values=values):
            return _mapping(names, values)
    return resolve_official(node)


def _mapping(names: list[ast.expr | None], values: list[ast.expr]) -> dict[Json, Json]:
    found: dict[Json, Json] = {}
    for name, value in zip(names, values, strict=True):
        if name is None:
            raise LiteralError("a mapping unpacked into another")
        try:
            found[_resolve(name)] = _resolve(value)
        except TypeError:
            raise LiteralError("a mapping whose name cannot be one") from None
    return found


def _source(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):
        raise LiteralError("a call without a source text") from None


# ---- what becomes of a call when its text is run ---------------------------------------------------------


def _line_call(name: str, arguments: Mapping[Json, Json]) -> LineCall:
    """Foresee what Python makes of the call's rebuilt text.

    Errors:  LiteralError for arguments that upstream cannot write again.
    """
    for value in arguments.values():
        if isinstance(value, dict):
            _check_as_call(value)
    is_simple = name.isascii() and name.isidentifier()
    fault = _fault(name if not is_simple else "", arguments)
    tool = name if is_simple else _called_name(name, arguments)
    return LineCall(name=name, arguments=dict(arguments), tool=tool, fault=fault)


def _check_as_call(value: Mapping[Json, Json]) -> None:
    """A mapping as an argument is taken for a call: its first name with the mapping under it."""
    if not value:
        raise LiteralError("an empty mapping taken for a call")
    inner = next(iter(value.values()))
    if not isinstance(inner, dict):
        raise LiteralError("a mapping taken for a call, without arguments")
    for item in inner.values():
        if isinstance(item, dict):
            _check_as_call(item)


def _fault(odd_name: str, arguments: Mapping[Json, Json]) -> str:
    nested = [value for value in arguments.values() if isinstance(value, dict)]
    if None in arguments or any(not _is_expression(_rebuild(value)) for value in nested):
        return _SYNTAX_ERROR
    if odd_name:
        return f"name '{odd_name.split('.', maxsplit=1)[0]}' is not defined"
    for value in arguments.values():
        name = _undefined_call(value) if isinstance(value, dict) else _undefined_number(value)
        if name:
            return name
    return ""


def _undefined_call(value: Mapping[Json, Json]) -> str:
    name = next(iter(value))
    if isinstance(name, str):
        return f"name '{name.split('.')[0]}' is not defined"
    return f"'{type(name).__name__}' object is not callable"


def _undefined_number(value: Json) -> str:
    """Numbers too large for a float are written as a word that is no name."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"name '{abs(value)!r}' is not defined"
    if isinstance(value, (list, tuple)):
        return next((found for item in value if (found := _undefined_number(item))), "")
    if isinstance(value, dict):
        return next((found for item in value.values() if (found := _undefined_number(item))), "")
    return ""


def _rebuild(value: Json) -> str:
    if not isinstance(value, dict):
        return repr(value)
    name, inner = next(iter(value.items()))
    return f"{name}({', '.join(f'{key}={_rebuild(item)}' for key, item in inner.items())})"


def _is_expression(text: str) -> bool:
    try:
        parse_expression(text)
    except LiteralError:
        return False
    return True


def _called_name(name: str, arguments: Mapping[Json, Json]) -> str:
    inner = ", ".join(f"{key}={_rebuild(value)}" for key, value in arguments.items())
    found = _CALLED_NAME.search(f"{name}({inner})")
    return found.group(1) if found else ""
