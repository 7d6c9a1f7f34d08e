"""Names as upstream compares them: tools, parameter keys, placeholders and references.

A tool is one tool in camelCase, kebab-case, with spaces or in snake_case; keys are compared in camelCase.
Source: spec sections 2, 6.2 and 6.4.
"""

from __future__ import annotations

import re
from typing import Final

from replay.core.types import Json

__all__ = ["camel_key", "is_marker_text", "parse_reference", "placeholder_name", "tool_key"]

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GAP: Final = re.compile(r"[\s_-]+")
_PLACEHOLDER: Final = re.compile(r"<([^<>]+)>")
_REFERENCE: Final = re.compile(r"\{([A-Za-z_][\w-]*)\.([^{}]+)\}")
_BRACED: Final = re.compile(r"\{[^{}]+\}")


def tool_key(name: str) -> str:
    """Fold a tool name to snake_case."""
    return _GAP.sub("_", _HUMP.sub("_", name.strip())).lower()


def camel_key(name: str) -> str:
    """Fold a parameter key to camelCase; the first letter is small."""
    parts = [part for part in _GAP.split(name.strip()) if part]
    if not parts:
        return name
    joined = parts[0] + "".join(part[0].upper() + part[1:] for part in parts[1:])
    return joined[0].lower() + joined[1:]


def placeholder_name(value: Json) -> str | None:
    """Name inside `<...>`, or None when the value is no placeholder."""
    found = _PLACEHOLDER.fullmatch(value.strip()) if isinstance(value, str) else None
    return found.group(1) if found else None


def parse_reference(value: Json) -> tuple[str, str] | None:
    """Tool and field path of `{tool.field}`, or None when the value is no reference."""
    found = _REFERENCE.fullmatch(value.strip()) if isinstance(value, str) else None
    return (tool_key(found.group(1)), found.group(2)) if found else None


def is_marker_text(value: Json) -> bool:
    """Tell whether a value stands for another one: a placeholder or anything in braces."""
    if not isinstance(value, str):
        return False
    return placeholder_name(value) is not None or _BRACED.fullmatch(value.strip()) is not None
