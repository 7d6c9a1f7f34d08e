"""Laws of archives: one content, one file; what was frozen is what is read, whatever way it goes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.core.canonical import canonical_bytes, digest
from replay.core.errors import CanonicalError
from replay.core.types import Json, Key, Origin, Provenance, Snapshot, SnapshotKind, SnapshotStatus
from replay.store.archive.canonicity import check_canonical
from replay.store.archive.diff import diff
from replay.store.archive.freeze import ArchiveContent, freeze, freeze_store
from replay.store.archive.layers import LayeredReader, delta
from replay.store.archive.reader import ArchiveReader
from replay.store.archive.rows import encode_snapshot
from replay.store.archive.thaw import thaw
from replay.store.snapshots import SnapshotStore
from tests.property.strategies import json_values, texts
from tests.support.archives import make_facts

# Many stores, archives or processes: together they take longer than the fast tests may.
pytestmark = pytest.mark.slow

KINDS = tuple(SnapshotKind)

_keys = st.integers(0, 5).map(lambda number: Key(digest("api-alias", number)))


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Any snapshot whose key is the digest of its request."""
    kind = draw(st.sampled_from(SnapshotKind))
    request = draw(json_values)
    return Snapshot(
        kind=kind,
        key=Key(digest(kind.value, request)),
        sequence=draw(st.integers(0, 3)),
        scope=draw(texts),
        request=request,
        body=draw(texts),
        media=draw(st.sampled_from(["json", "text"])),
        status=draw(st.sampled_from(SnapshotStatus)),
        provenance=draw(st.sampled_from(Provenance)),
        origin=draw(st.none() | st.sampled_from(Origin)),
        aliases=tuple(draw(st.lists(_keys, max_size=2, unique=True))),
        meta=draw(json_values),
    )


_ids = texts.filter(lambda text: 0 < len(text.encode()) <= 440)
_rows = st.dictionaries(_ids, json_values.map(canonical_bytes), max_size=6).map(
    lambda rows: list(rows.items())
)
_names = st.from_regex(r"[a-z][a-z0-9-]{0,31}", fullmatch=True).filter(lambda name: "snapshots" not in name)


@st.composite
def contents(draw: st.DrawFn) -> ArchiveContent:
    """Any content: tables of any JSON, snapshots of any kind."""
    found = draw(st.lists(snapshots(), max_size=6, unique_by=lambda one: (one.kind, one.key, one.sequence)))
    return ArchiveContent(
        facts=make_facts(notes=draw(json_values)),
        tables=draw(st.dictionaries(_names, _rows, max_size=3)),
        snapshots=found,
    )


def _line(snapshot: Snapshot) -> bytes:
    """Canonical form: a double beyond 2^53 and the integer of its digits are one value."""
    return encode_snapshot(snapshot)[1]


@given(contents())
def test_freeze_of_thaw_is_the_same_file(content: ArchiveContent) -> None:
    """freeze(thaw(a)) = a, byte for byte, for any content; and a verifies."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        freeze(content, folder / "a.replay")
        thaw(folder / "a.replay", folder / "store")
        with SnapshotStore.open_sealed(folder / "store") as store:
            freeze_store(store, folder / "b.replay")
        assert (folder / "a.replay").read_bytes() == (folder / "b.replay").read_bytes()
        assert diff(folder / "a.replay", folder / "b.replay").is_same
        with ArchiveReader(folder / "a.replay") as archive:
            assert () == archive.verify().findings


@given(contents(), st.randoms(use_true_random=False))
def test_the_order_of_insertion_leaves_no_trace(content: ArchiveContent, source: st.DataObject) -> None:
    """Rows, tables and snapshots in any order, some of them twice, give the same file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        freeze(content, folder / "a.replay")
        found, tables = list(content.snapshots), list(content.tables.items())
        found += found[:2]
        for each in (found, tables):
            source.shuffle(each)  # type: ignore[attr-defined]
        shuffled = {table: list(reversed(list(rows))) for table, rows in tables}
        freeze(ArchiveContent(facts=content.facts, tables=shuffled, snapshots=found), folder / "b.replay")
        assert (folder / "a.replay").read_bytes() == (folder / "b.replay").read_bytes()


@given(contents())
def test_what_is_read_is_what_was_frozen(content: ArchiveContent) -> None:
    """Every row and snapshot comes back once, equal, in the order of its id."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.replay"
        freeze(content, path)
        with ArchiveReader(path) as archive:
            for table, rows in content.tables.items():
                assert sorted(rows) == list(archive.rows(table))
            expected = sorted(
                content.snapshots, key=lambda one: (KINDS.index(one.kind), one.key, one.sequence)
            )
            assert list(map(_line, expected)) == list(map(_line, archive.snapshots()))


@given(contents(), contents())
def test_a_delta_on_its_base_is_the_whole(base: ArchiveContent, extra: ArchiveContent) -> None:
    """Base content with rows added and changed: read through the layers, nothing is lost or doubled."""
    held = {(one.kind, one.key, one.sequence): one for one in (*base.snapshots, *extra.snapshots)}
    tables = {
        table: list({**dict(base.tables.get(table, ())), **dict(extra.tables.get(table, ()))}.items())
        for table in {*base.tables, *extra.tables}
    }
    whole = ArchiveContent(facts=extra.facts, tables=tables, snapshots=list(held.values()))
    with tempfile.TemporaryDirectory() as name:
        low, high = Path(name) / "low.replay", Path(name) / "high.replay"
        freeze(base, low)
        freeze(delta(whole, [low]), high)
        with LayeredReader(high, [low]) as layered:
            assert {name: sorted(rows) for name, rows in tables.items() if rows} == {
                name: list(layered.rows(name)) for name in layered.tables()
            }
            found = list(layered.snapshots())
        assert sorted(map(_line, held.values())) == sorted(map(_line, found))


@given(json_values)
def test_canonical_text_is_recognised(value: Json) -> None:
    """The proof accepts what the writer wrote, and gives an equal value back."""
    data = canonical_bytes(value)
    assert data == canonical_bytes(check_canonical(data))


@given(json_values, st.integers(0, 10_000), st.binary(min_size=1, max_size=3))
def test_only_canonical_text_is_recognised(value: Json, at: int, patch: bytes) -> None:
    """Text with a patch in it is refused, or it is canonical again."""
    data = bytearray(canonical_bytes(value))
    at %= len(data)
    data[at : at + 1] = patch
    try:
        found = check_canonical(bytes(data))
    except CanonicalError:
        return
    assert bytes(data) == canonical_bytes(found)
