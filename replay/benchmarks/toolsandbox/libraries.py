"""The field's libraries that official behaviour rests on, loaded on first use.

They are dependencies of this program, for a strict replay runs the world too. Their versions can change an
answer (a holiday's name, a unit), so a run's manifest names them among its conditions: equal answers under
other versions are equal runs.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Mapping
from typing import Any, Final

from replay.core.errors import MissingExtraError

__all__ = ["LIBRARIES", "check_libraries", "library_versions", "load_library"]

LIBRARIES: Final[Mapping[str, str]] = {
    "geographiclib": "distances on the ellipsoid",
    "holidays": "dates of holidays",
    "phonenumbers": "which texts are phone numbers",
    "pint": "units",
    "rapidfuzz": "fuzzy matches of names and texts",
}
"""Distribution names and what each decides."""


def load_library(module: str) -> Any:
    """Import a module of one of the libraries. Raises MissingExtraError naming the command that brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(error.name or module) from None


def check_libraries() -> None:
    """Find a missing library before an episode needs it."""
    for name in LIBRARIES:
        if not _is_there(name):
            raise _missing(name)


def library_versions() -> dict[str, str]:
    """Versions of the libraries that are installed, by distribution name, sorted."""
    return {name: importlib.metadata.version(name) for name in sorted(LIBRARIES) if _is_there(name)}


def _is_there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _missing(name: str) -> MissingExtraError:
    package = name.split(".", maxsplit=1)[0]
    return MissingExtraError(
        f"ToolSandbox needs the package {package!r} ({LIBRARIES.get(package, 'a part of another')})",
        expected="a complete installation of this program",
        next_step=f"pip install {package}",
    )
