"""The files of a dump: read within bounds, accounted for by digest; faults collected and raised once."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.plain_files import is_named, plain_status
from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError, InputError
from replay.core.protocols import SourceFile
from replay.core.types import Json

__all__ = ["MAX_FILE_BYTES", "Dump"]

MAX_FILE_BYTES: Final = 64 << 20
"""The dump of all upstream scenarios has less than 1 MB."""

_SHOWN: Final = 10
"""More faults than this are counted, not listed."""
_LICENCE: Final = "LicenseRef-Apple-sample-code"


class Dump:
    """One folder with dumped scenarios, and what was read of it."""

    def __init__(self, root: Path) -> None:
        """Take a folder. Raises InputError when it is none."""
        if not root.is_dir():
            what = "not a folder" if root.exists() else "no such folder"
            raise InputError(what, where=root.name, expected="a folder with scenarios_base.json")
        self._root = root
        self._sources: dict[str, SourceFile] = {}
        self._faults: list[str] = []

    def has(self, name: str) -> bool:
        """Tell whether a file is there."""
        return is_named(self._root / name)

    def read(self, name: str) -> Json:
        """Read one JSON file. Raises InputError when it is absent, too large or no JSON."""
        path = self._root / name
        if not self.has(name):
            raise InputError(
                f"no file {name}", where=self._root.name, expected="a dump of ToolSandbox scenarios"
            )
        try:
            if plain_status(path).st_size > MAX_FILE_BYTES:
                raise InputError(
                    f"more than {MAX_FILE_BYTES} bytes", where=name, expected="a dump of scenarios"
                )
            data = path.read_bytes()
        except OSError as error:
            raise InputError(
                f"cannot be read: {error.strerror}", where=name, expected="a readable file"
            ) from None
        self._sources[name] = SourceFile(
            path=name,
            digest=f"sha256:{hashlib.sha256(data).hexdigest()}",
            records=0,
            licence=self.licence,
        )
        try:
            return parse_json(data.decode("utf-8-sig"))
        except (CanonicalError, UnicodeDecodeError) as error:
            raise InputError(f"no JSON: {error}", where=name, expected="UTF-8 JSON") from None

    @property
    def licence(self) -> str:
        """Licence of the data: upstream's own text, unless the folder says otherwise."""
        file = self._root / "LICENCE.spdx"
        return file.read_text(encoding="utf-8").strip() if file.is_file() else _LICENCE

    def count(self, name: str, records: int) -> None:
        """Note how many records a file gave."""
        self._sources[name] = replace(self._sources[name], records=records)

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """Files that were read, sorted."""
        return tuple(self._sources[name] for name in sorted(self._sources))

    def fault(self, what: str, where: str) -> None:
        """Note a fault of the data."""
        self._faults.append(f"{what} ({where})")

    def raise_if_any(self) -> None:
        """Raise one InputError for everything that was found."""
        if self._faults:
            more = len(self._faults) - _SHOWN
            tail = f"; and {more} more" if more > 0 else ""
            listed = "; ".join(self._faults[:_SHOWN])
            raise InputError(
                f"{len(self._faults)} faults in the data: {listed}{tail}",
                next_step="correct or remove what is named",
            )
