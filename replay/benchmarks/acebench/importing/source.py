"""Files of an ACEBench checkout: which there are, their lines as strict JSON, every fault by file and record.

Owns the layout (`data_all/data_<language>/` or `data_<language>/`, truths in `possible_answer/`, JSON Lines
whatever the name says) and the account of what was read.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from replay.benchmarks.acebench.records import CATEGORIES, LANGUAGES
from replay.benchmarks.plain_files import is_named, plain_status
from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError, InputError
from replay.core.protocols import SourceFile
from replay.core.types import Json, Record

__all__ = ["MAX_FILE_BYTES", "Faults", "Line", "Source"]

MAX_FILE_BYTES: Final = 64 << 20
"""The largest upstream file has 0.6 MB."""
_SHOWN: Final = 10
_NEXT: Final = "correct what is named, or take an unchanged copy of the upstream data"
_LICENCES: Final = ("LICENSE", "LICENSE.md", "LICENSE.txt")
_EXPECTED: Final = "a folder with data_all/data_en or data_en (or zh) of an ACEBench checkout"


class Line(Record, frozen=True, kw_only=True):
    """One record of a file."""

    file: str
    number: int
    """Line of the file, from 1."""
    data: Json

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.file}, line {self.number}"


class Faults:
    """What is wrong with the data: collected, raised once."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str, str]] = []

    def add(self, what: str, *, where: str, expected: str) -> None:
        """Note one fault."""
        self._found.append((what, where, expected))

    def raise_if_any(self) -> None:
        """Raise one InputError for everything that was found."""
        if len(self._found) == 1:
            what, where, expected = self._found[0]
            raise InputError(what, where=where, expected=expected, next_step=_NEXT)
        if self._found:
            listed = "; ".join(f"{what} ({where})" for what, where, _ in self._found[:_SHOWN])
            more = len(self._found) - _SHOWN
            tail = f"; and {more} more" if more > 0 else ""
            wishes = {expected for _, _, expected in self._found}
            raise InputError(
                f"{len(self._found)} faults in the data: {listed}{tail}",
                expected=wishes.pop() if len(wishes) == 1 else "",
                next_step=_NEXT,
            )


class Source:
    """One checkout, or its data folder alone."""

    def __init__(self, root: Path) -> None:
        """Find the data. Raises InputError when the folder holds none."""
        self.root = root
        self.faults = Faults()
        self._sources: dict[str, SourceFile] = {}
        found = [prefix for prefix in ("data_all/", "") if self._languages(prefix)]
        if not found:
            what = "no ACEBench data" if root.is_dir() else "no such folder"
            what = "not a folder" if root.is_file() else what
            raise InputError(what, where=root.name, expected=_EXPECTED)
        self.prefix = found[0]
        self.languages = self._languages(self.prefix)
        self.licence = self._read_licence()

    def _languages(self, prefix: str) -> tuple[str, ...]:
        return tuple(name for name in LANGUAGES if (self.root / f"{prefix}data_{name}").is_dir())

    def categories(self, language: str) -> tuple[str, ...]:
        """Categories that have an input file, in the benchmark's order."""
        return tuple(name for name in CATEGORIES if is_named(self.root / self.input_file(language, name)))

    def input_file(self, language: str, category: str) -> str:
        """Path of the inputs of a category."""
        return f"{self.prefix}data_{language}/data_{category}.json"

    def truth_file(self, language: str, category: str) -> str:
        """Path of the truths of a category."""
        return f"{self.prefix}data_{language}/possible_answer/data_{category}.json"

    def lines(self, relative: str) -> list[Line]:
        """Read a JSON Lines file; blank lines count as lines and hold nothing."""
        text = self.read_text(relative)
        found = []
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            where = f"{relative}, line {number}"
            try:
                data = parse_json(line.strip())
            except CanonicalError as error:
                self.faults.add(error.what, where=f"{where} {error.where}", expected="one strict JSON object")
                continue
            if isinstance(data, dict):
                found.append(Line(file=relative, number=number, data=data))
            else:
                self.faults.add("no JSON object", where=where, expected="one record")
        self.count(relative, len(found))
        return found

    def read_text(self, relative: str) -> str:
        """Read a file as UTF-8 and account for it; empty (and a fault) when it cannot be read."""
        path = self.root / relative
        try:
            if plain_status(path).st_size > MAX_FILE_BYTES:
                limit = f"at most {MAX_FILE_BYTES} bytes"
                self.faults.add("a file that is too large", where=relative, expected=limit)
                return ""
            data = path.read_bytes()
            text = data.decode("utf-8-sig")
        except OSError as error:
            self.faults.add(f"cannot be read: {error.strerror}", where=relative, expected="a readable file")
            return ""
        except UnicodeDecodeError as error:
            self.faults.add(f"not UTF-8 at byte {error.start}", where=relative, expected="UTF-8 text")
            return ""
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self._sources[relative] = SourceFile(
            path=relative, digest=digest, records=0, licence=getattr(self, "licence", "")
        )
        return text

    def count(self, relative: str, records: int) -> None:
        """Note how many records a file gave."""
        old = self._sources.get(relative)
        if old is not None:
            self._sources[relative] = SourceFile(
                path=old.path, digest=old.digest, records=records, licence=old.licence
            )

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """Every file that was read, in order of its path."""
        return tuple(self._sources[path] for path in sorted(self._sources))

    def _read_licence(self) -> str:
        for name in _LICENCES:
            path = self.root / name
            if path.is_file() and path.stat().st_size <= MAX_FILE_BYTES:
                text = path.read_bytes().decode("utf-8", "replace")
                granted = "MIT License" in text or "Permission is hereby granted, free of charge" in text
                return "MIT" if granted else "Apache-2.0" if "Apache License" in text else "NOASSERTION"
        return "NOASSERTION"
