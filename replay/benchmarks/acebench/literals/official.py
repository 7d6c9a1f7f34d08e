"""Calls as the official decoder reads them, quirks included (spec 3.1).

Owns what a candidate's text means to the official checker: which brackets are taken, what becomes of
whitespace, and of every expression that is more than a literal. Source: model_eval and
model_inference/utils.py at commit 56dd66c. Differs: operators are computed within bounds where upstream runs
their source text (difference `operators-run`).
"""

from __future__ import annotations

import ast
import re
from typing import Final

from replay.benchmarks.acebench.literals.arithmetic import check_operations, compute
from replay.benchmarks.acebench.literals.plain import Call, read_plain
from replay.benchmarks.acebench.literals.syntax import LiteralError, parse_expression
from replay.core.types import Json

__all__ = ["first_brackets", "read_official", "read_official_list", "resolve_official", "without_blanks"]

_BRACKETS: Final = re.compile(r"[\[\]]")


def read_official(output: Json, *, multi_turn: bool, plain: list[Call] | None = None) -> list[Call]:
    """Read the calls of an output of a normal category.

    multi_turn: no bracket is looked for; all whitespace goes, also inside texts.
    plain: what the whole output, blanks around it aside, is known to be.
    Errors:  LiteralError where upstream says wrong_output_format.
    """
    if not isinstance(output, str):
        raise LiteralError("the output is no text")
    found = "".join(output.split()) if multi_turn else first_brackets(output)
    if found is None:
        raise LiteralError("no pair of brackets")
    if plain is not None:
        if len(found) == len(output.strip()):
            return plain  # nothing was taken away
        if multi_turn:
            return [(name, without_blanks(arguments)) for name, arguments in plain]
    return read_official_list(found)


def read_official_list(text: str) -> list[Call]:
    """Read one expression whose elements are calls (a list; also a tuple or a set).

    Errors:  LiteralError for anything else.
    """
    plain = read_plain(text)
    if plain is not None:
        return plain
    body = parse_expression(text)
    if not isinstance(body, (ast.List, ast.Tuple, ast.Set)):
        raise LiteralError("no list of calls")
    check_operations(body)
    calls = []
    for element in body.elts:
        if not isinstance(element, ast.Call):
            raise LiteralError("an element that is no call")
        calls.append(_call(element))
    return calls


def without_blanks(value: Json) -> Json:
    """Delete all whitespace in the texts of a plain value: what deleting it in the source text comes to."""
    kind = type(value)
    if kind is str:
        return "".join(value.split())
    if kind is dict:
        return {"".join(name.split()): without_blanks(item) for name, item in value.items()}
    return [without_blanks(item) for item in value] if kind is list else value


def first_brackets(text: str) -> str | None:
    """Take the first outermost pair of square brackets, counted blindly: texts and prose count too."""
    start = text.find("[")
    end = text.find("]", start) + 1
    if start < 0 or not end:
        return None
    if text.find("[", start + 1, end) < 0:
        return text[start:end]
    start, depth = -1, 0
    for found in _BRACKETS.finditer(text):
        if found[0] == "[":
            start = start if depth else found.start()
            depth += 1
        elif depth == 1:
            return text[start : found.end()]
        elif depth:
            depth -= 1
    return None


def resolve_official(node: ast.expr) -> Json:  # noqa: PLR0911 - one line for each kind
    """Value of one expression.

    Errors:  LiteralError where upstream raises.
    """
    match node:
        case ast.Constant(value=value):
            return "..." if value is Ellipsis else value
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() | complex() as value)):
            return -value  # whatever the operator was
        case ast.List(elts=items):
            return [resolve_official(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(resolve_official(item) for item in items)
        case ast.Dict():
            return _mapping(node)
        case ast.BinOp():
            return compute(node)
        case ast.Name(id=name):
            return name
        case ast.Call():
            return dict([_call(node)])
        case ast.Subscript(value=value, slice=index):
            return f"{_source(value)}[{_source(index)}]"
    raise LiteralError(f"a value that is read nowhere: {type(node).__name__}")


def _call(node: ast.Call) -> Call:
    arguments: dict[Json, Json] = {item.arg: resolve_official(item.value) for item in node.keywords}
    return _function_name(node.func), arguments


def _function_name(node: ast.expr) -> str:
    """Dotted path; whatever stands before it that is no name is left out."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _mapping(node: ast.Dict) -> Json:
    pairs = []
    for name, value in zip(node.keys, node.values, strict=True):
        if name is None:
            raise LiteralError("a mapping unpacked into another")
        pairs.append((resolve_official(name), resolve_official(value)))
    try:
        return dict(pairs)
    except TypeError:
        raise LiteralError("a mapping whose name cannot be one") from None


def _source(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):
        raise LiteralError("a subscript without a source text") from None
