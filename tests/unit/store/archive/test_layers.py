"""Layers: archives on base archives, found by root among local files."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.errors import DamagedError, InputError
from replay.core.types import Digest
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.store.archive.layers import LayeredReader, delta, resolve_bases
from replay.store.archive.reader import read_manifest
from tests.support.archives import (
    make_archive,
    make_content,
    make_facts,
    make_rows,
    make_snapshot,
    make_verdict,
)


def _next_version() -> ArchiveContent:
    """The content of make_content(), with a corrected task, a new task and a new answer."""
    rows = [*make_rows(5)[:4], ("t00004", b'"corrected"'), ("t00005", b'"new"')]
    return ArchiveContent(
        facts=make_facts(version="2"),
        tables={"tasks": rows},
        snapshots=[*map(make_snapshot, range(21)), *map(make_verdict, range(3))],
    )


def test_a_delta_holds_only_what_its_base_does_not(tmp_path: Path) -> None:
    """Corrected and new rows, and the root of the base."""
    base = make_archive(tmp_path)
    manifest = freeze(delta(_next_version(), [base]), tmp_path / "v2.replay")
    assert {"snapshots-api": 1, "tasks": 2} == manifest.counts
    assert (read_manifest(base).root,) == manifest.bases


def test_delta_and_base_together_are_the_whole(tmp_path: Path) -> None:
    """Reading through the layers gives what was frozen, each id once, the upper row first."""
    base = make_archive(tmp_path)
    freeze(delta(_next_version(), [base]), tmp_path / "v2.replay")
    whole = _next_version()
    with LayeredReader(tmp_path / "v2.replay", [base]) as layered:
        assert ("tasks",) == layered.tables()
        assert list(whole.tables["tasks"]) == list(layered.rows("tasks"))
        found = {(snapshot.kind, snapshot.key): snapshot for snapshot in layered.snapshots()}
    assert {(snapshot.kind, snapshot.key): snapshot for snapshot in whole.snapshots} == found


def test_layers_stand_on_layers(tmp_path: Path) -> None:
    """Bases of bases are found, the lowest first, whatever the order they are given in."""
    v1 = make_archive(tmp_path, "v1.replay")
    v2, v3 = tmp_path / "v2.replay", tmp_path / "v3.replay"
    freeze(delta(_next_version(), [v1]), v2)
    third = _next_version()
    rows = [*third.tables["tasks"], ("t00006", b'"third"')]
    freeze(
        delta(ArchiveContent(facts=third.facts, tables={"tasks": rows}, snapshots=third.snapshots), [v1, v2]),
        v3,
    )
    assert {"tasks": 1} == read_manifest(v3).counts
    assert (v1, v2) == resolve_bases(v3, [v2, v3, v1])
    with LayeredReader(v3, [v2, v1]) as layered:
        assert [row_id for row_id, _ in rows] == [row_id for row_id, _ in layered.rows("tasks")]
        assert tuple(read_manifest(each).root for each in (v3, v2, v1)) == layered.roots


def test_a_missing_or_wrong_base_is_named(tmp_path: Path) -> None:
    """The root that is asked for, and the roots that were given."""
    base = make_archive(tmp_path)
    other = make_archive(tmp_path, "other.replay", tasks=6)
    freeze(delta(_next_version(), [base]), tmp_path / "v2.replay")
    wanted, given = read_manifest(base).root, read_manifest(other).root
    with pytest.raises(
        InputError, match=rf"base archive {wanted} was not given \(v2\.replay\).*nothing is fetched"
    ):
        LayeredReader(tmp_path / "v2.replay")
    with pytest.raises(InputError, match=rf"{wanted} was not given.*other\.replay is {given}"):
        LayeredReader(tmp_path / "v2.replay", [other])


def test_a_damaged_base_is_damage_and_not_a_missing_base(tmp_path: Path) -> None:
    """A base that cannot be believed is an error of its own."""
    base = make_archive(tmp_path)
    freeze(delta(_next_version(), [base]), tmp_path / "v2.replay")
    base.write_bytes(base.read_bytes()[:3000])
    with pytest.raises(DamagedError, match="but the file has 3000 bytes"):
        LayeredReader(tmp_path / "v2.replay", [base])


def test_a_delta_cannot_take_rows_away(tmp_path: Path) -> None:
    """What a layer cannot say is refused, naming the first row."""
    base = make_archive(tmp_path)
    fewer = ArchiveContent(
        facts=make_facts(), tables={"tasks": make_rows(4)}, snapshots=make_content().snapshots
    )
    with pytest.raises(InputError, match=r"1 rows of the bases are not in the content, the first 't00004'"):
        delta(fewer, [base])
    without = ArchiveContent(facts=make_facts(), tables={"tasks": make_rows(5)})
    with pytest.raises(InputError, match="23 rows of the bases are not in the content"):
        delta(without, [base])


def test_bases_must_stand_on_one_another(tmp_path: Path) -> None:
    """Two archives beside each other are not a stack."""
    base, other = make_archive(tmp_path), make_archive(tmp_path, "other.replay", tasks=6)
    with pytest.raises(InputError, match=r"other\.replay stands on 0 of the 1 bases below it"):
        delta(_next_version(), [base, other])


def test_a_delta_without_bases_is_the_content(tmp_path: Path) -> None:
    """No layers below: everything is kept."""
    content = delta(make_content(), [])
    assert freeze(make_content(), tmp_path / "a.replay") == freeze(content, tmp_path / "b.replay")


def test_an_empty_delta_is_an_archive(tmp_path: Path) -> None:
    """Nothing new on a base still has a root of its own."""
    base = make_archive(tmp_path)
    manifest = freeze(delta(make_content(), [base]), tmp_path / "b.replay")
    assert ({}, Digest("sha256:")) != (manifest.counts, manifest.root)
    with LayeredReader(tmp_path / "b.replay", [base]) as layered:
        assert 5 == len(list(layered.rows("tasks")))
