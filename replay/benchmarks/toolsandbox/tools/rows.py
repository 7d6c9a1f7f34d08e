"""Changing and removing one row by its identifier, as the contact and reminder tools do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from replay.benchmarks.toolsandbox.tools.failures import DUPLICATE, NO_DATA, ToolError, WrongValueError
from replay.benchmarks.toolsandbox.tools.tool import NOT_GIVEN, Arguments
from replay.benchmarks.toolsandbox.world.tables import NoRowError, Tables
from replay.core.types import Json

__all__ = ["read_changes", "remove_row", "update_row"]

_SHOWN: Final = 30
"""Characters of an expression that upstream's data frame library prints."""


def read_changes(arguments: Arguments, fields: Sequence[str], *, of: str) -> dict[str, Json]:
    """Take the new values of a row's fields; refuse a change that changes nothing."""
    changes = {name: arguments[name] for name in fields}
    if all(value is NOT_GIVEN for value in changes.values()):
        raise WrongValueError(
            "No update information given. At least one new field should be provided among "
            f"[{', '.join(fields)}] in order to modify {of}"
        )
    return changes


def update_row(tables: Tables, table: str, identity: tuple[str, Json], changes: Mapping[str, Json]) -> None:
    """Change the one row with an identifier; it moves to the end of its table, as upstream's does."""
    column, value = identity
    found = [row for row in tables.read(table) if row[column] == value]
    if not found:
        raise ToolError(NO_DATA, f"No db entry matching {column}={value!r} found")
    if len(found) > 1:
        raise ToolError(DUPLICATE, f"More than 1 entry with {column}={value!r} found")
    given = {name: change for name, change in changes.items() if change is not NOT_GIVEN}
    tables.remove(table, lambda row: bool(row[column] == value))
    tables.add(table, [{**found[0], **given}])


def remove_row(tables: Tables, table: str, identity: tuple[str, Json]) -> None:
    """Remove every row with an identifier.

    The message shows the start of the comparison, as upstream's does; the memory address that follows there
    differs from run to run and is 0x0 here.
    """
    column, value = identity
    try:
        tables.remove(table, lambda row: bool(row[column] == value))
    except NoRowError:
        shown = f'[([(col("{column}")) == (String({value}))]'[:_SHOWN]
        text = f"No db entry matching predicate=<Expr ['{shown}…'] at 0x0> found"
        raise ToolError(NO_DATA, text) from None
