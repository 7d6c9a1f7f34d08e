"""Query files and id files: validated records of what was asked and which APIs were listed.

A query file is a list of objects; ToolBench's short forms list API names only, or no APIs at all. An id file
names the ids that count. This module checks shape, record by record, and builds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from replay.benchmarks.stabletoolbench.faults import Faults, json_kind
from replay.core.types import Json, Record

__all__ = [
    "PARAMETER_LISTS",
    "QueryRecord",
    "is_id_file",
    "is_query_file",
    "parameter_faults",
    "read_ids",
    "read_queries",
]

_KNOWN: Final = frozenset({"query", "query_id", "relevant APIs", "api_list"})
_NAMES: Final = ("category_name", "tool_name", "api_name")
_TEXTS: Final = ("api_description", "method")
PARAMETER_LISTS: Final = ("required_parameters", "optional_parameters")


class QueryRecord(Record, frozen=True, kw_only=True):
    """One query as its file has it."""

    id: str
    """Upstream query id as text."""
    split: str
    """Name of the query file without its ending."""
    query: str
    entries: tuple[Json, ...] = ()
    """Upstream API entries, whole, in their order."""
    relevant: tuple[tuple[str, str], ...] = ()
    """(tool, API) pairs that upstream calls relevant; no metric uses them."""
    open_domain: bool = False
    """True when the record has no API list at all."""
    upstream: Json = None
    """Further upstream fields."""
    source: str = ""


def is_query_file(value: Json) -> bool:
    """Recognise a list in which some record asks something."""
    return isinstance(value, list) and any(isinstance(item, dict) and "query" in item for item in value)


def is_id_file(value: Json) -> bool:
    """Recognise an object of numeric ids, each with a number."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(key.isdecimal() and isinstance(item, int) for key, item in value.items())
    )


def read_ids(value: Json) -> tuple[str, ...]:
    """Take the ids of an id file, in its order."""
    return tuple(value)


def read_queries(file: str, split: str, value: Json, faults: Faults) -> tuple[QueryRecord, ...]:
    """Read the records of a query file; what is wrong with a record becomes faults and leaves it out."""
    found: dict[str, QueryRecord] = {}
    for number, record in enumerate(value):
        reader = _Reader(file, number, faults)
        query = reader.read(record, split)
        if query is None:
            continue
        if query.id in found:
            reader.fault(f"id {query.id} is given twice", f"$[{number}].query_id", "each id once")
        else:
            found[query.id] = query
    return tuple(found.values())


def parameter_faults(value: Json, path: str) -> Iterator[tuple[str, str, str]]:
    """Check a parameter list; gives what is wrong, its JSON path and what was expected."""
    if not isinstance(value, list):
        yield f"a parameter list is {json_kind(value)}", path, "a list of parameters"
        return
    for index, parameter in enumerate(value):
        here = f"{path}[{index}]"
        if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str):
            yield "a parameter without a name", here, 'an object with a text "name"'
            continue
        for name in ("type", "description"):
            if not isinstance(parameter.get(name, ""), str):
                yield f"{name} is {json_kind(parameter[name])}", f"{here}.{name}", "a text"


class _Reader:
    """Checks one record and names the place of what is wrong."""

    def __init__(self, file: str, number: int, faults: Faults) -> None:
        self._file = file
        self._number = number
        self._faults = faults
        self._sound = True

    def fault(self, what: str, path: str, expected: str) -> None:
        self._faults.add(what, file=self._file, record=self._number, path=path, expected=expected)
        self._sound = False

    def read(self, record: Json, split: str) -> QueryRecord | None:
        path = f"$[{self._number}]"
        if not isinstance(record, dict):
            self.fault(f"a query record is {json_kind(record)}", path, "an object")
            return None
        query = self._text(record, "query", path)
        query_id = self._id(record, path)
        entries = tuple(self._entries(record.get("api_list", []), f"{path}.api_list"))
        relevant = tuple(self._relevant(record.get("relevant APIs", []), f'{path}["relevant APIs"]'))
        if not self._sound:
            return None
        return QueryRecord(
            id=query_id,
            split=split,
            query=query,
            entries=entries,
            relevant=relevant,
            open_domain="api_list" not in record,
            upstream={name: item for name, item in record.items() if name not in _KNOWN},
            source=f"{self._file}, record {self._number}",
        )

    def _text(self, holder: dict[str, Json], name: str, path: str) -> str:
        value = holder.get(name)
        if isinstance(value, str) and value.strip():
            return value
        kind = json_kind(value) if name in holder and not isinstance(value, str) else "missing or empty"
        self.fault(f"{name} is {kind}", f"{path}.{name}", "a text that is not empty")
        return ""

    def _id(self, record: dict[str, Json], path: str) -> str:
        value = record.get("query_id")
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if whole or (isinstance(value, str) and value.isdecimal()):
            return str(value)
        self.fault(f"query_id is {json_kind(value)}", f"{path}.query_id", "a whole number")
        return ""

    def _relevant(self, value: Json, path: str) -> Iterator[tuple[str, str]]:
        if not isinstance(value, list):
            self.fault(f"relevant APIs is {json_kind(value)}", path, "a list of [tool, API] pairs")
            return
        for index, pair in enumerate(value):
            if isinstance(pair, list) and len(pair) == 2 and all(isinstance(name, str) for name in pair):
                yield pair[0], pair[1]
            else:
                self.fault("not a pair of texts", f"{path}[{index}]", "[tool, API]")

    def _entries(self, value: Json, path: str) -> Iterator[Json]:
        if not isinstance(value, list):
            self.fault(f"api_list is {json_kind(value)}", path, "a list of API entries")
            return
        for index, entry in enumerate(value):
            here = f"{path}[{index}]"
            if not isinstance(entry, dict):
                self.fault(f"an API entry is {json_kind(entry)}", here, "an object")
                continue
            for name in _NAMES:
                self._text(entry, name, here)
            for name in _TEXTS:
                if not isinstance(entry.get(name, ""), str):
                    self.fault(f"{name} is {json_kind(entry[name])}", f"{here}.{name}", "a text")
            for name in PARAMETER_LISTS:
                for what, where, expected in parameter_faults(entry.get(name, []), f"{here}.{name}"):
                    self.fault(what, where, expected)
            yield entry
