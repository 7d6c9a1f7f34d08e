"""Frozen stores and an overlay read as one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from replay.core.errors import StoreError
from replay.core.types import SnapshotKind
from replay.store.layers import LayeredStore
from replay.store.snapshots import PutOutcome, SnapshotStore
from tests.support.snapshots import make_key, make_sealed, make_snapshot, make_store


def make_layers(tmp_path: Path) -> LayeredStore:
    """Two frozen layers and an overlay; key "a" has two frozen answers."""
    first = make_sealed(tmp_path, [make_snapshot("a", body="0"), make_snapshot("b")], "first")
    second = make_sealed(tmp_path, [make_snapshot("a", sequence=1, body="1"), make_snapshot("c")], "second")
    return LayeredStore([first, second], make_store(tmp_path, name="overlay"))


def overlay_of(layers: LayeredStore) -> SnapshotStore:
    """The overlay that `make_layers` made."""
    assert layers.overlay is not None
    return layers.overlay


def test_reads_through_all_layers(tmp_path: Path) -> None:
    """Each layer answers for its own (key, sequence)."""
    layers = make_layers(tmp_path)
    layers.put(make_snapshot("d"))
    assert layers.count(make_key("a")) == 2
    assert [b"0", b"1", None] == [layers.get_body(make_key("a"), n) for n in range(3)]
    assert [make_snapshot(name) for name in "bcd"] == [layers.get(make_key(name)) for name in "bcd"]
    assert (None, 0) == (layers.get(make_key("x")), layers.count(make_key("x")))


def test_overlay_continues_frozen_numbers(tmp_path: Path) -> None:
    """A key with two frozen answers goes on at 2 in the overlay."""
    layers = make_layers(tmp_path)
    assert [2, 3] == [layers.append(make_snapshot("a", body=body)) for body in ("2", "3")]
    assert [b"0", b"1", b"2", b"3"] == [layers.get_body(make_key("a"), n) for n in range(4)]
    assert [0] == [layers.append(make_snapshot("new"))]


def test_append_of_the_last_answer_is_kept_once(tmp_path: Path) -> None:
    """An answer equal to the last one, frozen or not, is not recorded again."""
    layers = make_layers(tmp_path)
    assert [1, 2, 2, 3] == [layers.append(make_snapshot("a", body=body)) for body in ("1", "2", "2", "1")]


def test_frozen_answers_cannot_be_changed(tmp_path: Path) -> None:
    """A put on a frozen place writes nothing, whatever it holds."""
    layers = make_layers(tmp_path)
    batch = [make_snapshot("a", body="0"), make_snapshot("a", body="x"), make_snapshot("e")]
    assert Counter({PutOutcome.SAME: 1, PutOutcome.CONFLICT: 1, PutOutcome.NEW: 1}) == layers.put_many(batch)
    assert [make_snapshot("e")] == list(overlay_of(layers).scan())


def test_first_layer_wins(tmp_path: Path) -> None:
    """Where two layers hold one place, the earlier one answers everywhere."""
    first = make_sealed(tmp_path, [make_snapshot("a", body="1")], "first")
    second = make_sealed(tmp_path, [make_snapshot("a", body="2"), make_snapshot("b")], "second")
    layers = LayeredStore([first, second])
    assert (b"1", 1) == (layers.get_body(make_key("a")), layers.count(make_key("a")))
    assert {"1", make_snapshot("b").body} == {snapshot.body for snapshot in layers.scan()}


def test_aliases_run_over_all_layers(tmp_path: Path) -> None:
    """An alias leads to the answers of every layer, sorted by key and sequence."""
    alias = make_key("alias")
    names = ["p", "q", "r"]
    snapshots = [make_snapshot(name, aliases=(alias,)) for name in names]
    layers = LayeredStore(
        [make_sealed(tmp_path, [one], f"l{n}") for n, one in enumerate(snapshots[:2])],
        make_store(tmp_path, snapshots[2:]),
    )
    expected = sorted(snapshots, key=lambda one: one.key)
    assert expected == [layers.get(alias, n) for n in range(layers.count(alias))]
    assert [one.body.encode() for one in expected] == [layers.get_body(alias, n) for n in range(3)]
    assert (None, None) == (layers.get(alias, 3), layers.get_body(alias, 3))


def test_alias_continues_in_the_overlay(tmp_path: Path) -> None:
    """A second answer recorded later is the alias's second answer too."""
    alias = make_key("alias")
    frozen = make_sealed(tmp_path, [make_snapshot("a", aliases=(alias,))])
    layers = LayeredStore([frozen], make_store(tmp_path))
    layers.append(make_snapshot("a", body="2", aliases=(alias,)))
    assert [make_snapshot("a").body.encode(), b"2"] == [layers.get_body(alias, n) for n in range(2)]


def test_scope_and_scan_merge(tmp_path: Path) -> None:
    """Scopes, scans and tables of all layers come out sorted, each item once."""
    layers = make_layers(tmp_path)
    layers.put(make_snapshot("b", sequence=1))
    assert sorted(make_key(name) for name in "abc") == list(
        layers.scope(SnapshotKind.API, "Weather/forecast/now")
    )
    assert ("Weather/forecast/now",) == layers.scopes(SnapshotKind.API)
    places = [(one.key, one.sequence) for one in layers.scan()]
    assert sorted(places) == places
    assert len(places) == 5
    assert [] == list(layers.scan(SnapshotKind.VERDICT))


def test_tables_merge(tmp_path: Path) -> None:
    """Rows of all layers are one table; the earlier layer's row wins."""
    stores = [make_store(tmp_path, name=f"{n}") for n in range(2)]
    stores[0].put_table("t", [("a", b"1"), ("c", b"1")])
    stores[1].put_table("t", [("a", b"2"), ("b", b"2")])
    stores[1].put_table("u", [("x", b"3")])
    layers = LayeredStore(stores)
    assert [("a", b"1"), ("b", b"2"), ("c", b"1")] == list(layers.table("t"))
    assert (b"1", b"2", None) == tuple(layers.row("t", name) for name in "abz")
    assert ("t", "u") == layers.tables()


def test_without_overlay_nothing_is_written(tmp_path: Path) -> None:
    """A strict run has nowhere to write."""
    layers = LayeredStore([make_sealed(tmp_path)])
    with pytest.raises(StoreError, match="no overlay to write to"):
        layers.put(make_snapshot())
    with pytest.raises(StoreError, match="no overlay to write to"):
        layers.append(make_snapshot())


def test_sealed_overlay_becomes_a_layer(tmp_path: Path) -> None:
    """What was recorded over frozen layers reads the same when it is frozen itself."""
    layers = make_layers(tmp_path)
    layers.append(make_snapshot("a", body="2"))
    layers.append(make_snapshot("n"))
    before = list(layers.scan())
    overlay_of(layers).seal(tmp_path / "third")
    third = SnapshotStore.open_sealed(tmp_path / "third")
    assert before == list(LayeredStore([*layers.frozen, third]).scan())
