"""Recording into a real store and answering from it, frozen and layered."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from replay.core.types import CallRequest, Provenance, RepeatPolicy, ToolResult
from replay.store.answers import ApiAnswer, make_alias_snapshot
from replay.store.layers import LayeredStore
from replay.store.pending import PendingOverlay
from replay.store.snapshots import SnapshotStore
from replay.tools.keys import recipe_for
from replay.tools.recording import RecordingSource
from replay.tools.resolver import SnapshotSource
from tests.support.answering import BENCHMARK, CountingSource, make_alias, make_answer, make_call, make_spec

RECIPE = recipe_for(BENCHMARK)


def test_what_a_session_records_another_replays(tmp_path: Path) -> None:
    """Recorded into an overlay over nothing, sealed, opened again: the same result."""
    with SnapshotStore.create(tmp_path / "overlay") as overlay:
        layered = LayeredStore((), overlay)
        source = RecordingSource(CountingSource("live", says="ok"), layered, RECIPE)
        fresh = source.answer(make_call(), occurrence=0)
        overlay.seal(tmp_path / "sealed")
    with SnapshotStore.open_sealed(tmp_path / "sealed") as sealed:
        assert fresh == SnapshotSource(LayeredStore((sealed,)), RECIPE).answer(make_call(), occurrence=0)


def test_threads_record_into_a_real_store_what_one_records(tmp_path: Path) -> None:
    """32 threads and 100 calls leave the snapshots that one thread leaves."""
    recorded = []
    for threads in (32, 1):
        with SnapshotStore.create(tmp_path / str(threads)) as overlay:
            source = RecordingSource(NumberSource(), LayeredStore((), overlay), RECIPE)
            calls = [make_call({"n": number % 100}) for number in range(200)]
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(partial(source.answer, occurrence=0), calls))
            recorded.append([msgspec.json.encode(snapshot) for snapshot in overlay.scan()])
    assert recorded[0] == recorded[1]
    assert len(recorded[0]) == 100


class NumberSource:
    """Answers each call with its own number, whoever asks."""

    name = "live"

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Answer alike for every thread."""
        number = request.arguments["n"]
        return ToolResult(content=str(number), body=number, provenance=Provenance.RECORDED)


def test_a_sequence_goes_on_from_frozen_into_pending(tmp_path: Path) -> None:
    """First the frozen answer, then the recorded one, then a pass: never the network behind our back."""
    with SnapshotStore.create(tmp_path / "base") as base:
        base.put(make_answer())
        overlay = PendingOverlay(LayeredStore((base,)))
        overlay.put(make_answer(body='"snow"', sequence=1))
        source = SnapshotSource(overlay, RECIPE)
        call = make_call(spec=make_spec(RepeatPolicy.ONCE))
        answers = [source.answer(call, occurrence=number) for number in range(3)]
    assert ["rain", "snow", None] == [answer and answer.body for answer in answers]


def test_an_alias_finds_its_answer_in_a_real_store(tmp_path: Path) -> None:
    """The upstream key text leads to the frozen answer, labelled as such."""
    alias = make_alias("{'city': 'Oslo'}")
    with SnapshotStore.create(tmp_path / "base") as base:
        base.put(make_answer(make_call({"city": "Oslo "}), aliases=(alias,)))
        base.put(make_alias_snapshot(BENCHMARK, (make_alias("other"),), ApiAnswer(body="1")))
        found = SnapshotSource(base, RECIPE).answer(make_call(aliases=(alias,)), occurrence=5)
    assert found is not None
    assert ("python-repr", "rain") == (found.lookup, found.body)
