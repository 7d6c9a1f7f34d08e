"""The files of an upstream checkout: found by name, read within bounds, accounted for by digest.

A file is looked for at its place in the repository's `dataset` folder, whether the checkout, that folder or
a copy of it is given. Faults are collected with file, record and JSON path, and raised once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from replay.benchmarks.plain_files import is_named, plain_status
from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError, InputError
from replay.core.protocols import SourceFile
from replay.core.types import Json

__all__ = ["MAX_FILE_BYTES", "Checkout"]

MAX_FILE_BYTES: Final = 64 << 20
"""The largest upstream file has less than 15 MB; a larger one is refused before it is read."""

_SHOWN: Final = 10
"""More faults than this are counted, not listed: the message must stay readable."""
_LICENCES: Final = ("LICENSE", "../LICENSE")
_EXPECTED: Final = "a MetaTool checkout, or its folder `dataset` (plugin_des.json, tmp_dataset/, scenario/)"

_Shape = TypeVar("_Shape")


class Checkout:
    """One folder with upstream's data, and what was read of it."""

    def __init__(self, source: Path, *, mark: str) -> None:
        """Find the data folder: the first of the folder itself and `dataset` in it that holds `mark`."""
        if not source.is_dir():
            what = "not a folder" if source.exists() else "no such folder"
            raise InputError(what, where=source.name, expected=_EXPECTED, next_step="check the path")
        places = [source, source / "dataset"]
        found = [place for place in places if is_named(place / mark)]
        if not found:
            raise InputError(
                f"nothing of MetaTool in this folder: no {mark}", where=source.name, expected=_EXPECTED
            )
        self._root = found[0]
        self._sources: dict[str, SourceFile] = {}
        self._faults: list[str] = []
        self.licence = self._read_licence()
        """SPDX expression of the licence file; NOASSERTION when there is none we know."""

    def names(self, folder: str) -> tuple[str, ...]:
        """JSON files of a folder, sorted; empty when it is not there."""
        place = self._root / folder
        return tuple(sorted(f"{folder}/{path.name}" for path in place.glob("*.json")))

    def has(self, name: str) -> bool:
        """Tell whether a file is there."""
        return is_named(self._root / name)

    def read(self, name: str) -> bytes | None:
        """Read one file and account for it; None, and a fault, when it cannot be read."""
        path = self._root / name
        try:
            size = plain_status(path).st_size
            if size > MAX_FILE_BYTES:
                return self._refuse(f"{size} bytes, more than {MAX_FILE_BYTES}", name)
            data = path.read_bytes()
        except OSError as error:
            return self._refuse(f"cannot be read: {error.strerror}", name)
        self._sources[name] = SourceFile(
            path=name,
            digest=f"sha256:{hashlib.sha256(data).hexdigest()}",
            records=0,
            licence=self.licence,
        )
        return data

    def read_text(self, name: str) -> str | None:
        """Read one file as UTF-8, with or without a byte order mark."""
        data = self.read(name)
        if data is None:
            return None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.fault(f"not UTF-8 at byte {error.start}", file=name)
            return None

    def read_json(self, name: str, shape: type[_Shape]) -> _Shape | None:
        """Read one file as a JSON value of a shape; None, and a fault with the JSON path, when it has not."""
        text = self.read_text(name)
        if text is None:
            return None
        try:
            value: Json = parse_json(text)
            found = msgspec.convert(value, shape)
        except CanonicalError as error:
            self.fault(error.what, file=name, path=error.where)
            return None
        except msgspec.ValidationError as error:
            self.fault(str(error), file=name)
            return None
        if isinstance(found, list | tuple | dict):
            self.count(name, len(found))
        return found

    def count(self, name: str, records: int) -> None:
        """Note how many records a file gave."""
        self._sources[name] = msgspec.structs.replace(self._sources[name], records=records)

    def fault(self, what: str, *, file: str, record: int | None = None, path: str = "") -> None:
        """Note something that is wrong with the data."""
        place = [file, *([] if record is None else [f"record {record}"]), *([path] if path else [])]
        self._faults.append(f"{what} ({', '.join(place)})")

    def raise_if_any(self) -> None:
        """Raise one InputError for every fault that was noted."""
        if not self._faults:
            return
        more = len(self._faults) - _SHOWN
        listed = "; ".join(self._faults[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        count = f"{len(self._faults)} faults in the data: " if len(self._faults) > 1 else ""
        raise InputError(
            f"{count}{listed}",
            expected="files as upstream has them",
            next_step="correct or remove what is named, or take an unchanged copy of the upstream data",
        )

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """Every file that was read, in order of its path."""
        return tuple(self._sources[name] for name in sorted(self._sources))

    def _refuse(self, what: str, name: str) -> bytes | None:
        self.fault(what, file=name)
        return None

    def _read_licence(self) -> str:
        for name in _LICENCES:
            path = self._root / name
            if path.is_file() and path.stat().st_size < 1 << 16:
                text = path.read_bytes().decode("utf-8", "replace")
                if "MIT License" in text or "Permission is hereby granted, free of charge" in text:
                    return "MIT"
                return "Apache-2.0" if "Apache License" in text else "NOASSERTION"
        return "NOASSERTION"
