"""Checking a whole store: every object re-hashed, every row resolved.

Findings are named; nothing is repaired, since a store can always be rebuilt from its archives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ParamSpec

from replay.core.canonical import parse_json
from replay.core.errors import DamagedError, ReplayError
from replay.core.types import Record
from replay.store.entries import raw_key, split_row_name, text_key, unpack_entry
from replay.store.environment import Environment
from replay.store.marker import DATA_NAME, file_digest
from replay.store.view import MEMBER_BYTES, View, member_scope, scope_hash

__all__ = ["Finding", "check_store"]

P = ParamSpec("P")


class Finding(Record, frozen=True, kw_only=True):
    """One thing that is wrong with a store."""

    name: str
    """data-file, pages, dictionary, object, entry, alias, scope, table-row or meta."""
    where: str
    """Which row, by key, digest or id."""
    what: str


def check_store(environment: Environment) -> tuple[Finding, ...]:
    """Check everything. A store without findings is sound."""
    if environment.is_sealed:
        digest = file_digest(environment.folder / DATA_NAME)
        if digest != environment.marker.digest:
            # LMDB trusts its pages and may crash on wrong ones, so rows are not looked at any more.
            what = f"file is {digest}, its marker says {environment.marker.digest}; thaw the archive again"
            return (Finding(name="data-file", where=DATA_NAME, what=what),)
    findings: list[Finding] = []
    for check in (_dictionaries, _objects, _entries, _aliases, _scopes, _tables, _meta):
        try:
            environment.read(_collect, check, findings)
        except DamagedError as error:
            findings.append(Finding(name="pages", where=check.__name__.strip("_"), what=error.what))
    return tuple(findings)


def _collect(view: View, check: Callable[[View], Iterator[Finding | None]], findings: list[Finding]) -> None:
    findings.extend(finding for finding in check(view) if finding is not None)


def _try(
    name: str, where: str, action: Callable[P, object], *args: P.args, **kwargs: P.kwargs
) -> Finding | None:
    """Do something that raises when a row is wrong, and turn that into a finding."""
    try:
        action(*args, **kwargs)
    except (ReplayError, ValueError) as error:
        what = str(error) if isinstance(error, ReplayError) else f"cannot be read: {error}"
        return Finding(name=name, where=where, what=what)
    return None


def _dictionaries(view: View) -> Iterator[Finding | None]:
    yield _try("dictionary", "dictionaries", view.parts.dictionaries)


def _objects(view: View) -> Iterator[Finding | None]:
    for digest, _ in view.rows(view.objects):
        yield _try("object", digest.hex(), view.parts.object, digest)


def _entries(view: View) -> Iterator[Finding | None]:
    for name, value in view.rows(view.index):
        yield _try("entry", name.hex(), _check_entry, view, name, value)


def _check_entry(view: View, name: bytes, value: bytes) -> None:
    place = split_row_name(name)
    entry = unpack_entry(value)
    snapshot = view.assemble(place, entry)
    if not _is_listed(view, member_scope(place.kind, entry.scope), place.raw[:MEMBER_BYTES]):
        raise DamagedError(f"row is not listed in its scope {snapshot.scope!r}")
    links = view.transaction.cursor(db=view.aliases)
    for alias in snapshot.aliases:
        if not links.set_key_dup(raw_key(alias), name):
            raise DamagedError(f"alias {alias} does not lead to its row")


def _is_listed(view: View, scope: bytes, prefix: bytes) -> bool:
    """Look for a key among the members of a scope: the row that starts at or before it is the one."""
    cursor = view.transaction.cursor(db=view.members)
    wanted = scope + prefix
    found = cursor.set_range(wanted)
    if found and cursor.key() == wanted:
        return True
    if not (cursor.prev() if found else cursor.last()) or not cursor.key().startswith(scope):
        return False
    listed = cursor.value()
    return any(listed[at : at + MEMBER_BYTES] == prefix for at in range(0, len(listed), MEMBER_BYTES))


def _aliases(view: View) -> Iterator[Finding | None]:
    for alias, target in view.rows(view.aliases):
        yield _try("alias", alias.hex(), _check_alias, view, alias, target)


def _check_alias(view: View, alias: bytes, target: bytes) -> None:
    value = view.transaction.get(target)
    if value is None:
        raise DamagedError(f"alias leads to row {target.hex()}, which is missing")
    if text_key(alias) not in view.assemble(split_row_name(target), unpack_entry(value)).aliases:
        raise DamagedError(f"alias leads to row {target.hex()}, which does not name it")


def _scopes(view: View) -> Iterator[Finding | None]:
    for row, value in view.rows(view.scopes):
        yield _try("scope", row.hex(), _check_scope, view, row, value)
    for name, value in view.rows(view.members):
        yield _try("scope", name.hex(), _check_members, view, name, value)


def _check_scope(view: View, row: bytes, value: bytes) -> None:
    number, name = (row[1:], value) if row[:1] == b"n" else (value[:4], value[4:])
    if view.scope_number(name.decode("utf-8")) != int.from_bytes(number, "big"):
        raise DamagedError("scope has no number, or two")
    if view.scope_name(int.from_bytes(number, "big")).encode() != name:
        raise DamagedError("scope number leads to another name")
    if row[:1] != b"n" and row != scope_hash(name.decode("utf-8")):
        raise DamagedError("scope lies under another's hash")


def _check_members(view: View, name: bytes, value: bytes) -> None:
    rows = view.transaction.cursor(db=view.index)
    number = int.from_bytes(name[1:5], "big")
    joined = name[5:] + value
    for at in range(0, len(joined), MEMBER_BYTES):
        prefix = name[:1] + joined[at : at + MEMBER_BYTES]
        more = rows.set_range(prefix)
        while more and rows.key().startswith(prefix):
            if unpack_entry(rows.value()).scope == number:
                break
            more = rows.next()
        else:
            raise DamagedError(f"scope lists key {prefix[1:].hex()}..., which has no row in it")


def _tables(view: View) -> Iterator[Finding | None]:
    for name, envelope in view.rows(view.tables):
        where = name.replace(b"\x00", b" ").decode("utf-8", "replace")
        yield _try("table-row", where, view.parts.decode, envelope)


def _meta(view: View) -> Iterator[Finding | None]:
    for name, envelope in view.rows(view.meta):
        yield _try("meta", name.decode("utf-8", "replace"), _check_meta, view, envelope)


def _check_meta(view: View, envelope: bytes) -> None:
    parse_json(view.parts.decode(envelope))
