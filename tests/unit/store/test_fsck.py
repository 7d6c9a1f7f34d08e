"""What fsck finds, by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import pytest

from replay.core.errors import DamagedError
from replay.store.entries import raw_key, row_name
from replay.store.marker import DATA_NAME
from replay.store.snapshots import SnapshotStore
from replay.store.view import DATABASES, DUPSORT, scope_hash
from tests.support.snapshots import make_key, make_sealed, make_snapshot, make_store

ALIAS = make_key("alias")
LONG = "long answer " * 400
Change = Callable[[Any, dict[str, Any]], object]


def damage(folder: Path, change: Change) -> None:
    """Change rows of a closed writable store behind its back."""
    with lmdb.open(str(folder), max_dbs=len(DATABASES), lib_version=0) as environment:
        handles = {name: environment.open_db(name.encode(), dupsort=name in DUPSORT) for name in DATABASES}
        with environment.begin(write=True) as transaction:
            change(transaction, handles)


def make_damaged(tmp_path: Path, change: Change) -> SnapshotStore:
    """A store with one snapshot, one alias, one table row and one fact, then changed."""
    with make_store(tmp_path, [make_snapshot(body=LONG, aliases=(ALIAS,))]) as store:
        store.put_table("tasks", [("t1", b"{}")])
        store.set_meta({"fact": 1})
    damage(tmp_path / "store", change)
    return SnapshotStore.open_writable(tmp_path / "store")


def flip_first(database: str, offset: int) -> Change:
    """Flip a bit in the value of the first row of a database."""

    def change(transaction: Any, handles: dict[str, Any]) -> None:
        cursor = transaction.cursor(db=handles[database])
        cursor.first()
        value = bytearray(cursor.value())
        value[offset] ^= 1
        cursor.replace(cursor.key(), bytes(value))

    return change


def flip_row(database: str, name: bytes, offset: int) -> Change:
    """Flip a bit in the value of a row."""

    def change(transaction: Any, handles: dict[str, Any]) -> None:
        value = bytearray(transaction.get(name, db=handles[database]))
        value[offset] ^= 1
        transaction.put(name, bytes(value), db=handles[database])

    return change


def drop(database: str, name: bytes) -> Change:
    """Delete a row."""
    return lambda transaction, handles: transaction.delete(name, db=handles[database])


ROW = row_name(0, raw_key(make_key("a")), 0)


def test_sound_store_has_no_findings(tmp_path: Path) -> None:
    """Nothing is found where nothing is wrong."""
    assert () == make_damaged(tmp_path, lambda transaction, handles: None).fsck()


@pytest.mark.parametrize(
    ("change", "expected", "what"),
    [
        (flip_first("objects", -1), {"object", "entry", "alias"}, "cannot be read|differs|claims"),
        (flip_first("objects", 10), {"object", "entry", "alias"}, "differs"),
        (drop("index", ROW), {"alias", "scope"}, "missing|no row"),
        (flip_first("index", -1), {"entry", "alias"}, "differs"),
        (flip_first("index", 3), {"entry", "alias", "scope"}, "unknown scope number|no row"),
        (drop("aliases", raw_key(ALIAS)), {"entry"}, "does not lead"),
        (flip_first("tables", -1), {"table-row"}, "differs"),
        (flip_row("meta", b"user/fact", -1), {"meta"}, "differs"),
        (drop("scopes", b"n" + bytes(4)), {"entry", "alias", "scope"}, "unknown scope number"),
        (drop("scopes", scope_hash("Weather/forecast/now")), {"scope"}, "no number"),
        (drop("members", bytes(5) + raw_key(make_key("a"))[:8]), {"entry"}, "not listed in its scope"),
    ],
)
def test_damage_is_named(tmp_path: Path, change: Change, expected: set[str], what: str) -> None:
    """Each kind of damage has its name and its place."""
    findings = make_damaged(tmp_path, change).fsck()
    assert expected == {finding.name for finding in findings}
    assert all(finding.where for finding in findings)
    assert any(re.search(what, finding.what) for finding in findings)


@pytest.mark.parametrize(
    "change", [flip_first("objects", -1), flip_first("objects", 10), flip_first("index", -1)]
)
def test_damage_is_never_a_miss(tmp_path: Path, change: Change) -> None:
    """Reading a damaged answer is an error, not None and not other bytes."""
    store = make_damaged(tmp_path, change)
    with pytest.raises(DamagedError):
        store.get(make_key("a"))


def test_missing_object_is_damage(tmp_path: Path) -> None:
    """A row whose object is gone is damage."""

    def change(transaction: Any, handles: dict[str, Any]) -> None:
        transaction.drop(handles["objects"], delete=False)

    store = make_damaged(tmp_path, change)
    with pytest.raises(DamagedError, match="object is missing"):
        store.get_body(make_key("a"))


def test_changed_sealed_file_is_found_by_its_digest(tmp_path: Path) -> None:
    """One flipped bit anywhere in a sealed file is a finding, and its pages are not walked."""
    make_sealed(tmp_path, [make_snapshot(n) for n in range(50)]).close()
    path = tmp_path / "sealed" / DATA_NAME
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[-2000] ^= 8
    path.write_bytes(data)
    with SnapshotStore.open_sealed(tmp_path / "sealed") as store:
        assert ["data-file"] == [finding.name for finding in store.fsck()]


def test_flipped_frame_in_a_sealed_store_is_not_handed_out(tmp_path: Path) -> None:
    """An answer whose bytes changed inside a sealed store is damage when it is read."""
    snapshot = make_snapshot(body="incompressible 8f3a9c1d7e")
    make_sealed(tmp_path, [snapshot]).close()
    path = tmp_path / "sealed" / DATA_NAME
    path.chmod(0o644)
    path.write_bytes(path.read_bytes().replace(b"8f3a9c1d7e", b"8f3a9c1d7f"))
    with (
        SnapshotStore.open_sealed(tmp_path / "sealed") as store,
        pytest.raises(DamagedError, match="differs"),
    ):
        store.get_body(snapshot.key)
