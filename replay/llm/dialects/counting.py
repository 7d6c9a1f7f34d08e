"""The syntax tree of a template, changed so that everything it does is counted by the sandbox that runs it.

Jinja compiles templates to Python, where loops, concatenations and container displays are Python's own; here
each becomes a call of a method of the environment (`turn`, `concatenated`, `sized` of `Sandbox`).
"""

from __future__ import annotations

from typing import Any

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.visitor import NodeTransformer

__all__ = ["Counting", "GenerationBlocks"]


class GenerationBlocks(Extension):
    """`{% generation %}` marks what a model is trained on; for a prompt it is its content."""

    tags = {"generation"}  # noqa: RUF012  as Jinja declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Take the content as it is."""
        next(parser.stream)
        return list(parser.parse_statements(("name:endgeneration",), drop_needle=True))


class Counting(NodeTransformer):
    """Puts the counting calls into a syntax tree."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  named by Jinja
        """Count each turn."""
        return self._with_turn(node)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
        """Count each call."""
        return self._with_turn(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:  # noqa: N802
        """Count each call."""
        return self._with_turn(node)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        """Count the characters."""
        self.generic_visit(node)
        return _call("concatenated", node.nodes, node.lineno)

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
        """Count the elements."""
        self.generic_visit(node)
        return _call("sized", [node], node.lineno)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        """Count the members."""
        self.generic_visit(node)
        return _call("sized", [node], node.lineno)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        """Count the elements, where it is a value and not the target of an assignment."""
        self.generic_visit(node)
        return _call("sized", [node], node.lineno) if node.ctx == "load" else node

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:  # noqa: N802
        """Count the text of the template itself each time it is put out."""
        return _call("concatenated", [nodes.Const(node.data, lineno=node.lineno)], node.lineno)

    def _with_turn(self, node: nodes.For | nodes.Macro | nodes.CallBlock) -> nodes.Node:
        self.generic_visit(node)
        turn = nodes.ExprStmt(nodes.EnvironmentAttribute("turn", lineno=node.lineno), lineno=node.lineno)
        node.body.insert(0, turn)
        return node


def _call(name: str, arguments: list[Any], line: int) -> nodes.Expr:
    return nodes.Call(nodes.EnvironmentAttribute(name, lineno=line), arguments, [], None, None, lineno=line)
