"""The files of one upstream folder: listed in a fixed order, read with bounds, accounted for by digest.

Order, working directory, locale and modes play no part: files are sorted by their names, contents are bytes.
Links out of the folder, special files and names that are not UTF-8 are left out by name.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Final

from replay.benchmarks.plain_files import plain_status
from replay.benchmarks.stabletoolbench.faults import Faults
from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError, InputError
from replay.core.protocols import SourceFile
from replay.core.types import Json

__all__ = ["MAX_FILE_BYTES", "SourceTree"]

MAX_FILE_BYTES: Final = 512 << 20
"""No upstream data file comes near; a larger one is refused before it is read."""
_IGNORED_FOLDERS: Final = frozenset({".git", "__pycache__", "node_modules", ".venv"})
_IGNORED_FILES: Final = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_LICENCE_NAMES: Final = ("LICENSE", "LICENSE.txt", "LICENSE.md")
_LICENCE_BYTES: Final = 64 << 10


class SourceTree:
    """Everything under one folder, and what was read of it."""

    def __init__(self, root: Path) -> None:
        """List the folder. Raises InputError when it is not a readable folder."""
        self._root = _checked_root(root)
        self.ignored: Counter[str] = Counter()
        self.skipped: dict[str, str] = {}
        self._sources: dict[str, SourceFile] = {}
        self.files = self._list()
        self.licence = self._read_licence()
        """SPDX expression of the folder's licence file; NOASSERTION when there is none we know."""

    def _list(self) -> tuple[str, ...]:
        found = []
        for folder, names, files in os.walk(self._root, onerror=_refuse_folder):
            for name in names:
                if name in _IGNORED_FOLDERS:
                    self.ignored[name] += 1
            # Pruned in place: os.walk then does not go down there.
            names[:] = [name for name in names if name not in _IGNORED_FOLDERS]
            for name in (*files, *(name for name in names if Path(folder, name).is_symlink())):
                if name in _IGNORED_FILES:
                    self.ignored[name] += 1
                elif path := self._usable(Path(folder, name)):
                    found.append(path)
        return tuple(sorted(found, key=lambda path: path.split("/")))

    def _usable(self, path: Path) -> str | None:
        # A name is its bytes: what the locale would make of them plays no part.
        name = os.fsencode(path.relative_to(self._root).as_posix())
        try:
            relative = name.decode()
        except UnicodeDecodeError:
            self.skipped[repr(name)] = "its name is not UTF-8"
            return None
        if path.is_symlink():
            self.skipped[relative] = "a link; only plain files are read"
        elif not stat.S_ISREG(path.lstat().st_mode):
            self.skipped[relative] = "not a plain file"
        else:
            return relative
        return None

    def read(self, relative: str, faults: Faults) -> bytes | None:
        """Read a file's bytes and account for them; None (and a fault) when it cannot be read."""
        path = self._root / os.fsdecode(relative.encode())
        try:
            size = plain_status(path, follow=True).st_size
            if size > MAX_FILE_BYTES:
                limit = f"at most {MAX_FILE_BYTES} bytes"
                faults.add(f"file of {size} bytes", file=relative, expected=limit)
                return None
            data = path.read_bytes()
        except OSError as error:
            faults.add(f"cannot be read: {error.strerror}", file=relative, expected="a readable file")
            return None
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self._sources[relative] = SourceFile(path=relative, digest=digest, records=0, licence=self.licence)
        return data

    def read_text(self, relative: str, faults: Faults) -> str | None:
        """Read a file as UTF-8; None (and a fault that names the byte) when it is not."""
        data = self.read(relative, faults)
        if data is None:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            faults.add(f"not UTF-8 at byte {error.start}", file=relative, expected="UTF-8 text")
            return None

    def read_json(self, relative: str, faults: Faults) -> Json:
        """Read a file as one strict JSON value; None (and a fault) when it is not, or when it is empty."""
        text = self.read_text(relative, faults)
        if text is None:
            return None
        if not text.strip():
            self.skipped[relative] = "empty file"
            return None
        try:
            return parse_json(text)
        except CanonicalError as error:
            faults.add(error.what, file=relative, path=error.where, expected="one complete JSON value")
            return None

    def count(self, relative: str, records: int) -> None:
        """Note how many records a file gave."""
        old = self._sources[relative]
        self._sources[relative] = SourceFile(
            path=old.path, digest=old.digest, records=records, licence=old.licence
        )

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """Every file that was read, in order of its path."""
        return tuple(self._sources[path] for path in sorted(self._sources))

    @property
    def licence_files(self) -> tuple[str, ...]:
        """Licence files at the top of the folder."""
        return tuple(name for name in _LICENCE_NAMES if name in self.files)

    def _read_licence(self) -> str:
        for name in _LICENCE_NAMES:
            if name in self.files:
                with (self._root / name).open("rb") as stream:
                    return _spdx(stream.read(_LICENCE_BYTES).decode("utf-8", "replace"))
        return "NOASSERTION"


def _checked_root(root: Path) -> Path:
    expected = "a folder with upstream StableToolBench or ToolBench data"
    if not root.exists():
        raise InputError("no such folder", where=root.name, expected=expected, next_step="check the path")
    if not root.is_dir():
        raise InputError("not a folder", where=root.name, expected=expected, next_step="unpack it first")
    return root


def _refuse_folder(error: OSError) -> None:
    raise InputError(
        f"a folder cannot be listed: {error.strerror}",
        where=Path(str(error.filename)).name,
        expected="readable folders",
        next_step="give yourself read permission",
    ) from None


def _spdx(text: str) -> str:
    if "Apache License" in text and "Version 2.0" in text:
        return "Apache-2.0"
    if "MIT License" in text or "Permission is hereby granted, free of charge" in text:
        return "MIT"
    return "NOASSERTION"
