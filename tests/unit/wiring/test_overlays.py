"""The overlay that a run writes, and overlays that are read again."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from replay.store.snapshots import SnapshotStore
from replay.wiring.library import JudgeRow
from replay.wiring.overlays import OVERLAY, digest_overlay, open_sink
from tests.support.archives import make_snapshot


def test_nothing_recorded_makes_no_overlay(tmp_path: Path) -> None:
    """A run that recorded nothing has no overlay folder, whatever it could say about its makers."""
    with open_sink(tmp_path) as sink:
        sink.describe({"judges": [JudgeRow(name="me", identity="me")]})
    assert [] == list(tmp_path.iterdir())


def test_outcomes_are_counted(tmp_path: Path) -> None:
    """New, same and conflicting snapshots are told apart; the first answer is kept."""
    first = make_snapshot(1)
    with open_sink(tmp_path) as sink:
        sink.write((first, make_snapshot(2)))
        sink.write((first,))
        sink.write((replace(first, body="other"),))
        assert {"new": 2, "same": 1, "conflict": 1} == dict(sink.outcomes)
    with SnapshotStore.open_reader(tmp_path / OVERLAY) as store:
        held = store.get(first.key)
        assert held is not None
        assert first.body == held.body


def test_a_resumed_run_writes_on(tmp_path: Path) -> None:
    """A second sink of the same run finds what the first one wrote."""
    with open_sink(tmp_path) as sink:
        sink.write((make_snapshot(1),))
    with open_sink(tmp_path) as sink:
        sink.write((make_snapshot(1), make_snapshot(2)))
        assert {"same": 1, "new": 1} == dict(sink.outcomes)


def test_makers_are_rows_of_the_overlay(tmp_path: Path) -> None:
    """Who answered is written beside the answers, under its name; saying it twice changes nothing."""
    row = JudgeRow(name="me", identity={"name": "me"})
    with open_sink(tmp_path) as sink:
        sink.write((make_snapshot(1),))
        sink.describe({"judges": [row]})
        sink.describe({"judges": [row]})
    with SnapshotStore.open_reader(tmp_path / OVERLAY) as store:
        assert ["me"] == [name for name, _ in store.table("judges")]


def test_the_digest_knows_content_only(tmp_path: Path) -> None:
    """Order and place of writing leave no trace in an overlay's digest; another answer does."""
    digests = []
    for name, numbers in (("a", (1, 2, 3)), ("b", (3, 1, 2)), ("c", (1, 2, 4))):
        with open_sink(tmp_path / name) as sink:
            for number in numbers:
                sink.write((make_snapshot(number),))
        digests.append(digest_overlay(tmp_path / name / OVERLAY))
    assert digests[0] == digests[1] != digests[2]
