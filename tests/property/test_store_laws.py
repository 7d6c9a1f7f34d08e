"""Laws of the store: it acts like a dict, sealed or not, in one layer or several."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from replay.core.types import Origin, Provenance, Snapshot, SnapshotKind, SnapshotStatus
from replay.store.layers import LayeredStore
from replay.store.preparing import prepare
from replay.store.records import decode_body, decode_object, encode_body, encode_object, train_dictionary
from replay.store.snapshots import PutOutcome, SnapshotStore
from tests.support.snapshots import make_key, make_snapshot

# Many stores, archives or processes: together they take longer than the fast tests may.
pytestmark = pytest.mark.slow

NAMES = "abcde"
ALIASES = "xyz"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["", "\ufeff\r\n\x00", "long " * 300, '{"error": "", "response": ""}']
)
# Beyond 2^53 a double has the canonical digits of an integer and comes back as that (core.canonical).
NUMBERS = st.integers() | st.floats(-(2.0**53), 2.0**53)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
SNAPSHOTS = st.builds(
    make_snapshot,
    st.sampled_from(NAMES),
    kind=st.just(SnapshotKind.API),
    scope=st.sampled_from(["s", "t", ""]),
    request=JSON,
    body=TEXT,
    media=st.sampled_from(["json", "text"]),
    status=st.sampled_from(SnapshotStatus),
    provenance=st.sampled_from(Provenance),
    origin=st.sampled_from([None, *Origin]),
    aliases=st.lists(st.sampled_from(ALIASES).map(make_key), max_size=2, unique=True).map(tuple),
    meta=JSON,
)


def place(snapshot: Snapshot) -> tuple[str, int]:
    """Where a snapshot belongs."""
    return snapshot.key, snapshot.sequence


class StoreMachine(RuleBasedStateMachine):
    """A store beside a dict of (key, sequence) -> snapshot; reopening and sealing change nothing."""

    @initialize()
    def create(self) -> None:
        """Start with an empty store."""
        self.folder = Path(tempfile.mkdtemp())
        self.store = SnapshotStore.create(self.folder / "store")
        self.model: dict[tuple[str, int], Snapshot] = {}
        self.sealed = 0

    @rule(snapshot=SNAPSHOTS, sequence=st.integers(0, 2))
    def put(self, snapshot: Snapshot, sequence: int) -> None:
        """A put tells new, same and conflict apart as the dict does."""
        one = msgspec.structs.replace(snapshot, sequence=sequence)
        held = self.model.setdefault(place(one), one)
        fresh = held is one
        same = prepare(held) == prepare(one)
        expected = PutOutcome.NEW if fresh else PutOutcome.SAME if same else PutOutcome.CONFLICT
        assert expected is self.store.put(one)

    @rule(snapshot=SNAPSHOTS)
    def append(self, snapshot: Snapshot) -> None:
        """Appending takes the next number unless the last answer is equal."""
        known = sorted(sequence for key, sequence in self.model if key == snapshot.key)
        expected = known[-1] + 1 if known else 0
        if known:
            last = self.model[snapshot.key, known[-1]]
            if prepare(last)._replace(sequence=0) == prepare(snapshot)._replace(sequence=0):
                expected = known[-1]
        number = self.store.append(snapshot)
        assert expected == number
        self.model.setdefault((snapshot.key, number), msgspec.structs.replace(snapshot, sequence=number))

    @rule()
    def reopen(self) -> None:
        """Close and open again."""
        self.store.close()
        self.store = SnapshotStore.open_writable(self.folder / "store")

    @rule()
    def seal(self) -> None:
        """A sealed copy answers like the dict, too."""
        self.sealed += 1
        self.store.seal(self.folder / f"sealed {self.sealed}")
        with SnapshotStore.open_sealed(self.folder / f"sealed {self.sealed}") as store:
            self.check(store)

    @invariant()
    def acts_like_a_dict(self) -> None:
        """Every way of reading agrees with the dict."""
        if hasattr(self, "store"):
            self.check(self.store)

    def check(self, store: SnapshotStore) -> None:
        """Compare all reads of a store with the model."""
        assert [self.model[one] for one in sorted(self.model)] == list(store.scan())
        for name in NAMES:
            key = make_key(name)
            assert sum(one[0] == key for one in self.model) == store.count(key)
            for sequence in range(4):
                expected = self.model.get((key, sequence))
                assert expected == store.get(key, sequence)
                assert (None if expected is None else expected.body.encode()) == store.get_body(key, sequence)
        for alias in map(make_key, ALIASES):
            led = [self.model[one] for one in sorted(self.model) if alias in self.model[one].aliases]
            assert led == [store.get(alias, number) for number in range(store.count(alias))]
        for scope in ("s", "t", ""):
            expected_keys = sorted({one.key for one in self.model.values() if one.scope == scope})
            assert expected_keys == list(store.scope(SnapshotKind.API, scope))
        assert () == store.fsck()

    def teardown(self) -> None:
        """Remove the folder."""
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)


StoreMachine.TestCase.settings = settings(max_examples=12, stateful_step_count=15)
TestStore = StoreMachine.TestCase


@given(st.binary(max_size=2000), st.booleans())
def test_decode_of_encode_is_the_same(plain: bytes, trained: bool) -> None:
    """decode(encode(x)) = x, with a dictionary and without."""
    dictionary = train_dictionary([plain or b"x"]) if trained else None
    known = {} if dictionary is None else {dictionary.id: dictionary}
    assert plain == decode_object(encode_object(plain, dictionary=dictionary), known)


@given(st.binary(max_size=200))
def test_bodies_are_byte_exact(raw: bytes) -> None:
    """Any bytes at all survive the trip through a snapshot body."""
    assert raw == decode_body(*encode_body(raw))


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 2), TEXT), max_size=12), st.integers(0, 3))
def test_layers_read_like_one_store(rows: list[tuple[str, int, str]], layers: int) -> None:
    """Rows spread over layers read like the same rows in one store, first come first kept."""
    snapshots = [
        make_snapshot(name, sequence=n, body=body, aliases=(make_key("x"),)) for name, n, body in rows
    ]
    parts = [snapshots[at :: layers + 1] for at in range(layers + 1)]
    folder = Path(tempfile.mkdtemp())
    stores = [SnapshotStore.create(folder / f"{n}") for n in range(len(parts))]
    one = SnapshotStore.create(folder / "one")
    try:
        for store, part in zip(stores, parts, strict=True):
            store.put_many(part)
            one.put_many(part)
        layered = LayeredStore(stores[:-1], stores[-1])
        assert list(one.scan()) == list(layered.scan())
        for key in map(make_key, [*NAMES, "x"]):
            assert one.count(key) == layered.count(key)
            assert [one.get(key, n) for n in range(4)] == [layered.get(key, n) for n in range(4)]
            assert [one.get_body(key, n) for n in range(4)] == [layered.get_body(key, n) for n in range(4)]
    finally:
        for store in (*stores, one):
            store.close()
        shutil.rmtree(folder)
