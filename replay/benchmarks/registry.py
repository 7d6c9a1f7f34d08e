"""Benchmarks by name. A benchmark's modules are imported when it is asked for, not before."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Final, Protocol, cast

from replay.core.errors import InputError
from replay.core.protocols import Benchmark, Importer
from replay.core.types import Json, ToolSpec

__all__ = ["ApiRules", "get_api_rules", "get_benchmark", "get_importer", "names"]

_BENCHMARKS: Final[Mapping[str, tuple[str, str]]] = {
    "stabletoolbench": ("replay.benchmarks.stabletoolbench.benchmark", "StableToolBench"),
}
"""Module and class of each benchmark."""

_IMPORTERS: Final[Mapping[str, tuple[str, str]]] = {
    "stabletoolbench": ("replay.benchmarks.stabletoolbench.importing.importer", "StableToolBenchImporter"),
}
"""Module and class of each importer; apart, because a replay never needs one."""


_API_RULES: Final[Mapping[str, tuple[str, str]]] = {
    "stabletoolbench": ("replay.benchmarks.stabletoolbench.api_rules", "StableToolBenchApis"),
}
"""Module and class of what a benchmark tells a simulator; needed when one is asked."""


class ApiRules(Protocol):
    """What a benchmark knows of its APIs that a simulator must be told."""

    def document(self, spec: ToolSpec) -> Json:
        """Documentation of an API, parameters included, in the order it is shown."""
        ...

    def schema(self, spec: ToolSpec) -> Json:
        """JSON Schema of an API's answers. Raises InputError when its recorded shape cannot be used."""
        ...


def names() -> tuple[str, ...]:
    """Names of all benchmarks, sorted."""
    return tuple(sorted(_BENCHMARKS))


def get_benchmark(name: str) -> Benchmark:
    """Make the benchmark of that name. Raises InputError listing the known names."""
    return cast("Benchmark", _make(name, _BENCHMARKS))


def get_importer(name: str) -> Importer:
    """Make the importer of that benchmark. Raises InputError listing the known names."""
    return cast("Importer", _make(name, _IMPORTERS))


def get_api_rules(name: str) -> ApiRules | None:
    """Make what that benchmark tells a simulator; None when it has no rules of its own."""
    return cast("ApiRules", _make(name, _API_RULES)) if name in _API_RULES else None


def _make(name: str, table: Mapping[str, tuple[str, str]]) -> object:
    if name not in table:
        near = difflib.get_close_matches(name.lower(), table, n=1)
        raise InputError(
            f"no benchmark {name!r}",
            expected=f"one of {', '.join(sorted(table))}",
            next_step=f"did you mean {near[0]}?" if near else "",
        )
    module, class_name = table[name]
    made: object = getattr(import_module(module), class_name)()
    return made
