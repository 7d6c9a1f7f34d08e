"""Faults of upstream data: collected with file, record and JSON path, raised once."""

from __future__ import annotations

from typing import Final

from replay.core.errors import InputError
from replay.core.types import Json, Record

__all__ = ["Fault", "Faults", "json_kind"]

_SHOWN: Final = 10
"""More faults than this are counted, not listed: the message must stay readable."""
_NEXT: Final = "correct or remove what is named, or take an unchanged copy of the upstream data"


class Fault(Record, frozen=True, kw_only=True):
    """One thing that is wrong with the data."""

    what: str
    where: str
    expected: str


class Faults:
    """Collector of faults; one import has one."""

    def __init__(self) -> None:
        self._found: list[Fault] = []

    def add(
        self, what: str, *, file: str, record: int | str | None = None, path: str = "", expected: str = ""
    ) -> None:
        """Note a fault in a file, at a record (number or id) and a JSON path."""
        place = [file]
        if record is not None:
            place.append(f"record {record}")
        if path:
            place.append(path)
        self._found.append(Fault(what=what, where=", ".join(place), expected=expected))

    def raise_if_any(self) -> None:
        """Raise one InputError for everything that was found."""
        if not self._found:
            return
        if len(self._found) == 1:
            only = self._found[0]
            raise InputError(only.what, where=only.where, expected=only.expected, next_step=_NEXT)
        listed = "; ".join(_line(fault) for fault in self._found[:_SHOWN])
        more = len(self._found) - _SHOWN
        tail = f"; and {more} more" if more > 0 else ""
        raise InputError(f"{len(self._found)} faults in the data: {listed}{tail}", next_step=_NEXT)


def json_kind(value: Json) -> str:
    """Name a JSON value's kind for a message."""
    if value is None:
        return "null"
    names = {bool: "true/false", int: "a number", float: "a number", str: "a text", list: "a list"}
    return names.get(type(value), "an object")


def _line(fault: Fault) -> str:
    expected = f", expected {fault.expected}" if fault.expected else ""
    return f"{fault.what} ({fault.where}){expected}"
