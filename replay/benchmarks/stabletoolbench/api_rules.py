"""What a simulator is told of an API of this benchmark, and the form its answers must have.

Unlike upstream's simulator, which is shown an API's name and description alone, ours is shown the parameters
as well (spec 2.2: the paper says that they are included). Texts are cut; a simulator of any size must be able
to read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from replay.benchmarks.stabletoolbench.shapes import answer_schema
from replay.core.types import Json, ToolSpec

__all__ = ["StableToolBenchApis"]

_MAX_DESCRIPTION: Final = 500
_MAX_PARAMETER: Final = 200
_MAX_PARAMETERS: Final = 30
"""Bounds in characters and entries: the longest documents of the benchmark are pages of HTML."""


class StableToolBenchApis:
    """Documentation and answer form of the benchmark's APIs."""

    def document(self, spec: ToolSpec) -> Json:
        """Write an API's documentation: tool, API, what each is for, method, and every parameter."""
        extra: Json = spec.extra if isinstance(spec.extra, dict) else {}
        facts = {
            "category": extra.get("category_name"),
            "tool": extra.get("tool_name"),
            "tool description": extra.get("tool_description"),
            "api": spec.name,
            "description": spec.description,
            "method": extra.get("method"),
        }
        shown = {name: _cut(text, _MAX_DESCRIPTION) for name, text in facts.items() if _is_text(text)}
        return {**shown, "parameters": list(_parameters(extra))}

    def schema(self, spec: ToolSpec) -> Json:
        """Schema of an answer: error and response, the response in the API's recorded shape if it has one.

        Errors:  InputError when the shape is none that is known.
        """
        return answer_schema(spec.response_shape, where=spec.identity or spec.name)


def _parameters(extra: Json) -> Iterator[dict[str, Json]]:
    named = [(entry, True) for entry in _entries(extra, "required_parameters")]
    named += [(entry, False) for entry in _entries(extra, "optional_parameters")]
    for entry, required in named[:_MAX_PARAMETERS]:
        shown: dict[str, Json] = {"name": entry.get("name"), "required": required}
        if _is_text(entry.get("type")):
            shown["type"] = entry["type"]
        if _is_text(entry.get("description")):
            shown["description"] = _cut(entry["description"], _MAX_PARAMETER)
        default = entry.get("default", "")
        if default is not None and str(default):
            shown["example"] = _cut(str(default), _MAX_PARAMETER)
        yield shown


def _entries(extra: Json, name: str) -> list[dict[str, Json]]:
    held = extra.get(name)
    return [entry for entry in held if isinstance(entry, dict)] if isinstance(held, list) else []


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _cut(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[:limit]}..."
