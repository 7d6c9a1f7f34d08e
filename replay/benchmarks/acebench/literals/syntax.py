"""The complete reading: any text as one Python expression, parsed by the interpreter's parser, never run.

Owns the bounds: a text that is longer, or nests or chains deeper, than stated here is refused by name before
anything is made of it. Nothing here evaluates; `ast` only parses.
"""

from __future__ import annotations

import ast
import warnings
from typing import Final

__all__ = ["MAX_CHAIN", "MAX_COMPLETE_TEXT", "LiteralError", "parse_expression"]

MAX_COMPLETE_TEXT: Final = 65_536
"""Characters; the longest truth of the benchmark has 3,000. Plain literals have no such bound."""
MAX_CHAIN: Final = 400
"""Operators, calls and subscripts in one another; every walk stays below the recursion limit."""


class LiteralError(ValueError):
    """A text that is no call list, with the reason in one line."""


def parse_expression(text: str) -> ast.expr:
    """Parse one expression.

    Errors:  LiteralError for what is no Python expression and for what is beyond the bounds.
    """
    if len(text) > MAX_COMPLETE_TEXT:
        raise LiteralError(f"longer than {MAX_COMPLETE_TEXT:,} characters and not made of plain literals")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape is the candidate's matter
            body = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        # CPython says MemoryError when its parser runs out of its own stack.
        raise LiteralError(f"no Python expression: {type(error).__name__}") from None
    _check_depth(body)
    return body


def _check_depth(body: ast.expr) -> None:
    level: list[ast.AST] = [body]
    for _ in range(MAX_CHAIN):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise LiteralError(f"nested more than {MAX_CHAIN} levels deep")
