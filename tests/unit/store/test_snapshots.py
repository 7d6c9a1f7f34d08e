"""Putting and getting snapshots, tables and facts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from replay.core.errors import CanonicalError, InputError, LimitError, StoreError
from replay.core.types import Key, Origin, Provenance, Snapshot, SnapshotKind, SnapshotStatus
from replay.store.records import MAX_VALUE_BYTES, encode_body
from replay.store.snapshots import PutOutcome, SnapshotStore
from tests.support.snapshots import make_key, make_sealed, make_snapshot, make_store

FULL = make_snapshot(
    "full",
    kind=SnapshotKind.VERDICT,
    scope="sopr \u20ac",
    request={"a": [1, 2.5, 2**60, None, True, {"\u00e9": "\U0001f602"}]},
    body="\ufeffone\r\ntwo\x00\u20ac",
    media="text",
    status=SnapshotStatus.NOT_JSON,
    provenance=Provenance.IMPORTED,
    origin=Origin.SIMULATED,
    aliases=(make_key("alias 1"), make_key("alias 2")),
    meta={"source": "file.json#3"},
)


@pytest.mark.parametrize("snapshot", [make_snapshot(), FULL])
def test_get_returns_what_was_put(tmp_path: Path, snapshot: Snapshot) -> None:
    """Every field comes back, from a writable store and from a sealed one."""
    assert snapshot == make_store(tmp_path, [snapshot]).get(snapshot.key)
    assert snapshot == make_sealed(tmp_path, [snapshot]).get(snapshot.key)


def test_get_body_is_the_body_as_bytes(tmp_path: Path) -> None:
    """The hot path gives the body's UTF-8 bytes exactly."""
    expected = FULL.body.encode()
    assert expected == make_store(tmp_path, [FULL]).get_body(FULL.key)
    assert expected == make_sealed(tmp_path, [FULL]).get_body(FULL.key)


def test_bytes_that_are_not_text_round_trip(tmp_path: Path) -> None:
    """An answer that is not UTF-8 is kept byte for byte as base64."""
    body, media = encode_body(b"\xff\x00\r\n\xfe")
    snapshot = make_snapshot(body=body, media=media)
    assert snapshot == make_sealed(tmp_path, [snapshot]).get(snapshot.key)


def test_unknown_key_is_none(tmp_path: Path) -> None:
    """A key nothing is recorded under is None and counts 0."""
    store = make_store(tmp_path, [FULL])
    assert (None, None, 0) == (
        store.get(make_key("x")),
        store.get_body(make_key("x")),
        store.count(make_key("x")),
    )


def test_put_twice_is_the_same(tmp_path: Path) -> None:
    """Equal content again writes nothing."""
    store = make_store(tmp_path)
    assert [PutOutcome.NEW, PutOutcome.SAME] == [store.put(FULL), store.put(FULL)]


def test_equal_numbers_are_the_same_content(tmp_path: Path) -> None:
    """25 and 25.0 in a request are one JSON value."""
    store = make_store(tmp_path, [make_snapshot(request={"n": 25})])
    assert store.put(make_snapshot(request={"n": 25.0})) is PutOutcome.SAME


@pytest.mark.parametrize(
    "changes",
    [
        {"body": "other"},
        {"request": {"b": 1}},
        {"scope": "other"},
        {"media": "text"},
        {"status": SnapshotStatus.ERROR},
        {"provenance": Provenance.IMPORTED},
        {"origin": Origin.REAL},
        {"aliases": (make_key("z"),)},
        {"meta": {"n": 1}},
    ],
)
def test_other_content_is_a_conflict(tmp_path: Path, changes: dict[str, object]) -> None:
    """Other content in any field changes nothing and says so."""
    store = make_store(tmp_path, [make_snapshot()])
    assert store.put(make_snapshot(**changes)) is PutOutcome.CONFLICT
    assert make_snapshot() == store.get(make_key("a"))
    assert () == store.fsck()


def test_put_many_counts_outcomes(tmp_path: Path) -> None:
    """A batch reports what became of each snapshot."""
    store = make_store(tmp_path)
    batch = [make_snapshot(), make_snapshot(), make_snapshot(body="{}"), FULL]
    assert Counter(new=2, same=1, conflict=1) == store.put_many(batch)


def test_sequences_are_answers_in_order(tmp_path: Path) -> None:
    """Several answers to one key are told apart by number."""
    answers = [make_snapshot(sequence=n, body=f'"{n}"') for n in range(300)]
    store = make_sealed(tmp_path, reversed(answers))
    assert answers == [store.get(make_key("a"), n) for n in range(300)]
    assert (300, None) == (store.count(make_key("a")), store.get(make_key("a"), 300))


def test_append_numbers_answers(tmp_path: Path) -> None:
    """Recording appends; an answer equal to the last one is not recorded again."""
    store = make_store(tmp_path)
    bodies = ["1", "1", "2", "1", "1"]
    assert [0, 0, 1, 2, 2] == [store.append(make_snapshot(body=body)) for body in bodies]
    assert ["1", "2", "1"] == [snapshot.body for snapshot in store.scan()]


def test_append_starts_where_told(tmp_path: Path) -> None:
    """Numbers continue after the frozen answers."""
    store = make_store(tmp_path)
    assert [3, 4] == [store.append(make_snapshot(body=body), start=3) for body in "12"]


def test_alias_leads_to_its_answers(tmp_path: Path) -> None:
    """An alias gives all answers that name it, sorted by key and sequence."""
    alias = make_key("alias")
    answers = [make_snapshot(n % 2, sequence=n // 2, body=f"{n}", aliases=(alias,)) for n in range(4)]
    expected = sorted(answers, key=lambda one: (one.key, one.sequence))
    for store in (make_store(tmp_path, answers), make_sealed(tmp_path, answers)):
        assert expected == [store.get(alias, n) for n in range(store.count(alias))]
        assert [one.body.encode() for one in expected] == [store.get_body(alias, n) for n in range(4)]
        assert store.get(alias, 4) is None


def test_own_answers_come_before_aliases(tmp_path: Path) -> None:
    """A key with answers of its own never falls through to an alias."""
    own = make_snapshot("own")
    other = make_snapshot("other", aliases=(own.key,))
    store = make_store(tmp_path, [other, own])
    assert (own, None, 1) == (store.get(own.key), store.get(own.key, 1), store.count(own.key))


def test_scope_lists_keys_sorted_once(tmp_path: Path) -> None:
    """A scope holds its keys of one kind, sorted, each once however many answers it has."""
    snapshots = [make_snapshot(n, sequence=s, scope=f"s{n % 3}") for n in range(300) for s in range(2)]
    snapshots.append(make_snapshot("v", kind=SnapshotKind.VERDICT, scope="s1"))
    expected = sorted(make_key(n) for n in range(300) if n % 3 == 1)
    for store in (make_store(tmp_path, snapshots), make_sealed(tmp_path, snapshots)):
        assert expected == list(store.scope(SnapshotKind.API, "s1"))
        assert [make_key("v")] == list(store.scope(SnapshotKind.VERDICT, "s1"))
        assert [] == list(store.scope(SnapshotKind.API, "nothing"))
        assert ("s0", "s1", "s2") == store.scopes(SnapshotKind.API)


def test_scan_is_sorted_by_kind_key_sequence(tmp_path: Path) -> None:
    """A scan gives everything in one fixed order, over several steps of reading."""
    snapshots = [
        make_snapshot(n, kind=kind, sequence=s) for n in range(99) for s in range(2) for kind in SnapshotKind
    ]
    expected = sorted(snapshots, key=lambda one: (one.kind, one.key, one.sequence))
    store = make_store(tmp_path, snapshots)
    assert expected == list(store.scan())
    assert [one for one in expected if one.kind == "verdict"] == list(store.scan(SnapshotKind.VERDICT))


def test_long_values_in_every_place(tmp_path: Path) -> None:
    """Long bodies, requests, scopes and many aliases come back, packed or not."""
    long = "\u00e9" * 5000
    snapshot = make_snapshot(
        body=long, scope=long, request={"q": long * 9}, aliases=tuple(make_key(n) for n in range(50))
    )
    assert snapshot == make_store(tmp_path, [snapshot]).get(snapshot.key)
    assert snapshot == make_sealed(tmp_path, [snapshot]).get(make_key(7))


def test_too_long_body_is_refused_by_name(tmp_path: Path) -> None:
    """A body over 16 MiB is refused before anything of its batch is written."""
    store = make_store(tmp_path)
    large = make_snapshot("large", body="x" * (MAX_VALUE_BYTES + 1))
    with pytest.raises(LimitError, match=f"{MAX_VALUE_BYTES + 1} bytes.*{large.key}.*body.*next: shorten"):
        store.put_many([make_snapshot(), large])
    assert [] == list(store.scan())


def test_too_long_request_is_refused_by_name(tmp_path: Path) -> None:
    """A request over 16 MiB is refused too."""
    with pytest.raises(LimitError, match="request and meta"):
        make_store(tmp_path).put(make_snapshot(request="x" * MAX_VALUE_BYTES))


def test_value_at_the_limit_is_kept(tmp_path: Path) -> None:
    """A body of 16 MiB exactly is stored: the map grows for it."""
    store = make_store(tmp_path)
    snapshots = [make_snapshot(n, body=chr(97 + n) * MAX_VALUE_BYTES) for n in range(2)]
    assert Counter(new=2) == store.put_many(snapshots)
    assert snapshots[1] == store.get(make_key(1))


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"body": "\ud800"}, CanonicalError, "lone surrogate at character 0"),
        ({"scope": "a\udfff"}, CanonicalError, "lone surrogate at character 1"),
        ({"request": {"x": float("nan")}}, CanonicalError, r"request at \$\.x"),
        ({"meta": {"x": ["\ud800"]}}, CanonicalError, r"meta at \$\.x"),
        ({"key": "sha256:1"}, InputError, "not a key"),
        ({"aliases": ("x",)}, InputError, "not a key: 'x'"),
        ({"sequence": -1}, InputError, "sequence number -1"),
        ({"media": "html"}, InputError, "unknown media 'html'"),
    ],
)
def test_what_cannot_be_stored_is_refused(
    tmp_path: Path, changes: dict[str, object], error: type[Exception], match: str
) -> None:
    """A snapshot that cannot be hashed or named honestly leaves no trace."""
    store = make_store(tmp_path)
    with pytest.raises(error, match=match):
        store.put_many([make_snapshot("good"), make_snapshot(**changes)])
    assert [] == list(store.scan())


@pytest.mark.parametrize("key", ["", "x", "sha256:" + "A" * 64])
def test_bad_keys_are_not_misses(tmp_path: Path, key: str) -> None:
    """Looking something up that is no key is an error, not a miss."""
    with pytest.raises(InputError, match="not a key"):
        make_store(tmp_path).get(Key(key))


def test_tables_keep_rows_by_id(tmp_path: Path) -> None:
    """Rows come back sorted by id, single or all, from both forms of a store."""
    rows = [(f"{n:04}", f'{{"n":{n}}}'.encode()) for n in range(700)]
    store = make_store(tmp_path)
    store.put_table("tasks", reversed(rows))
    store.put_table("b", [("\u20ac/1", b"")])
    store.seal(tmp_path / "x")
    for one in (store, SnapshotStore.open_sealed(tmp_path / "x")):
        assert rows == list(one.table("tasks"))
        assert (b'{"n":5}', b"", None, None) == (
            one.row("tasks", "0005"),
            one.row("b", "\u20ac/1"),
            one.row("tasks", "5"),
            one.row("none", "5"),
        )
        assert ("b", "tasks") == one.tables()
        assert [] == list(one.table("none"))


def test_rows_may_be_put_again_but_not_changed(tmp_path: Path) -> None:
    """An id holds one content for good; a batch with another is not written at all."""
    store = make_store(tmp_path)
    store.put_table("t", [("a", b"1")])
    store.put_table("t", [("a", b"1")])
    with pytest.raises(InputError, match=r"row 'a' already holds other bytes.*table t"):
        store.put_table("t", [("b", b"2"), ("a", b"2")])
    assert [("a", b"1")] == list(store.table("t"))


@pytest.mark.parametrize("name", ["", "A", "1a", "a b", "a\x00", "a" * 33, "\u00e9"])
def test_bad_table_names(tmp_path: Path, name: str) -> None:
    """A table name has a fixed form."""
    with pytest.raises(InputError, match="bad table name"):
        make_store(tmp_path).put_table(name, [("a", b"")])


@pytest.mark.parametrize("identity", ["", "x" * 441, "\u20ac" * 147])
def test_bad_row_ids(tmp_path: Path, identity: str) -> None:
    """A row id has 1 to 440 bytes; a longer one is simply not there."""
    store = make_store(tmp_path)
    with pytest.raises(InputError, match="bad row id"):
        store.put_table("t", [(identity, b"")])
    assert store.row("t", identity) is None


def test_too_long_row_is_refused(tmp_path: Path) -> None:
    """Table rows have the same cap as bodies."""
    with pytest.raises(LimitError, match="table t, row 'a'"):
        make_store(tmp_path).put_table("t", [("a", bytes(MAX_VALUE_BYTES + 1))])


def test_meta_is_kept_and_merged(tmp_path: Path) -> None:
    """Facts about a store are stored by name, survive sealing, and new values replace old ones."""
    store = SnapshotStore.create(tmp_path / "s", meta={"a": {"x": [1, 2**70]}, "b": 1})
    store.set_meta({"b": 2, "c": "\u20ac"})
    store.seal(tmp_path / "x")
    expected = {"a": {"x": [1, 2**70]}, "b": 2, "c": "\u20ac"}
    assert expected == store.meta == SnapshotStore.open_sealed(tmp_path / "x").meta


def test_reopened_store_holds_everything(tmp_path: Path) -> None:
    """Closing and opening again changes nothing."""
    with make_store(tmp_path, [FULL]) as store:
        store.put_table("t", [("a", b"1")])
    with SnapshotStore.open_writable(tmp_path / "store") as store:
        assert ([FULL], [("a", b"1")], ()) == (list(store.scan()), list(store.table("t")), store.fsck())


def test_closed_store_says_so(tmp_path: Path) -> None:
    """Every use after close is one clear line; closing again is fine."""
    stores = [make_store(tmp_path), make_sealed(tmp_path)]
    for store in stores:
        store.close()
        store.close()
        with pytest.raises(StoreError, match="store is closed"):
            store.get(make_key("a"))
    with pytest.raises(StoreError, match="store is closed"):
        stores[0].put(make_snapshot())


@pytest.mark.parametrize("where", ["store", "file"])
def test_create_takes_no_place_that_is_taken(tmp_path: Path, where: str) -> None:
    """A store or a file that is there is left alone."""
    (tmp_path / "file").write_text("mine")
    make_store(tmp_path, [FULL]).close()
    with pytest.raises(StoreError, match="something is there already"):
        SnapshotStore.create(tmp_path / where)
    assert (tmp_path / "file").read_text() == "mine"
    assert [FULL] == list(SnapshotStore.open_writable(tmp_path / "store").scan())


def test_create_in_a_place_that_cannot_be(tmp_path: Path) -> None:
    """A folder that cannot be made is a store error, and nothing is left behind."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"store cannot be created: .*next: free space or choose"):
        SnapshotStore.create(tmp_path / "file" / "store")
    assert ["file"] == [path.name for path in tmp_path.iterdir()]
