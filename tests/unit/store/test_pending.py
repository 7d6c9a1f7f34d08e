"""A pending overlay reads through to its base and keeps its own writes apart."""

from __future__ import annotations

from replay.core.types import SnapshotKind
from replay.store.pending import PendingOverlay
from tests.support.answering import MemoryStore, make_alias, make_answer, make_call


def test_the_base_is_read_first() -> None:
    """A frozen answer is never hidden by a pending one."""
    base = make_answer()
    overlay = PendingOverlay(MemoryStore(base))
    assert "conflict" == overlay.put(make_answer(body='"snow"'))
    assert base == overlay.get(base.key)


def test_putting_the_same_again_changes_nothing() -> None:
    """Writing is idempotent over base and overlay."""
    overlay = PendingOverlay(MemoryStore(make_answer()))
    other = make_answer(make_call({"city": "Rome"}))
    assert ["same", "new", "same"] == [overlay.put(s) for s in (make_answer(), other, other)]


def test_the_base_is_never_written() -> None:
    """What is pending stays pending until it is drained."""
    base = MemoryStore()
    PendingOverlay(base).put(make_answer())
    assert {} == base.rows


def test_sequences_go_on_after_the_base() -> None:
    """Base and overlay count as one sequence."""
    overlay = PendingOverlay(MemoryStore(make_answer()))
    overlay.put(make_answer(body="2", sequence=1))
    second = overlay.get(make_answer().key, 1)
    assert second is not None
    assert (2, "2") == (overlay.count(make_answer().key), second.body)


def test_aliases_find_pending_answers() -> None:
    """An alias of a pending answer leads to it and counts it."""
    overlay = PendingOverlay(MemoryStore())
    snapshot = make_answer(aliases=(make_alias("{}"),))
    overlay.put(snapshot)
    assert snapshot == overlay.get(snapshot.aliases[0])
    assert overlay.count(snapshot.aliases[0]) == 1


def test_drain_gives_everything_once_and_sorted() -> None:
    """An episode's snapshots leave in key order, and the next episode starts empty."""
    overlay = PendingOverlay(MemoryStore())
    answers = [make_answer(make_call({"n": number})) for number in range(10)]
    for answer in answers:
        overlay.put(answer)
    assert tuple(sorted(answers, key=lambda s: s.key)) == overlay.drain()
    assert overlay.drain() == ()
    assert overlay.get(answers[0].key) is None


def test_scopes_are_merged() -> None:
    """Base and pending keys of a tool are listed together, sorted, each once."""
    first, second = make_answer(make_call({"n": 1})), make_answer(make_call({"n": 2}))
    overlay = PendingOverlay(MemoryStore(first))
    overlay.put(second)
    assert sorted([first.key, second.key]) == list(overlay.scope(SnapshotKind.API, "weather/now"))
