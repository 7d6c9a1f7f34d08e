"""Upstream's own prompt texts, taken from the user's checkout: string constants, parsed and never run.

Owns which files hold them and which of their names belong to a category. Nothing of those texts is written
here. A name ends in the language (`..._EN`, `..._ZH`); tasks keep it without that ending.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from replay.benchmarks.acebench.importing.source import Source
from replay.benchmarks.acebench.records import AGENT, SPECIAL
from replay.benchmarks.plain_files import is_named

__all__ = ["WordingBook", "read_constants"]

_FOLDER: Final = "model_inference"
_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("prompt_en.py", "prompt_zh.py"),
    "agent_multi_turn": ("multi_turn/APIModel_agent.py", "multi_turn/APIModel_user.py"),
    "agent_multi_step": ("multi_step/APIModel_agent.py",),
}
"""Files by the category they are for; those under the empty name are for all."""


def read_constants(text: str) -> dict[str, str]:
    """Take the string constants of a module's top level: `NAME = "text"`, joined literals included.

    Errors:  SyntaxError (or ValueError) for what is no Python.
    """
    found: dict[str, str] = {}
    for statement in ast.parse(text).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
            continue
        value = statement.value.value
        names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        if isinstance(value, str):
            found.update(dict.fromkeys(names, value))
    return found


class WordingBook:
    """The prompt texts of one checkout; empty when it has none."""

    def __init__(self, source: Source) -> None:
        self._texts: dict[str, dict[str, str]] = {}
        for category, files in _FILES.items():
            for file in files:
                relative = f"{_FOLDER}/{file}"
                path = source.root / relative
                if is_named(path):
                    self._texts.setdefault(category, {}).update(_read(source, relative))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all texts that were found, sorted."""
        return tuple(sorted({name for texts in self._texts.values() for name in texts}))

    def find(self, language: str, category: str) -> dict[str, str]:
        """Texts of one category in one language, by name without the language's ending."""
        ending = f"_{language.upper()}"
        shared, own = self._texts.get("", {}), self._texts.get(category, {})
        chosen = {name: text for name, text in shared.items() if _belongs(name, category)} | own
        return {name.removesuffix(ending): chosen[name] for name in sorted(chosen) if name.endswith(ending)}


def _read(source: Source, relative: str) -> Iterator[tuple[str, str]]:
    text = source.read_text(relative)
    try:
        constants = read_constants(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        source.faults.add(
            f"no Python module: {type(error).__name__}", where=relative, expected="upstream's prompt file"
        )
        return
    source.count(relative, len(constants))
    yield from constants.items()


def _belongs(name: str, category: str) -> bool:
    """Tell whether a shared text is for a category, by the words in its name."""
    if category in AGENT:
        return name.startswith(("TRAVEL_", "BASE_"))
    kind = "SPECIAL" if category in SPECIAL else "PREFERENCE" if "preference" in category else "NORMAL"
    return f"_{kind}_" in name or name.startswith("USER_")
