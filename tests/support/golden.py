"""Golden files: what this program is known to say, kept as files that are reviewed like code.

Only files of our own output are here. Vectors from elsewhere (RFC 8785, the stemmer's) are never renewed, and
digests change only with a format version.
"""

from __future__ import annotations

import json
from pathlib import Path

from replay.core.types import Json
from tests.support.data import GOLDEN

__all__ = ["Golden"]


class Golden:
    """Compares with golden files, or writes them anew when that was asked for with --update-golden."""

    def __init__(self, *, updates: bool = False, folder: Path = GOLDEN) -> None:
        self._updates = updates
        self._folder = folder

    def check_text(self, name: str, found: str) -> None:
        """Hold a text to the file of this name."""
        path = self._folder / name
        if self._updates:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(found, encoding="utf-8")
        assert path.is_file(), f"no golden file {name}; --update-golden writes it"
        assert path.read_text(encoding="utf-8") == found

    def check_json(self, name: str, found: Json) -> None:
        """Hold a JSON value to the file of this name."""
        self.check_text(name, json.dumps(found, ensure_ascii=False) + "\n")
