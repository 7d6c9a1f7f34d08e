"""What the completion tiers put right in a call before it is judged (spec 6.5)."""

from __future__ import annotations

import json
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.codexomics.naming import camel_key
from replay.benchmarks.codexomics.records import ObservedCall
from replay.core.types import Json

__all__ = ["repair_call"]

_MAX_DEPTH: Final = 60


def repair_call(call: ObservedCall) -> ObservedCall:
    """Take texts out of a second pair of quotes, and write the track alias gc out."""
    parameters = {name: _unquote(value, 0) for name, value in call.parameters.items()}
    if call.key == "toggle_track":
        for name, value in parameters.items():
            is_name = camel_key(name) == "trackName" and isinstance(value, str)
            if is_name and value.strip().lower() == "gc":
                parameters[name] = "gc_content"
    return call if parameters == call.parameters else replace(call, parameters=parameters)


def _unquote(value: Json, depth: int) -> Json:
    if depth > _MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [_unquote(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {name: _unquote(item, depth + 1) for name, item in value.items()}
    if not isinstance(value, str):
        return value
    return _inner_text(value)


def _inner_text(value: str) -> str:
    text = value.strip()
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return value
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return value
    return inner if isinstance(inner, str) else value
