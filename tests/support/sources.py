"""The program's own sources as syntax trees, for tests about structure."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from tests.support.data import CHECKOUT

__all__ = ["Import", "Source", "area_of", "module_names", "read_sources"]


@dataclass(frozen=True)
class Import:
    """One imported module, with the line that imports it."""

    module: str
    line: int


@dataclass(frozen=True)
class Source:
    """One module of the program."""

    path: str
    """From the top of the checkout, for example `replay/core/types.py`."""
    module: str
    """Dotted name, for example `replay.core.types`."""
    text: str
    tree: ast.Module = field(repr=False)

    @property
    def area(self) -> str:
        """First name below the top package: `core`, `cli`; empty for the top package itself."""
        return area_of(self.module)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, walked once for all tests."""
        return tuple(ast.walk(self.tree))

    def imports(self, modules: frozenset[str]) -> Iterator[Import]:
        """Yield everything imported anywhere in the file, under TYPE_CHECKING and inside functions too.

        `from a import b` is module `a.b` when `modules` knows one of that name, else `a`.
        """
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    yield Import(inner if inner in modules else base, node.lineno)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        is_package = self.path.endswith("__init__.py")
        parts = self.module.split(".")
        kept = parts[: len(parts) - node.level + is_package]
        return ".".join([*kept, *([node.module] if node.module else [])])


def area_of(module: str) -> str:
    """Return the first name below the top package."""
    return module.split(".")[1] if "." in module else ""


@cache
def read_sources() -> tuple[Source, ...]:
    """Parse every module of the package, in order of path, once a process."""
    paths = sorted((CHECKOUT / "replay").rglob("*.py"))
    # A million nodes that all stay: to look through them for garbage took longer than to make them.
    gc.disable()
    try:
        return tuple(_read_source(path) for path in paths)
    finally:
        gc.freeze()
        gc.enable()


def _read_source(path: Path) -> Source:
    text = path.read_text("utf-8")
    source = Source(
        path=path.relative_to(CHECKOUT).as_posix(),
        module=_module_name(path.relative_to(CHECKOUT)),
        text=text,
        tree=ast.parse(text),
    )
    assert source.nodes
    return source


@cache
def module_names() -> frozenset[str]:
    """Return the dotted names of all modules."""
    return frozenset(source.module for source in read_sources())


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
