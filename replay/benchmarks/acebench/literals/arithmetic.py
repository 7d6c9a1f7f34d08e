"""Operators between literals, computed within bounds; the official decoder runs their source text instead.

Owns what is computed: the operators on numbers, texts and lists, and calls of a few pure built-ins. Anything
else (a name, an attribute, any other call) is refused, so nothing that a candidate wrote ever runs. A result
that would not fit the bounds is refused before it is made.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.core.types import Json

__all__ = ["MAX_BITS", "MAX_ITEMS", "MAX_OPERATIONS", "check_operations", "compute"]

MAX_BITS: Final = 4_096
"""Of an integer result."""
MAX_ITEMS: Final = 4_096
"""Characters, items and bytes of integers in a value, those of what it holds included."""
MAX_OPERATIONS: Final = 400
"""In one text: each may make a value of MAX_ITEMS, and all of them stay until the text is read."""

_BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_BUILTINS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": abs,
    "bool": bool,
    "float": float,
    "int": int,
    "len": len,
    "max": max,
    "min": min,
    "round": round,
    "str": str,
    "sum": sum,
}
_PLACES: Final = re.compile("%[sdr%]")
_SEQUENCES: Final = (str, bytes, list, tuple)


def check_operations(body: ast.expr) -> None:
    """Refuse a text of so many operations that their results together would be beyond bounds.

    Errors:  LiteralError.
    """
    if sum(isinstance(node, ast.BinOp) for node in ast.walk(body)) > MAX_OPERATIONS:
        raise LiteralError(f"more than {MAX_OPERATIONS} operations")


def compute(node: ast.expr) -> Json:
    """Compute an expression over literals.

    Errors:  LiteralError for anything that is not one, fails, or is beyond the bounds.
    """
    try:
        return _value(node)
    except (ArithmeticError, TypeError, ValueError) as error:
        if isinstance(error, LiteralError):
            raise
        raise LiteralError(f"an operation that fails: {type(error).__name__}") from None


def _value(node: ast.expr) -> Any:
    """Value of a node, within the bounds: so is everything that is made of it next."""
    value = _made(node)
    if _weigh(value, MAX_ITEMS) > MAX_ITEMS:
        raise LiteralError("an operation on or with something too large")
    return value


def _made(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    if isinstance(node, ast.UnaryOp):
        return _UNARY[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        _check_size(node.op, left, right)
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = _BUILTINS.get(node.func.id)
        if function is not None:
            arguments = [_value(item) for item in node.args]
            _check_arguments(function, arguments)
            return function(*arguments)
    raise LiteralError(f"an operation on {type(node).__name__}, which is no literal")


def _check_size(op: ast.operator, left: Any, right: Any) -> None:
    """Refuse an operation whose result would be beyond the bounds, before it is made."""
    if isinstance(op, ast.Pow) and isinstance(left, int) and isinstance(right, int):
        too_large = left.bit_length() * max(right, 0) > MAX_BITS
    elif isinstance(op, ast.LShift) and isinstance(right, int):
        too_large = right > MAX_BITS
    elif isinstance(op, ast.Mult) and isinstance(left, _SEQUENCES) != isinstance(right, _SEQUENCES):
        sequence, times = (left, right) if isinstance(left, _SEQUENCES) else (right, left)
        too_large = isinstance(times, int) and _weigh(sequence, MAX_ITEMS) * times > MAX_ITEMS
    elif isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        # A width such as %999999999d asks for as many characters.
        if _PLACES.sub("", str(left)).count("%"):
            raise LiteralError("a text with places of a width to fill in")
        too_large = False
    else:
        too_large = False
    if too_large:
        raise LiteralError("an operation whose result is too large")


def _check_arguments(function: Callable[..., Any], arguments: list[Any]) -> None:
    """Refuse a call that would compute beyond the bounds: to round to places makes 10 ** places."""
    places = arguments[1] if function is round and len(arguments) > 1 else 0
    if isinstance(places, int) and abs(places) > MAX_BITS:
        raise LiteralError("an operation whose result is too large")
    if sum(_weigh(value, MAX_ITEMS) for value in arguments) > MAX_ITEMS:
        raise LiteralError("an operation on or with something too large")


def _weigh(value: Any, most: int) -> int:
    """Size of a value with all that it holds; counting stops once it is more than `most`.

    A list that holds one list many times is small in memory and large to whoever walks it.
    """
    if isinstance(value, int):
        return 1 + value.bit_length() // 8
    if isinstance(value, (str, bytes)):
        return 1 + len(value)
    if not isinstance(value, (list, tuple)):
        return 1
    weight = 1
    for item in value:
        weight += _weigh(item, most - weight)
        if weight > most:
            break
    return weight
