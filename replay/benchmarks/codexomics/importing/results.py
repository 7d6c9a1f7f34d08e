"""Recorded tool results as files: `tool_results`, each with tool, parameters, result and success.

They answer calls that no session executes, from the start state of a test. A result is looked up by registry,
tool and canonical arguments; one that names a tool outside the registry is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from replay.benchmarks.codexomics.importing.files import Document
from replay.benchmarks.codexomics.naming import tool_key
from replay.benchmarks.codexomics.records import BENCHMARK
from replay.core.errors import InputError
from replay.core.protocols import ImportedAnswer
from replay.core.types import CallRequest, Json, Origin, SnapshotStatus, ToolSpec

__all__ = ["read_results"]


def read_results(document: Document, name: str, specs: Mapping[str, ToolSpec]) -> Iterator[ImportedAnswer]:
    """Read one file. Raises InputError naming file, record and what is wrong with it."""
    for place, entry in enumerate(document["tool_results"]):
        where = f"{name}, $.tool_results[{place}]"
        if not isinstance(entry, dict) or "result" not in entry:
            raise InputError("a recorded result without `result`", where=where, expected="an object")
        yield _answer(entry, where, specs)


def _answer(entry: Mapping[str, Json], where: str, specs: Mapping[str, ToolSpec]) -> ImportedAnswer:
    tool, arguments = entry.get("tool_name"), entry.get("parameters", {})
    spec = specs.get(tool_key(tool)) if isinstance(tool, str) else None
    if spec is None:
        raise InputError(f"unknown tool {tool!r}", where=where, expected="a tool of the registry")
    if not isinstance(arguments, dict):
        raise InputError("parameters are no object", where=where, expected="an object")
    failed = entry.get("success") is False
    return ImportedAnswer(
        request=CallRequest(benchmark=BENCHMARK, tool=spec.identity, arguments=arguments, spec=spec),
        body=json.dumps(entry["result"], ensure_ascii=False),
        origin=Origin.REAL.value if entry.get("origin") == "real" else Origin.UNKNOWN.value,
        status=(SnapshotStatus.ERROR if failed else SnapshotStatus.OK).value,
        source=where,
    )
