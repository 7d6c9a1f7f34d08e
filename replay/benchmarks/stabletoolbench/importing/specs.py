"""Raw tool specs of the archive: one API entry each, completed from tool documents, counted once by content.

What a candidate sees is built from these at play time (functions.py); nothing is renamed or cut here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from replay.benchmarks.stabletoolbench.functions import build_functions, honest_schema
from replay.benchmarks.stabletoolbench.importing.documents import Documents
from replay.benchmarks.stabletoolbench.naming import full_function_name, parameter_name, tool_identity
from replay.core.canonical import digest
from replay.core.types import Digest, Json, ToolSpec

__all__ = ["SpecBook", "name_flags", "parameters_of"]

_FROM_DOCUMENT: Final = ("description", "method", "required_parameters", "optional_parameters")
_ENTRY_FIELDS: Final = {"description": "api_description"}


def parameters_of(entry: Json) -> tuple[tuple[Json, bool], ...]:
    """Parameters of an entry with whether they are required, required ones first."""
    return (
        *((parameter, True) for parameter in entry.get("required_parameters") or ()),
        *((parameter, False) for parameter in entry.get("optional_parameters") or ()),
    )


class SpecBook:
    """Raw tool specs by digest; equal entries give one spec."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._by_text: dict[str, tuple[Digest, ToolSpec]] = {}

    def add(self, entry: Json) -> tuple[Digest, ToolSpec]:
        """Build the spec of an upstream API entry, or find the one built from an equal entry."""
        text = json.dumps(entry, sort_keys=True)
        found = self._by_text.get(text)
        if found is None:
            spec = self._build(entry)
            found = Digest(digest("tool-spec", msgspec.to_builtins(spec))), spec
            self._by_text[text] = found
        return found

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Every spec, in order of digest."""
        return tuple(spec for _, spec in sorted(self._by_text.values(), key=lambda pair: pair[0]))

    def add_documented(self, identities: Iterable[str]) -> int:
        """Add every documented API that no query lists, so that nothing of the documents is lost."""
        known = set(identities)
        added = 0
        for document in self._documents.all:
            category = document.category or "unknown"
            for api in document.apis:
                entry = {"category_name": category, "tool_name": document.tool, "api_name": api["name"]}
                if tool_identity(category, document.tool, api["name"]) not in known:
                    self.add({**entry, "source": document.source})
                    added += 1
        return added

    def _build(self, entry: Json) -> ToolSpec:
        whole = self._complete(entry)
        described = whole.get("api_description", "")
        return ToolSpec(
            name=entry["api_name"],
            identity=tool_identity(entry["category_name"], entry["tool_name"], entry["api_name"]),
            description=described if isinstance(described, str) else "",
            parameters=honest_schema((item["name"], item, needed) for item, needed in parameters_of(whole)),
            response_shape=whole.get("template_response"),
            extra=whole,
        )

    def _complete(self, entry: Json) -> dict[str, Json]:
        """The entry with what only a document knows; fields of the entry itself are never replaced."""
        whole = dict(entry)
        for document in self._documents.of(entry["category_name"], entry["tool_name"]):
            if document.description:
                whole.setdefault("tool_description", document.description)
            api = document.find(entry["api_name"])
            if api is None:
                continue
            if document.schemas_only:
                whole.setdefault("template_response", api.get("schema"))
                continue
            for name in _FROM_DOCUMENT:
                if name in api:
                    whole.setdefault(_ENTRY_FIELDS.get(name, name), api[name])
        return whole


def name_flags(specs: tuple[ToolSpec, ...]) -> tuple[str, ...]:
    """Name what upstream's function construction does to the APIs of one task."""
    names = [entry.shown.name for entry in build_functions(specs)[:-1]]
    found = []
    if len(set(names)) < len(names):
        found.append("duplicate-function-names")
    pairs = ((early, late) for i, early in enumerate(names) for late in names[i + 1 :])
    if any(early != late and early.endswith(late) for early, late in pairs):
        found.append("suffix-ambiguous-names")
    entries = [spec.extra for spec in specs]
    if any(len(full_function_name(entry["api_name"], entry["tool_name"])) > 64 for entry in entries):
        found.append("truncated-function-names")
    if any(drops_parameters(entry) for entry in entries):
        found.append("dropped-parameters")
    if any(has_colliding_parameters(entry) for entry in entries):
        found.append("colliding-parameters")
    return tuple(found)


def drops_parameters(entry: Json) -> bool:
    """Whether upstream shows none of the parameters that the entry has."""
    return bool(entry.get("optional_parameters")) and not entry.get("required_parameters")


def has_colliding_parameters(entry: Json) -> bool:
    """Whether two parameters of the entry get one name."""
    counts = Counter(parameter_name(item["name"]) for item, _ in parameters_of(entry))
    return any(count > 1 for count in counts.values())
