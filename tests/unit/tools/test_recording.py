"""What live sources and simulators answer is written once and served as it will be found."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from replay.core.types import CallRequest, Json, Provenance, RepeatPolicy, ToolResult
from replay.store.answers import make_api_snapshot, read_result
from replay.store.pending import PendingOverlay
from replay.tools.keys import recipe_for
from replay.tools.misses import MissReporter
from replay.tools.recording import RecordingSource, answer_of
from replay.tools.resolver import Resolver, SnapshotSource
from tests.support.answering import (
    BENCHMARK,
    CountingSource,
    MemoryStore,
    make_answer,
    make_call,
    make_spec,
)

RECIPE = recipe_for(BENCHMARK)


class SquareSource:
    """Answers each call with its own number; safe to ask from many threads."""

    name = "live"

    def __init__(self) -> None:
        self.asked = 0
        self._lock = threading.Lock()

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Answer with the square."""
        with self._lock:
            self.asked += 1
        number = request.arguments["n"] ** 2
        return ToolResult(content=str(number), body=number, provenance=Provenance.RECORDED)


def make_result(content: str, body: Json = None, **changes: Json) -> ToolResult:
    """Build what a source answered."""
    return ToolResult(content=content, body=body, provenance=Provenance.RECORDED, **changes)


def test_a_recorded_answer_is_served_as_it_will_be_found() -> None:
    """Fresh or from the overlay, the result is the same: a run does not depend on who recorded first."""
    overlay = MemoryStore()
    fresh = RecordingSource(CountingSource("live", says="ok"), overlay, RECIPE).answer(
        make_call(), occurrence=0
    )
    later = SnapshotSource(overlay, RECIPE).answer(make_call(), occurrence=0)
    assert fresh is not None
    assert later == fresh


def test_secrets_are_not_written() -> None:
    """The overlay holds masks where the call had values."""
    overlay = MemoryStore()
    call = make_call({"q": 1, "api_key": "planted"})
    RecordingSource(CountingSource("live", says="ok"), overlay, RECIPE).answer(call, occurrence=0)
    assert "planted" not in repr(overlay.rows)


def test_recording_twice_asks_once() -> None:
    """An answer that is there is served, not asked for again."""
    live = CountingSource("live", says="ok")
    source = RecordingSource(live, MemoryStore(), RECIPE)
    assert source.answer(make_call(), occurrence=0) == source.answer(make_call(), occurrence=0)
    assert len(live.asked) == 1


def test_once_tools_record_a_sequence() -> None:
    """A tool whose repeats differ gets a second answer for the second call of an episode."""
    live = CountingSource("live", says="state")
    overlay = MemoryStore()
    source = RecordingSource(live, overlay, RECIPE)
    call = make_call(spec=make_spec(RepeatPolicy.ONCE))
    for occurrence in (0, 1):
        source.answer(call, occurrence=occurrence)
    assert ["state 1", "state 2"] == [overlay.rows[place].body for place in sorted(overlay.rows)]


def test_errors_are_not_written_by_default() -> None:
    """A throttled upstream must not be replayed as an answer."""
    overlay = MemoryStore()
    inner = ErrorSource()
    assert RecordingSource(inner, overlay, RECIPE).answer(make_call(), occurrence=0) == inner.result
    assert {} == overlay.rows


def test_errors_are_kept_when_asked_for() -> None:
    """With keep_errors an error is written and replays as an error."""
    overlay = MemoryStore()
    RecordingSource(ErrorSource(), overlay, RECIPE, keep_errors=True).answer(make_call(), occurrence=0)
    replayed = SnapshotSource(overlay, RECIPE).answer(make_call(), occurrence=0)
    assert replayed is not None
    assert replayed.is_error


class ErrorSource:
    """Answers every call with an error."""

    name = "live"
    result = make_result("429 Too Many Requests", is_error=True)

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Fail politely."""
        return self.result


def test_a_pass_is_passed_on() -> None:
    """What the inner source cannot answer is not recorded."""
    overlay = MemoryStore()
    source = RecordingSource(CountingSource("live"), overlay, RECIPE)
    assert source.answer(make_call(), occurrence=0) is None
    assert {} == overlay.rows


def test_32_threads_lose_nothing() -> None:
    """1,000 distinct calls from 32 threads are 1,000 snapshots, the same as recorded one by one."""
    calls = [make_call({"n": number}) for number in range(1000)]
    together, alone = PendingOverlay(MemoryStore()), PendingOverlay(MemoryStore())
    with ThreadPoolExecutor(32) as pool:
        source = RecordingSource(SquareSource(), together, RECIPE)
        list(pool.map(lambda call: source.answer(call, occurrence=0), calls))
    serial = RecordingSource(SquareSource(), alone, RECIPE)
    for call in calls:
        serial.answer(call, occurrence=0)
    recorded = together.drain()
    assert len(recorded) == 1000
    assert recorded == alone.drain()


def test_equal_calls_in_flight_ask_once() -> None:
    """32 threads with one call reach upstream once and get one answer."""
    inner = SquareSource()
    source = RecordingSource(inner, PendingOverlay(MemoryStore()), RECIPE)
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: source.answer(make_call({"n": 7}), occurrence=0), range(200)))
    assert (1, 1) == (inner.asked, len({answer.key for answer in answers if answer}))


@pytest.mark.parametrize(
    "result",
    [
        make_result("plain text"),
        make_result("plain text", "plain text"),
        make_result('"quoted"', "quoted"),
        make_result('{"b": 1, "a": 2.0}', {"b": 1, "a": 2.0}),
        make_result("", ""),
        make_result("12", 12),
        make_result("NaN"),
    ],
)
def test_what_was_said_is_what_is_read(result: ToolResult) -> None:
    """Writing an answer down and reading it back keeps the candidate's view of it."""
    snapshot = make_api_snapshot(make_call(), answer_of(result))
    assert read_result(snapshot, lookup="canonical").content == result.content


def test_a_body_that_its_text_does_not_say_is_kept_as_body() -> None:
    """When an observation rule has cut the text, the whole answer is what is recorded."""
    answer = answer_of(make_result("{'a': 1", {"a": 1}))
    assert ("json", '{"a":1}') == (answer.media, answer.body)


def test_a_record_session_finds_what_is_frozen_first() -> None:
    """Frozen answers are served; only misses are asked for and recorded."""
    overlay = PendingOverlay(MemoryStore(make_answer()))
    live = CountingSource("live", says="new")
    chain = (SnapshotSource(overlay, RECIPE), RecordingSource(live, overlay, RECIPE))
    tools = Resolver(chain, RECIPE, MissReporter(overlay)).for_episode("t1")
    assert "rain" == tools.answer(make_call(), step=0).body
    assert "new 1" == tools.answer(make_call({"city": "Rome"}), step=1).body
    assert len(overlay.drain()) == 1
