"""Thawing: an archive becomes a sealed store, and the store the same archive again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from replay.core.errors import DamagedError, InputError, StoreError
from replay.core.types import Snapshot, SnapshotKind
from replay.store.archive.freeze import ArchiveContent, freeze, freeze_store
from replay.store.archive.reader import ArchiveReader
from replay.store.archive.thaw import thaw
from replay.store.snapshots import SnapshotStore
from tests.support.archives import (
    make_archive,
    make_content,
    make_facts,
    make_rows,
    make_snapshot,
    make_verdict,
    pack,
    read_members,
)


def _rich_snapshots() -> list[Snapshot]:
    """Every kind, media and status, with aliases, meta and several answers to one request."""
    alias = make_snapshot(77).key
    return [
        msgspec.structs.replace(
            make_snapshot(1, body="\r\n\x00\ufeff"), media="text", meta={"from": ["a", 1]}
        ),
        msgspec.structs.replace(make_snapshot(2, body="/w=="), media="bytes", aliases=(alias,)),
        *(make_snapshot(3, sequence=number, body=f"[{number}]") for number in (0, 1, 2, 10)),
        make_snapshot(4, body=""),
        make_snapshot(5, body='"' + "long answer " * 5000 + '"'),
        make_verdict(1),
    ]


def test_a_store_answers_what_the_archive_holds(tmp_path: Path) -> None:
    """Snapshots, rows and facts are all there."""
    content = ArchiveContent(facts=make_facts(), tables={"tasks": make_rows(3)}, snapshots=_rich_snapshots())
    manifest = freeze(content, tmp_path / "a.replay")
    assert manifest == thaw(tmp_path / "a.replay", tmp_path / "store")
    with SnapshotStore.open_sealed(tmp_path / "store") as store:
        for snapshot in _rich_snapshots():
            assert snapshot == store.get(snapshot.key, snapshot.sequence)
        assert make_rows(3) == list(store.table("tasks"))
        assert [make_verdict(1)] == list(store.scan(SnapshotKind.VERDICT))
        assert () == store.fsck()


@pytest.mark.parametrize("count", [0, 1, 300])
def test_freezing_a_thawed_archive_gives_its_bytes(tmp_path: Path, count: int) -> None:
    """freeze(thaw(a)) = a, statements included."""
    content = ArchiveContent(
        facts=make_facts(licences={"x": "MIT"}, tool_versions={"replay-bench": "0"}, notes={"a": [1.5]}),
        tables={"tasks": make_rows(count)} if count else {},
        snapshots=[*_rich_snapshots(), *map(make_snapshot, range(100, 100 + count))],
    )
    freeze(content, tmp_path / "a.replay")
    thaw(tmp_path / "a.replay", tmp_path / "store")
    with SnapshotStore.open_sealed(tmp_path / "store") as store:
        freeze_store(store, tmp_path / "b.replay")
    assert (tmp_path / "a.replay").read_bytes() == (tmp_path / "b.replay").read_bytes()


def test_a_thawed_store_is_the_sealed_copy_of_a_recorded_one(tmp_path: Path) -> None:
    """Two ways to the same content give the same data file."""
    content = make_content(tasks=3, snapshots=100)
    freeze(content, tmp_path / "a.replay")
    thaw(tmp_path / "a.replay", tmp_path / "thawed")
    with SnapshotStore.create(tmp_path / "recorded") as store:
        store.put_many(reversed(list(content.snapshots)))
        store.put_table("tasks", make_rows(3))
        with SnapshotStore.open_sealed(tmp_path / "thawed") as thawed:
            store.set_meta(dict(thawed.meta))
        store.seal(tmp_path / "sealed")
    assert (tmp_path / "thawed" / "data.mdb").read_bytes() == (tmp_path / "sealed" / "data.mdb").read_bytes()


def test_a_store_without_facts_needs_them_stated(tmp_path: Path) -> None:
    """A recorded overlay is frozen under the name its maker gives."""
    with SnapshotStore.create(tmp_path / "overlay") as store:
        store.put_many(make_snapshot(number) for number in (2, 1))
        with pytest.raises(InputError, match=r"carries no facts.*state name, version and benchmark"):
            freeze_store(store, tmp_path / "a.replay")
        freeze_store(store, tmp_path / "a.replay", facts=make_facts())
    freeze(
        ArchiveContent(facts=make_facts(), snapshots=[make_snapshot(1), make_snapshot(2)]),
        tmp_path / "b.replay",
    )
    assert (tmp_path / "a.replay").read_bytes() == (tmp_path / "b.replay").read_bytes()


def test_a_damaged_archive_leaves_no_store(tmp_path: Path) -> None:
    """Damage in the last frame is found before anything appears."""
    path = make_archive(tmp_path, tasks=2, snapshots=300)
    data = bytearray(path.read_bytes())
    data[-1024 - 600] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"tasks\.jsonl\.zst"):
        thaw(path, tmp_path / "store")
    assert ["demo.replay"] == [each.name for each in tmp_path.iterdir()]


@pytest.mark.parametrize("member", ["README.txt", "SHA256SUMS"])
def test_every_document_is_checked_before_thawing(tmp_path: Path, member: str) -> None:
    """A changed letter in a document that no row depends on stops a thaw too."""
    members = read_members(make_archive(tmp_path))
    members[member] = members[member].replace(b"a", b"b", 1)
    (tmp_path / "demo.replay").write_bytes(pack(members.items()))
    with pytest.raises(DamagedError, match=member):
        thaw(tmp_path / "demo.replay", tmp_path / "store")


def test_a_place_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    """Nothing is written over a store."""
    path = make_archive(tmp_path)
    thaw(path, tmp_path / "store")
    before = (tmp_path / "store" / "data.mdb").read_bytes()
    with pytest.raises(StoreError, match="something is there already"):
        thaw(path, tmp_path / "store")
    assert before == (tmp_path / "store" / "data.mdb").read_bytes()
    assert ["demo.replay", "store"] == sorted(each.name for each in tmp_path.iterdir())


def test_a_full_disk_leaves_no_store(tmp_path: Path) -> None:
    """The kernel's own refusal, in a process of its own."""
    make_archive(tmp_path, tasks=10)
    code = (
        "import resource, signal, pathlib, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from replay.core.errors import StoreError\n"
        "from replay.store.archive.thaw import thaw\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000))\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "try:\n    thaw(folder / 'demo.replay', folder / 'store')\n"
        "except StoreError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={"PYTHONPATH": str(Path(__file__).parents[4]), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "cannot be" in done.stdout
    assert ["demo.replay"] == [each.name for each in tmp_path.iterdir()]


def test_an_unknown_table_has_no_rows(tmp_path: Path) -> None:
    """Asking for what an archive does not hold is not an error; asking a row of a table for a snapshot is."""
    with ArchiveReader(make_archive(tmp_path)) as archive:
        assert [] == list(archive.rows("outputs"))
        assert [] == list(archive.snapshots(SnapshotKind.COMPLETION))
        with pytest.raises(Exception, match="was taken for a snapshot"):
            _ = next(archive.checked_rows("tasks")).snapshot
