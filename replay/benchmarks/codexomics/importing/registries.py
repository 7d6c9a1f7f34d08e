"""Tool registries: definitions of several files -> one registry with a hash (spec section 3).

Owns merging. Names defined twice in one file are one tool (union of properties and of required, the richest
text wins); a name that a newer file also defines is the newer file's. Names of files say which is newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from replay.benchmarks.codexomics.naming import tool_key
from replay.benchmarks.codexomics.schemas import (
    MAX_DESCRIPTION,
    find_contradictions,
    native_schema,
    schema_only,
)
from replay.benchmarks.codexomics.scoring.tables import is_read_only
from replay.benchmarks.codexomics.world.coverage import depends_on_session
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.types import Json, Record, ToolSpec

__all__ = ["RegistryBook", "ToolDefinition", "tool_spec"]

_KEPT: Final = ("category", "keywords", "priority", "resident", "execution", "returns", "version")


class ToolDefinition(Record, frozen=True, kw_only=True):
    """One tool as a registry defines it."""

    name: str
    description: str = ""
    parameters: dict[str, Json]
    """Native schema."""
    keywords: tuple[str, ...] = ()
    category: str = ""
    extra: dict[str, Json] = msgspec.field(default_factory=dict)
    file: str = ""


class RegistryBook:
    """All definitions of an import."""

    def __init__(self) -> None:
        """Start empty."""
        self.tools: dict[str, ToolDefinition] = {}
        """By folded name."""
        self.merged: list[str] = []
        self.superseded: dict[str, list[str]] = {}
        self.contradictions: dict[str, list[str]] = {}
        self._stated: list[str] = []

    def add_file(self, file: str, document: Mapping[str, Json]) -> int:
        """Add one file's tools; files come newest first. Returns how many definitions it holds.

        Errors:  InputError naming the file and the tool.
        """
        held: dict[str, ToolDefinition] = {}
        entries = list(_entries(document))
        for place, (name, entry) in enumerate(entries):
            where = f"{file}, tool {name or place}"
            tool = _definition(name, entry, file, where)
            known = held.get(tool_key(tool.name))
            if known is not None:
                self.merged.append(tool.name)
            held[tool_key(tool.name)] = tool if known is None else _merged(known, tool)
        for key, tool in held.items():
            if key in self.tools:
                self.superseded.setdefault(file, []).append(tool.name)
            else:
                self.tools[key] = tool
                self._note_contradictions(tool)
        stated = document.get("registryHash")
        if isinstance(stated, str) and stated:
            self._stated.append(stated)
        return len(entries)

    @property
    def hash(self) -> str:
        """Upstream's own hash where one registry states one, else a digest of all definitions."""
        if len(self._stated) == 1 and not self.superseded:
            return self._stated[0]
        content = {key: msgspec.to_builtins(tool) for key, tool in sorted(self.tools.items())}
        for tool in content.values():
            del tool["file"]
        return digest("codexomics-registry", content).removeprefix("sha256:")

    def schemas(self) -> dict[str, Json]:
        """What the validator reads of every tool, by folded name."""
        return {key: schema_only(tool.parameters) for key, tool in sorted(self.tools.items())}

    def _note_contradictions(self, tool: ToolDefinition) -> None:
        found = find_contradictions(tool.parameters)
        if found:
            self.contradictions[tool.name] = list(found)


def tool_spec(tool: ToolDefinition, registry_hash: str) -> ToolSpec:
    """Make the spec a candidate is shown; its identity names the registry, so that keys do."""
    key = tool_key(tool.name)
    return ToolSpec(
        name=tool.name,
        identity=f"{key}@{registry_hash[:12]}",
        description=tool.description[:MAX_DESCRIPTION],
        parameters=tool.parameters,
        depends_on_state=depends_on_session(key),
        mutates=depends_on_session(key) and not is_read_only(key, with_writers=False),
        extra={"category": tool.category, "keywords": list(tool.keywords), **tool.extra},
    )


def _entries(document: Mapping[str, Json]) -> Iterable[tuple[str, Json]]:
    tools = document.get("tools")
    if isinstance(tools, dict):
        yield from tools.items()
    elif isinstance(tools, list):
        yield from ((str(tool.get("name", "")) if isinstance(tool, dict) else "", tool) for tool in tools)


def _definition(name: str, entry: Json, file: str, where: str) -> ToolDefinition:
    if not isinstance(entry, dict):
        raise InputError(f"a tool is {type(entry).__name__}", where=where, expected="an object")
    named = entry.get("name", name)
    if not isinstance(named, str):
        raise InputError(f"a tool's name is {named!r}", where=where, expected="text")
    try:
        schema = native_schema(named, entry.get("parameters"))
    except InputError as error:
        raise InputError(error.what, where=where, expected=error.expected) from None
    keywords = entry.get("keywords")
    description, category = entry.get("description"), entry.get("category")
    return ToolDefinition(
        name=named,
        description=description if isinstance(description, str) else "",
        parameters=schema,
        keywords=tuple(word for word in keywords if isinstance(word, str))
        if isinstance(keywords, list)
        else (),
        category=category if isinstance(category, str) else "",
        extra={key: entry[key] for key in _KEPT if key in entry and key not in ("category", "keywords")},
        file=file,
    )


def _merged(first: ToolDefinition, second: ToolDefinition) -> ToolDefinition:
    """Union of properties and of required; the longer text wins."""
    a, b = first.parameters, second.parameters
    properties = {**(b.get("properties") or {}), **(a.get("properties") or {})}
    required = [*(a.get("required") or []), *(b.get("required") or [])]
    schema = {**b, **a, "properties": properties}
    schema.pop("required", None)
    if required:
        schema["required"] = list(dict.fromkeys(required))
    return ToolDefinition(
        name=first.name,
        description=max(first.description, second.description, key=len),
        parameters=schema,
        keywords=tuple(dict.fromkeys((*first.keywords, *second.keywords))),
        category=first.category or second.category,
        extra={**second.extra, **first.extra},
        file=first.file,
    )
