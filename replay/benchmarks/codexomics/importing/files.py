"""The JSON files of one folder, told apart by what they hold.

Owns bounds and accounting: sizes, links, digests of what was read, strict JSON. A file that is none of the
known forms is listed as ignored; a damaged one is an error that names it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from replay.benchmarks.plain_files import plain_status
from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError, InputError
from replay.core.protocols import SourceFile
from replay.core.types import Json

__all__ = [
    "Document",
    "Folder",
    "app_records",
    "kind_of",
    "load_file",
    "read_document",
    "read_lines",
    "suite_lists",
]

MAX_FILE_BYTES: Final = 256 << 20
_LICENCE_BYTES: Final = 64 << 10
_SUFFIXES: Final = (".json", ".jsonl")
_LICENCES: Final = {"MIT": "MIT", "Apache License": "Apache-2.0"}
"""What a note or a licence file holds, to its SPDX expression."""

Document = Json


class Folder:
    """Every JSON file under a folder, read once, in order of its name."""

    def __init__(self, root: Path) -> None:
        """Read the folder. Raises InputError when it is none, or holds nothing that is known."""
        if not root.is_dir():
            raise InputError(
                "not a folder" if root.exists() else "no such folder",
                where=root.name,
                expected="a folder with CodeXomics suites and registries as JSON files",
            )
        self.by_kind: dict[str, dict[str, Document]] = {}
        self.ignored: list[str] = []
        self._folder_licence = _read_licence(root)
        self._records: dict[str, int] = {}
        self._digests: dict[str, str] = {}
        self._licences: dict[str, str] = {}
        for path in sorted(p for p in root.rglob("*") if p.suffix in _SUFFIXES):
            self._read(root, path)

    def _read(self, root: Path, path: Path) -> None:
        name = path.relative_to(root).as_posix()
        data = _read_bytes(path, name)
        document = read_lines(data, name) if path.suffix == ".jsonl" else read_document(data, name)
        kind = kind_of(document)
        if not kind:
            self.ignored.append(name)
            return
        self._licences[name] = _stated_licence(document) or self._folder_licence
        self._digests[name] = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self.by_kind.setdefault(kind, {})[name] = document

    def documents(self, kind: str) -> Iterator[tuple[str, Document]]:
        """Files of one kind, in order of their names."""
        yield from sorted(self.by_kind.get(kind, {}).items())

    def count(self, name: str, records: int) -> None:
        """Note how many records a file gave."""
        self._records[name] = records

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """Every file that was used."""
        return tuple(
            SourceFile(
                path=name, digest=digest, records=self._records.get(name, 0), licence=self._licences[name]
            )
            for name, digest in sorted(self._digests.items())
        )


def _read_licence(root: Path) -> str:
    path = root / "LICENSE"
    if not path.is_file() or path.is_symlink():
        return "NOASSERTION"
    return _spdx(path.read_bytes()[:_LICENCE_BYTES].decode("utf-8", "replace")) or "NOASSERTION"


def _stated_licence(document: Document) -> str:
    """The licence a file states itself, in `licence_note`."""
    note = document.get("licence_note") if isinstance(document, dict) else None
    return _spdx(note) if isinstance(note, str) else ""


def _spdx(text: str) -> str:
    return next((expression for mark, expression in _LICENCES.items() if mark in text), "")


def kind_of(document: Document) -> str:  # noqa: PLR0911
    """Tell what a file is: suites, registry, golden, report, app, rows, or nothing that is known."""
    if isinstance(document, list):
        first = document[0] if document else None
        if not isinstance(first, dict):
            return ""
        if {"test", "observed_calls", "mode"} <= first.keys():
            return "rows"
        return "app" if "testId" in first else "records" if "test_id" in first else ""
    if not isinstance(document, dict):
        return ""
    if isinstance(document.get("records"), list) and isinstance(document.get("summary"), dict):
        return "report"
    if isinstance(document.get("tool_results"), list):
        return "results"
    if _app_records(document) is not None:
        return "app"
    if "ideal_runs" in document or "wrong_runs" in document:
        return "golden"
    if isinstance(document.get("tools"), (dict, list)):
        return "registry"
    return "suites" if any(True for _ in suite_lists(document)) else ""


def _app_records(document: Document) -> list[Json] | None:
    """In-app records of a document that holds them under `results` or `testResults`."""
    for name in ("results", "testResults"):
        listed = document.get(name) if isinstance(document, dict) else None
        if isinstance(listed, list) and listed and isinstance(listed[0], dict) and "testId" in listed[0]:
            return listed
    return None


def app_records(document: Document) -> list[Json]:
    """In-app records: a list of them, or an object that holds one."""
    return document if isinstance(document, list) else _app_records(document) or []


def suite_lists(document: Document) -> Iterator[tuple[str, list[Json]]]:
    """The suites of a document by their ids: plain lists, or objects with a list of tests."""
    inner = document.get("suites")
    held = inner if isinstance(inner, dict) else document
    for name, value in held.items():
        tests = value.get("tests") if isinstance(value, dict) else value
        if isinstance(tests, list) and tests and all(_is_test(test) for test in tests):
            yield name, tests


def read_document(data: bytes, name: str) -> Document:
    """Read one strict JSON text. Raises InputError naming file and place."""
    try:
        return parse_json(data.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}", where=name, expected="UTF-8 text") from None
    except CanonicalError as error:
        place = f"{name}, {error.where}" if error.where else name
        raise InputError(error.what, where=place, expected="one JSON text") from None


def read_lines(data: bytes, name: str) -> list[Json]:
    """Read JSON lines; blank lines do not count."""
    return [
        read_document(line, f"{name}, record {number}")
        for number, line in enumerate(data.split(b"\n"), start=1)
        if line.strip()
    ]


def load_file(path: Path, name: str) -> Document:
    """Read one file of outside, by its suffix: JSON lines or one JSON text."""
    data = _read_bytes(path, name, follow=True)
    return read_lines(data, name) if path.suffix == ".jsonl" else read_document(data, name)


def _read_bytes(path: Path, name: str, *, follow: bool = False) -> bytes:
    try:
        if plain_status(path, follow=follow).st_size > MAX_FILE_BYTES:
            raise InputError("file too large", where=name, expected=f"at most {MAX_FILE_BYTES} bytes")
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", where=name, expected="a readable file"
        ) from None


def _is_test(value: Json) -> bool:
    return isinstance(value, dict) and "id" in value and ("instruction" in value or "expectedResult" in value)
