"""Calls as the protocol means them: one bracketed list of calls, keyword arguments, literal values.

Owns one rule for every category, turn and language: reasoning before `</think>`, prose, code fences and
other brackets around the list do not matter; what is inside must be literals. `true`, `false` and `null` are
read as the values they name; any other bare word, operator, call or positional argument is no literal.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from replay.benchmarks.acebench.literals.plain import Call, read_plain
from replay.benchmarks.acebench.literals.syntax import LiteralError, parse_expression
from replay.core.types import Json

__all__ = ["find_call_lists", "read_strict", "read_strict_list"]

_THOUGHT_END: Final = "</think>"
_MAX_SPANS: Final = 64
"""Brackets that are tried in one text; prose with more of them holds no list that a person would find."""

_WORDS: Final = {"true": True, "false": False, "null": None}
_MAX_PIECES: Final = 500_000
"""Quotes and brackets that are looked at in one text, all tries together."""
_MAX_DEPTH: Final = 200
"""Brackets in one another; the interpreter's parser takes no more."""
_PIECES: Final = re.compile(r"""\\.|['"\[\]\n]""", re.DOTALL)


def read_strict(output: str, *, plain: list[Call] | None = None) -> list[Call]:
    """Read the one list of calls in a text.

    plain: what the whole output, blanks around it aside, is known to be.
    Errors:  LiteralError when there is none, or when two that differ leave open which is meant.
    """
    if plain:
        return plain
    found = find_call_lists(output)
    if not found:
        raise LiteralError("no list of calls with literal arguments")
    if any(calls != found[0] for calls in found[1:]):
        raise LiteralError(f"{len(found)} different lists of calls")
    return found[0]


def find_call_lists(output: str) -> list[list[Call]]:
    """Find every bracketed list of calls in a text, in order, reasoning left out."""
    found = []
    for span in _spans(output.rpartition(_THOUGHT_END)[2]):
        try:
            calls = read_strict_list(span)
        except LiteralError:
            continue
        if calls:
            found.append(calls)
    return found


def read_strict_list(text: str) -> list[Call]:
    """Read one list of calls.

    Errors:  LiteralError for anything else.
    """
    plain = read_plain(text)
    if plain is not None:
        return plain
    body = parse_expression(text)
    if not isinstance(body, ast.List):
        raise LiteralError("no list")
    return [_call(element) for element in body.elts]


def _spans(text: str) -> Iterator[str]:
    """Outermost bracketed pieces of a text; one that never closes is tried again inside."""
    start, left = text.find("["), _MAX_PIECES
    for _ in range(_MAX_SPANS):
        if start < 0 or left < 0:
            return
        end, used = _closing(text, start)
        left -= used
        if end:
            yield text[start:end]
        start = text.find("[", end or start + 1)


def _closing(text: str, start: int) -> tuple[int, int]:
    """Place after the bracket that closes the one at `start`, or 0; and how many pieces were looked at.

    Brackets inside quotes do not count; a quote that is open at the end of its line was an apostrophe.
    """
    depth, quote, used = 0, "", 0
    for piece in _PIECES.finditer(text, start):
        used += 1
        found = piece[0]
        if quote:
            quote = "" if found in (quote, "\n") else quote
        elif found in {"'", '"'}:
            quote = found
        elif found == "[":
            depth += 1
            if depth > _MAX_DEPTH:
                break
        elif found == "]":
            depth -= 1
            if not depth:
                return piece.end(), used
    return 0, used


def _call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call) or node.args:
        raise LiteralError("an element that is no call with keyword arguments alone")
    arguments: dict[str, Json] = {}
    for item in node.keywords:
        if item.arg is None or item.arg in arguments:
            raise LiteralError("an argument that is unpacked or given twice")
        arguments[item.arg] = _value(item.value)
    return _name(node.func), arguments


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{_name(value)}.{attr}"
    raise LiteralError("a call of something that is no name")


def _value(node: ast.expr) -> Json:  # noqa: PLR0911 - one line for each kind of literal
    match node:
        case ast.Constant(value=None | str() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            if not isinstance(number, bool):
                return -number
        case ast.UnaryOp(op=ast.UAdd(), operand=ast.Constant(value=int() | float() as number)):
            if not isinstance(number, bool):
                return number
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.Dict(keys=names, values=values) if all(isinstance(name, ast.Constant) for name in names):
            return {_value(name): _value(value) for name, value in zip(names, values, strict=True) if name}
        case ast.Name(id=name) if name in _WORDS:
            return _WORDS[name]
    raise LiteralError(f"a value that is no literal: {type(node).__name__}")
