"""Sealed stores: packed, exact, immutable, the same bytes for the same content."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest

from replay.core.errors import InputError, StoreError
from replay.core.types import Snapshot, SnapshotKind
from replay.store.marker import DATA_NAME
from replay.store.preparing import Prepared, prepare
from replay.store.sealing import build_sealed
from replay.store.snapshots import SnapshotStore
from tests.support.snapshots import make_key, make_sealed, make_snapshot, make_store


def make_mixture() -> list[Snapshot]:
    """Answers of all kinds and forms: short, long, shared, several to a key, with aliases."""
    found = [
        make_snapshot(n, kind=kind, scope=f"s{n % 5}", aliases=(make_key(f"alias {n % 40}"),))
        for n in range(120)
        for kind in SnapshotKind
    ]
    found += [
        make_snapshot(f"shared {n}", body='{"error": "", "response": "the same answer"}') for n in range(30)
    ]
    found += [make_snapshot(f"long {n % 5}", sequence=n, body=f"{n % 3}" * 9000) for n in range(10)]
    found.append(make_snapshot("request", request={"messages": [str(n) * 50 for n in range(200)]}))
    return found


def in_order(snapshots: list[Snapshot]) -> list[Snapshot]:
    """The order that archives and sealed stores have."""
    return sorted(snapshots, key=lambda one: (one.kind, one.key, one.sequence))


def file_hash(folder: Path) -> str:
    """Hash of a data file."""
    return hashlib.sha256((folder / DATA_NAME).read_bytes()).hexdigest()


def count_rows(folder: Path, database: str) -> int:
    """Rows of one named database, counted by LMDB itself."""
    with lmdb.open(str(folder), readonly=True, lock=False, max_dbs=9) as environment:
        handle = environment.open_db(database.encode(), create=False)
        with environment.begin() as transaction:
            return int(transaction.stat(handle)["entries"])


def test_holds_what_the_source_holds(tmp_path: Path) -> None:
    """Sealing loses and changes nothing."""
    mixture = make_mixture()
    store = make_sealed(tmp_path, mixture)
    assert in_order(mixture) == list(store.scan())
    assert () == store.fsck()


def test_same_content_same_bytes(tmp_path: Path) -> None:
    """Insertion order, batches and other folders leave no trace in the file."""
    mixture = make_mixture()
    hashes = set()
    for seed in range(3):
        random.Random(seed).shuffle(mixture)  # noqa: S311 (a test plan)
        store = make_store(tmp_path, name=f"{seed}")
        for at in range(0, len(mixture), 150):
            store.put_many(mixture[at : at + 150])
        store.put_table("t", [("b", b"2"), ("a", b"1")] if seed else [("a", b"1"), ("b", b"2")])
        store.set_meta({"x": 1, "y": 2})
        store.seal(tmp_path / f"sealed {seed}")
        hashes.add(file_hash(tmp_path / f"sealed {seed}"))
    assert len(hashes) == 1


def test_building_from_sorted_rows_gives_the_same_bytes(tmp_path: Path) -> None:
    """The way from an archive and the way over a writable store end in one file."""
    mixture = make_mixture()
    store = make_store(tmp_path, mixture)
    store.put_table("t", [("a", b"1")])
    store.set_meta({"x": 1})
    store.seal(tmp_path / "one")
    build_sealed(
        tmp_path / "two",
        answers=map(prepare, in_order(mixture)),
        tables=[("t", [("a", b"1")])],
        meta={"x": 1},
    )
    assert file_hash(tmp_path / "one") == file_hash(tmp_path / "two")


def test_sealing_a_sealed_store_changes_nothing(tmp_path: Path) -> None:
    """A sealed store sealed again is the same file."""
    make_sealed(tmp_path, make_mixture()).seal(tmp_path / "again")
    assert file_hash(tmp_path / "sealed") == file_hash(tmp_path / "again")


def test_equal_bodies_are_stored_once(tmp_path: Path) -> None:
    """A body that several answers share is one object; a short one with one owner is none."""
    snapshots = [make_snapshot(n, body="shared answer, long enough to count" * 2) for n in range(9)]
    make_sealed(tmp_path, [*snapshots, make_snapshot("own")]).close()
    assert count_rows(tmp_path / "sealed", "objects") == 1


def test_file_is_read_only_and_exact(tmp_path: Path) -> None:
    """The file cannot be written, has whole pages, and nothing else lies beside it."""
    make_sealed(tmp_path, make_mixture())
    folder = tmp_path / "sealed"
    facts = (folder / DATA_NAME).stat()
    assert (0o444, 0) == (facts.st_mode & 0o777, facts.st_size % 4096)
    assert ["data.mdb", "store.json"] == sorted(path.name for path in folder.iterdir())


def test_small_next_to_what_it_holds(tmp_path: Path) -> None:
    """Answers like one another take a fraction of their size."""
    snapshots = [
        make_snapshot(n, body=f'{{"number": {n}, "text": "{"the usual words " * 40}"}}') for n in range(900)
    ]
    make_sealed(tmp_path, snapshots)
    assert (tmp_path / "sealed" / DATA_NAME).stat().st_size < sum(len(one.body) for one in snapshots)


def test_empty_store_can_be_sealed(tmp_path: Path) -> None:
    """A store without anything is a store."""
    store = make_sealed(tmp_path)
    assert ([], (), {}, ()) == (list(store.scan()), store.tables(), store.meta, store.fsck())


def test_target_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    """Sealing never replaces what is there."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine").write_text("1")
    with pytest.raises(StoreError, match="something is there already"):
        make_store(tmp_path).seal(tmp_path / "x")
    assert (tmp_path / "x" / "mine").read_text() == "1"


def test_target_that_cannot_be_made(tmp_path: Path) -> None:
    """A place that cannot be written gives one line and leaves the source untouched."""
    (tmp_path / "file").write_text("")
    store = make_store(tmp_path, [make_snapshot()])
    with pytest.raises(StoreError, match="cannot be sealed"):
        store.seal(tmp_path / "file" / "x")
    assert [make_snapshot()] == list(store.scan())


@pytest.mark.parametrize("order", [[1, 0], [0, 0]])
def test_rows_out_of_order_are_refused(tmp_path: Path, order: list[int]) -> None:
    """Unsorted or repeated rows are an input error and leave nothing behind."""
    rows = [prepare(one) for one in in_order([make_snapshot(1), make_snapshot(2)])]
    with pytest.raises(InputError, match="does not come after"):
        build_sealed(tmp_path / "x", answers=[rows[n] for n in order], tables=[], meta={})
    with pytest.raises(InputError, match="does not come after"):
        build_sealed(tmp_path / "x", answers=[], tables=[("t", [("b", b""), ("a", b"")])], meta={})
    assert [] == list(tmp_path.iterdir())


def test_kinds_out_of_order_are_refused(tmp_path: Path) -> None:
    """A kind that comes back later is out of order too."""
    kinds = [SnapshotKind.API, SnapshotKind.VERDICT, SnapshotKind.API]
    rows = [prepare(make_snapshot(n, kind=kind)) for n, kind in enumerate(kinds)]
    with pytest.raises(InputError, match="does not come after"):
        build_sealed(tmp_path / "x", answers=rows, tables=[], meta={})


def test_failing_source_leaves_nothing(tmp_path: Path) -> None:
    """An error of the rows' own source passes through, and no folder stays."""

    def rows() -> Iterator[Prepared]:
        yield prepare(make_snapshot())
        raise InputError("the archive is cut")

    with pytest.raises(InputError, match="the archive is cut"):
        build_sealed(tmp_path / "x", answers=rows(), tables=[], meta={})
    assert [] == list(tmp_path.iterdir())


@pytest.mark.slow
def test_many_rows_over_several_commits(tmp_path: Path) -> None:
    """More rows than one transaction takes arrive whole, with scopes and aliases."""
    rows = [
        make_snapshot(n, scope="one", body=f"{n}", request=n, aliases=(make_key(-n),)) for n in range(21_000)
    ]
    build_sealed(tmp_path / "x", answers=map(prepare, in_order(rows)), tables=[], meta={})
    with SnapshotStore.open_sealed(tmp_path / "x") as store:
        assert sorted(make_key(n) for n in range(21_000)) == list(store.scope(SnapshotKind.API, "one"))
        assert rows[20_999] == store.get(make_key(-20_999))
