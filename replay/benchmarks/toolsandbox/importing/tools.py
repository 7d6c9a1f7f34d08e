"""Tool specs of an import: our own, with upstream's texts where a dump carries them."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from replay.benchmarks.toolsandbox.importing.source import Dump
from replay.benchmarks.toolsandbox.tools.catalogue import TOOLS
from replay.benchmarks.toolsandbox.tools.specs import make_spec
from replay.core.types import Json, ToolSpec

__all__ = ["FILE", "read_specs"]

FILE: Final = "tools.json"


def read_specs(dump: Dump) -> dict[str, ToolSpec]:
    """Make the specs of all tools; a tool of the dump that we do not have is a fault."""
    specs = {name: make_spec(tool) for name, tool in TOOLS.items()}
    if not dump.has(FILE):
        return specs
    data = dump.read(FILE)
    entries = data.get("tools") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        dump.fault("no list `tools`", FILE)
        return specs
    dump.count(FILE, len(entries))
    for number, entry in enumerate(entries):
        name = entry.get("name") if isinstance(entry, dict) else None
        if name not in specs:
            dump.fault(f"unknown tool {name!r}", f"{FILE}, record {number}")
        else:
            specs[name] = _with_texts(specs[name], entry)
    return specs


def _with_texts(spec: ToolSpec, entry: dict[str, Json]) -> ToolSpec:
    """Take over a description and descriptions of parameters; names and types stay ours."""
    given = entry.get("parameters")
    texts = {
        name: value["description"]
        for name, value in (given.items() if isinstance(given, dict) else ())
        if isinstance(value, dict) and isinstance(value.get("description"), str)
    }
    properties = {
        name: {**shown, "description": texts.get(name, shown["description"])}
        for name, shown in spec.parameters["properties"].items()
    }
    description = entry.get("description")
    return replace(
        spec,
        description=description if isinstance(description, str) else spec.description,
        parameters={**spec.parameters, "properties": properties},
    )
