"""The tools: names in upstream's order, descriptions, and how upstream's list lines spell them.

Source: spec 1 and 2; prompt_construction.py at 35e81bb: a merged tool's line shows its plain description,
any other's the Python text of a list of descriptions, because the lookup falls through to a filter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from replay.benchmarks.metatool.importing.files import Checkout
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.types import Digest, ToolSpec

__all__ = ["DESCRIPTIONS", "Catalogue"]

DESCRIPTIONS: Final = "plugin_des.json"
_MERGED: Final = "big_tool_des.json"
_PLUGINS: Final = "plugin_info.json"


class _Plugin(msgspec.Struct, frozen=True):
    name_for_model: str
    description_for_human: str


class Catalogue:
    """All tools of the benchmark, in the order that the samplers go through them."""

    def __init__(self, checkout: Checkout) -> None:
        """Read descriptions and, where they are there, what else the list lines need."""
        plain = checkout.read_json(DESCRIPTIONS, dict[str, str]) or {}
        merged = checkout.read_json(_MERGED, dict[str, str]) or {} if checkout.has(_MERGED) else {}
        plugins = checkout.read_json(_PLUGINS, list[_Plugin]) or [] if checkout.has(_PLUGINS) else []
        checkout.raise_if_any()
        if not plain:
            raise InputError("no tool at all", where=DESCRIPTIONS, expected="an object of name: description")
        shown: dict[str, list[str]] = {}
        for plugin in plugins:
            shown.setdefault(plugin.name_for_model, []).append(plugin.description_for_human)
        self.names = tuple(plain)
        self.merged = len(merged.keys() & plain.keys())
        self.specs = {
            name: ToolSpec(
                name=name,
                identity=name,
                description=description,
                extra={"merged": name in merged, "descriptions": shown.get(name, [description])},
            )
            for name, description in plain.items()
        }
        self._lowered = sorted((name, name.lower()) for name in plain)
        self._masks: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._digests = {
            name: digest("tool-spec", msgspec.to_builtins(spec)) for name, spec in self.specs.items()
        }

    def digests(self, names: Iterable[str]) -> tuple[Digest, ...]:
        """Digests of the named tools' specs, in that order."""
        return tuple(self._digests[name] for name in names)

    def masks(self, candidates: Iterable[str]) -> tuple[str, ...]:
        """Tools off a list whose names hold a listed name as a part, sorted."""
        names = tuple(candidates)
        if names not in self._masks:
            listed = {name.lower() for name in names}
            self._masks[names] = tuple(
                name
                for name, lowered in self._lowered
                if lowered not in listed and any(part in lowered for part in listed)
            )
        return self._masks[names]
