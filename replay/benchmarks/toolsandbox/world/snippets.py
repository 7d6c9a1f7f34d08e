"""The text of a call as it is sent to the execution environment, written and read but never run.

Upstream sends three lines of Python: parameters bound to a name made of the provider's call id, the call, the
printed repr of its result. Here the text is taken apart as data: the parameters are a literal, nothing else
is looked at. Source: upstream common/message_conversion.py, roles/execution_environment.py at 165848b.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from replay.core.types import Json, Record

__all__ = ["Snippet", "SnippetFault", "read_snippet", "write_snippet"]

_CALL: Final = re.compile(
    r"(?P<id>.+)_parameters = (?P<arguments>[^\n]*)\n"
    r"(?P=id)_response = (?P<name>[^(\n]+)\(\*\*(?P=id)_parameters\)\n"
    r"print\(repr\((?P=id)_response\)\)"
)
_BARE: Final = re.compile(r"(?P<name>[A-Za-z_]\w*)\(\)")

_MAX_TEXT: Final = 1_000_000


class Snippet(Record, frozen=True, kw_only=True):
    """One call."""

    name: str
    arguments: Json
    """Normally an object by parameter name."""
    prints: bool
    """Whether the result is printed; a bare `name()` prints nothing."""


class SnippetFault(Exception):  # noqa: N818  carries a reply, not a failure of ours
    """The text is no call that could be made; `whole` is what the environment replies."""

    def __init__(self, whole: str) -> None:
        super().__init__(whole)
        self.whole = whole


def write_snippet(call_id: str, name: str, arguments: str) -> str:
    """Write a call; `arguments` is the Python literal of its parameters."""
    return (
        f"{call_id}_parameters = {arguments}\n"
        f"{call_id}_response = {name}(**{call_id}_parameters)\n"
        f"print(repr({call_id}_response))"
    )


def read_snippet(text: str) -> Snippet:
    """Take a call apart.

    Errors:  SnippetFault for a text that would not compile (an id that is no identifier, a literal that is
             none) or whose parameters name something undefined (`nan`).
    """
    bare = _BARE.fullmatch(text)
    if bare:
        return Snippet(name=bare["name"], arguments={}, prints=False)
    found = _CALL.fullmatch(text) if len(text) <= _MAX_TEXT else None
    if found is None:
        raise _syntax_fault(text)
    if not f"{found['id']}_parameters".isidentifier():
        raise _syntax_fault(text)
    try:
        tree = ast.parse(found["arguments"], mode="eval")
        arguments = _literal(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _syntax_fault(text) from None
    return Snippet(name=found["name"], arguments=arguments, prints=True)


def _syntax_fault(text: str) -> SnippetFault:
    """Upstream's text names the place; where exactly and in which words differs by Python version."""
    line = text.split("\n", maxsplit=1)[0][:200]
    return SnippetFault(
        f'Traceback (most recent call last):\n  File "<input>", line 1\n    {line}\n    ^\n'
        "SyntaxError: invalid syntax\n"
    )


def _literal(node: ast.expr) -> Json:
    """Read a literal of JSON values; a name is undefined in the environment, as `nan` is."""
    if isinstance(node, ast.Constant) and (node.value is None or type(node.value) in (bool, int, float, str)):
        return node.value
    if isinstance(node, ast.List):
        return [_literal(item) for item in node.elts]
    if isinstance(node, ast.Dict) and None not in node.keys:
        pairs = zip(node.keys, node.values, strict=True)
        return {_literal(key): _literal(value) for key, value in pairs if key is not None}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _literal(node.operand)
        if type(value) in (int, float):
            return -value
    if isinstance(node, ast.Name):
        raise SnippetFault(f"NameError: name '{node.id}' is not defined")
    raise ValueError("no literal")
