"""Tool specs as the agent sees them: our own descriptions, and upstream's four ways to take information away.

Source: upstream common/tool_conversion.py at 165848b. Differs: descriptions are our own words unless a task's
specs carry upstream's. Two defects of upstream are kept, because the lists of tools are what is scored by:
tools without parameters keep their description when descriptions are scrambled, and `modify_reminder` keeps
those of its arguments when they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.toolsandbox.tools.catalogue import SCRAMBLED, TOOLS
from replay.benchmarks.toolsandbox.tools.tool import Parameter, Tool
from replay.core.errors import InputError
from replay.core.types import Json, ToolSpec

__all__ = ["api_spec", "augment", "make_spec", "true_name"]

_TYPES: Final[Mapping[str, str]] = {"str": "string", "float": "number", "int": "integer", "bool": "boolean"}
_KEEPS_ARGUMENTS: Final = "modify_reminder"


def make_spec(tool: Tool) -> ToolSpec:
    """Write a tool in function form; identity is its true name."""
    properties = {parameter.name: _property(parameter) for parameter in tool.parameters}
    required = [parameter.name for parameter in tool.parameters if parameter.required]
    return ToolSpec(
        name=tool.name,
        identity=tool.name,
        description=tool.about,
        parameters={"type": "object", "properties": properties, "required": required},
        mutates=bool(tool.writes),
        extra={"module": tool.module, "role": "USER" if tool.for_user else "AGENT"},
    )


def api_spec(tool: str, api: str, url: str, params: Mapping[str, Json]) -> ToolSpec:
    """Describe an external API as it is asked: for the record, and for whoever records live answers."""
    return ToolSpec(
        name=tool,
        identity=api,
        description=TOOLS[tool].about,
        extra={"method": "GET", "url": url, "params": dict(params)},
    )


def augment(spec: ToolSpec, augmentations: Collection[str]) -> ToolSpec:
    """Show a tool as a scenario's augmentations want it shown."""
    name = true_name(spec)
    changed = spec
    if "TOOL_NAME_SCRAMBLED" in augmentations:
        changed = replace(changed, name=SCRAMBLED[name])
    if "TOOL_DESCRIPTION_SCRAMBLED" in augmentations and TOOLS[name].described:
        changed = replace(changed, description="")
    dropped = set()
    if "ARG_TYPE_SCRAMBLED" in augmentations:
        dropped.add("type")
    if "ARG_DESCRIPTION_SCRAMBLED" in augmentations and name != _KEEPS_ARGUMENTS:
        dropped.add("description")
    return replace(changed, parameters=_without(spec.parameters, dropped)) if dropped else changed


def true_name(spec: ToolSpec) -> str:
    """Return the name that is called. Raises InputError for a tool that does not exist here."""
    name = spec.identity or spec.name
    if name not in TOOLS:
        raise InputError(f"unknown tool {name!r}", expected=f"one of {', '.join(TOOLS)}")
    return name


def _property(parameter: Parameter) -> dict[str, Json]:
    return {"type": _TYPES[parameter.kind], "description": parameter.about}


def _without(schema: Json, dropped: Collection[str]) -> Json:
    properties = {
        name: {key: value for key, value in entry.items() if key not in dropped}
        for name, entry in schema["properties"].items()
    }
    return {**schema, "properties": properties}
