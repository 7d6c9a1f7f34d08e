"""Builders of upstream-shaped records in our own words."""

from __future__ import annotations

from replay.benchmarks.stabletoolbench.naming import tool_identity
from replay.core.types import Json, ToolSpec


def make_parameter(name: str = "city", **fields: Json) -> dict[str, Json]:
    """One upstream parameter."""
    return {"name": name, "type": "STRING", "description": "Name of a city", "default": "", **fields}


def make_entry(api: str = "Current", tool: str = "Weather Desk", **fields: Json) -> dict[str, Json]:
    """One upstream API entry."""
    entry: dict[str, Json] = {
        "category_name": "Weather",
        "tool_name": tool,
        "api_name": api,
        "api_description": "Reads the weather of a city",
        "required_parameters": [make_parameter()],
        "optional_parameters": [],
        "method": "GET",
    }
    return {**entry, **fields}


def make_raw_spec(api: str = "Current", tool: str = "Weather Desk", **fields: Json) -> ToolSpec:
    """One raw tool spec as an import builds it."""
    entry = make_entry(api, tool, **fields)
    return ToolSpec(
        name=api,
        identity=tool_identity(entry["category_name"], tool, api),
        description=entry["api_description"],
        extra=entry,
    )
