"""The first source that answers wins; order, repeats, state and misses."""

from __future__ import annotations

import pytest

from replay.core.errors import DamagedError, MissError, RecordMissError, UpstreamError
from replay.core.protocols import ToolSource
from replay.core.types import (
    CallRequest,
    Json,
    Key,
    Mode,
    Origin,
    Provenance,
    RepeatPolicy,
    Snapshot,
    SnapshotStatus,
    ToolResult,
)
from replay.store.answers import ApiAnswer, make_alias_snapshot
from replay.tools.keys import recipe_for
from replay.tools.misses import MissReporter
from replay.tools.resolver import EpisodeResolver, Resolver, SnapshotSource
from tests.support.answering import (
    BENCHMARK,
    CountingSource,
    MemoryStore,
    make_alias,
    make_answer,
    make_call,
    make_spec,
)

RECIPE = recipe_for(BENCHMARK)


class EchoWorld:
    """A world that owns the tool `echo`."""

    def __init__(self) -> None:
        self.calls = 0

    def handle(self, request: CallRequest) -> ToolResult | None:
        """Answer echo calls with how many there have been."""
        if request.tool != "echo":
            return None
        self.calls += 1
        return ToolResult(content=str(self.calls), provenance=Provenance.WORLD)

    def state(self) -> Json:
        """Count of the calls so far."""
        return self.calls


class BrokenStore(MemoryStore):
    """A store whose every record is damaged."""

    def get(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """Fail as a real store does when a digest does not agree."""
        raise DamagedError("object does not have its digest", where=f"key {key}")


def make_tools(
    *sources: ToolSource,
    store: MemoryStore | None = None,
    world: EchoWorld | None = None,
    error: type[MissError] = MissError,
) -> EpisodeResolver:
    """Build the tools of one episode: the store's snapshots, then the given sources."""
    held = store if store is not None else MemoryStore()
    reporter = MissReporter(held, error=error)
    chain = (SnapshotSource(held, RECIPE), *sources)
    return Resolver(chain, RECIPE, reporter).for_episode("t1", world=world)


def test_a_recorded_answer_is_stamped_with_its_origin() -> None:
    """A hit says which lookup found it, under which key, and where the answer came from."""
    snapshot = make_answer(body='{"t": 3}', provenance=Provenance.IMPORTED, origin=Origin.REAL)
    expected = ToolResult(
        content='{"t": 3}',
        body={"t": 3},
        provenance=Provenance.IMPORTED,
        origin=Origin.REAL,
        lookup="canonical",
        key=snapshot.key,
    )
    assert expected == make_tools(store=MemoryStore(snapshot)).answer(make_call(), step=0)


def test_argument_order_does_not_matter() -> None:
    """Two spellings of one JSON value are one call."""
    store = MemoryStore(make_answer(make_call({"a": 5, "b": [{"x": 1, "y": 2}]})))
    asked = make_call({"b": [{"y": 2, "x": 1}], "a": 5.0})
    assert make_tools(store=store).answer(asked, step=0).body == "rain"


def test_planted_secrets_still_hit() -> None:
    """What was recorded with one account's key is found with another's."""
    store = MemoryStore(make_answer(RECIPE.apply(make_call({"q": 1, "api_key": "planted-1"}))))
    asked = make_call({"q": 1, "api_key": "planted-2"})
    assert make_tools(store=store).answer(asked, step=0).body == "rain"


def test_live_sources_get_values_not_masks() -> None:
    """A mask is never sent as an argument value."""
    live = CountingSource("live", says="ok")
    make_tools(live).answer(make_call({"api_key": "mine"}), step=0)
    assert live.asked[0].arguments == {"api_key": "mine"}


def test_aliases_first_come_before_the_canonical_key() -> None:
    """Under compat rules the upstream cache's own key wins over ours."""
    alias = make_alias("{'city': 'Oslo'}")
    other = make_alias_snapshot(BENCHMARK, (alias,), ApiAnswer(body='"snow"'))
    tools = make_tools(store=MemoryStore(make_answer(), other))
    assert tools.answer(make_call(aliases_first=(alias,)), step=0).body == "snow"


def test_other_aliases_come_after_the_canonical_key() -> None:
    """Under strict rules our key wins and the alias is only a second way."""
    alias = make_alias("{'city': 'Oslo'}")
    other = make_alias_snapshot(BENCHMARK, (alias,), ApiAnswer(body='"snow"'))
    tools = make_tools(store=MemoryStore(make_answer(), other))
    assert tools.answer(make_call(aliases=(alias,)), step=0).body == "rain"


def test_an_alias_hit_names_its_lookup() -> None:
    """Reports count alias hits apart, so the result carries the alias label."""
    alias = make_alias('{"city":"Oslo"}', "compact-json")
    store = MemoryStore(make_alias_snapshot(BENCHMARK, (alias,), ApiAnswer(body="1")))
    assert make_tools(store=store).answer(make_call(aliases=(alias,)), step=0).lookup == "compact-json"


def test_an_alias_leads_to_the_snapshot_that_has_it() -> None:
    """An alias stored with a snapshot finds it although the canonical key is another one."""
    alias = make_alias("{'n': 5}")
    store = MemoryStore(make_answer(make_call({"n": 5}), aliases=(alias,)))
    found = make_tools(store=store).answer(make_call({"n": "5"}, aliases=(alias,)), step=0)
    assert found.lookup == "python-repr"


def test_sticky_last_repeats_the_last_answer() -> None:
    """Recorded twice, asked three times: first, second, second."""
    store = MemoryStore(make_answer(body="1"), make_answer(body="2", sequence=1))
    tools = make_tools(store=store)
    assert [1, 2, 2] == [tools.answer(make_call(), step=step).body for step in range(3)]


def test_once_ends_with_a_typed_miss_that_names_the_uses() -> None:
    """Recorded twice, asked three times: the third is a miss, never another source's guess of the second."""
    store = MemoryStore(make_answer(body="1"), make_answer(body="2", sequence=1))
    tools = make_tools(store=store)
    call = make_call(spec=make_spec(RepeatPolicy.ONCE))
    assert [1, 2] == [tools.answer(call, step=step).body for step in (3, 9)]
    with pytest.raises(MissError, match="recorded 2 times, both used at steps 3 and 9"):
        tools.answer(call, step=12)


def test_an_exhausted_sequence_does_not_try_its_aliases() -> None:
    """After the last recorded answer an alias must not lead back to a used one."""
    alias = make_alias("{'city': 'Oslo'}")
    store = MemoryStore(make_answer(aliases=(alias,)))
    tools = make_tools(store=store)
    call = make_call(spec=make_spec(RepeatPolicy.ONCE), aliases=(alias,))
    tools.answer(call, step=0)
    with pytest.raises(MissError, match="recorded once, used at step 0"):
        tools.answer(call, step=1)


def test_episodes_do_not_share_cursors() -> None:
    """Each episode starts at the first recorded answer."""
    store = MemoryStore(make_answer(body="1"), make_answer(body="2", sequence=1))
    resolver = Resolver((SnapshotSource(store, RECIPE),), RECIPE, MissReporter(store))
    assert [1, 1] == [resolver.for_episode(task).answer(make_call(), step=0).body for task in ("a", "b")]


def test_a_world_answers_before_snapshots() -> None:
    """A tool of the world never reaches the store."""
    store = MemoryStore(make_answer(make_call(tool="echo")))
    tools = make_tools(store=store, world=EchoWorld())
    assert tools.answer(make_call(tool="echo"), step=0).lookup == "world"


def test_damage_is_an_error_not_a_miss() -> None:
    """A corrupt record ends the lookup; the next source is not asked."""
    simulator = CountingSource("simulator", says="made up")
    with pytest.raises(DamagedError, match="does not have its digest"):
        make_tools(simulator, store=BrokenStore()).answer(make_call(), step=0)
    assert [] == simulator.asked


def test_a_damaged_body_is_an_error_not_a_miss() -> None:
    """A body that is not what its media says is damage as well."""
    good = make_answer()
    bad = Snapshot(kind=good.kind, key=good.key, request=good.request, body='{"cut', media="json")
    with pytest.raises(DamagedError, match="body is not JSON"):
        make_tools(store=MemoryStore(bad)).answer(make_call(), step=0)


def test_presence_counts_not_truthiness() -> None:
    """An empty recorded answer is an answer."""
    store = MemoryStore(make_answer(body="", media="text", status=SnapshotStatus.EMPTY))
    simulator = CountingSource("simulator", says="made up")
    assert make_tools(simulator, store=store).answer(make_call(), step=0).content == ""


def test_state_joins_the_key_of_tools_that_depend_on_it() -> None:
    """GET, POST, GET: the second GET is another call."""
    get = make_call({"id": 1}, tool="get", spec=make_spec(depends_on_state=True))
    post = make_call({"id": 1}, tool="post", spec=make_spec(mutates=True))
    live = CountingSource("live", says="state")
    tools = make_tools(live)
    for step, call in enumerate((get, post, get)):
        tools.answer(call, step=step)
    first, _, second = live.asked
    assert ("", True) == (first.state, second.state.startswith("sha256:"))


def test_reads_do_not_change_the_state() -> None:
    """Extra read-only calls leave the state as it was."""
    get = make_call({"id": 1}, tool="get", spec=make_spec(depends_on_state=True))
    live = CountingSource("live", says="state")
    tools = make_tools(live)
    for step in range(3):
        tools.answer(get, step=step)
    assert ["", "", ""] == [request.state for request in live.asked]


# ---- the truth table of DESIGN section 4 ---------------------------------------------------------------


def build_chain(
    mode: Mode, live: CountingSource, simulator: CountingSource
) -> tuple[tuple[ToolSource, ...], type[MissError]]:
    """Choose the objects of a mode, as wiring does."""
    if mode is Mode.STRICT:
        return (), MissError
    if mode is Mode.REPLAY:
        return (simulator,), MissError
    return (live, simulator), RecordMissError


UP, DOWN, SIMULATES, PASSES = "up", "down", "simulates", "passes"


@pytest.mark.parametrize(
    ("mode", "recorded", "upstream", "simulation", "answered_by", "asked"),
    [
        (Mode.STRICT, True, UP, SIMULATES, "canonical", []),
        (Mode.STRICT, False, UP, SIMULATES, "miss", []),
        (Mode.REPLAY, True, UP, SIMULATES, "canonical", []),
        (Mode.REPLAY, False, UP, SIMULATES, "simulator", ["simulator"]),
        (Mode.REPLAY, False, UP, PASSES, "miss", ["simulator"]),
        (Mode.RECORD, True, UP, SIMULATES, "canonical", []),
        (Mode.RECORD, False, UP, SIMULATES, "live", ["live"]),
        (Mode.RECORD, False, DOWN, SIMULATES, "simulator", ["live", "simulator"]),
        (Mode.RECORD, False, DOWN, PASSES, "record miss", ["live", "simulator"]),
    ],
)
def test_truth_table(
    mode: Mode, recorded: bool, upstream: str, simulation: str, answered_by: str, asked: list[str]
) -> None:
    """Who is asked, in which order, and who answers, in each mode."""
    fails = UpstreamError("503 from upstream") if upstream == DOWN else None
    live = CountingSource("live", says="live", fails=fails)
    simulator = CountingSource("simulator", says="made up" if simulation == SIMULATES else None)
    chain, error = build_chain(mode, live, simulator)
    store = MemoryStore(make_answer()) if recorded else MemoryStore()
    tools = make_tools(*chain, store=store, error=error)
    outcome = outcome_of(tools)
    assert (answered_by, asked) == (outcome, [s.name for s in (live, simulator) if s.asked])


def outcome_of(tools: EpisodeResolver) -> str:
    """Return the lookup that answered, or the kind of miss."""
    try:
        return tools.answer(make_call(), step=0).lookup
    except RecordMissError:
        return "record miss"
    except MissError:
        return "miss"


def test_a_record_miss_says_what_upstream_said() -> None:
    """When live fails and nothing else answers, the reason is in the report."""
    live = CountingSource("live", fails=UpstreamError("429 Too Many Requests"))
    with pytest.raises(RecordMissError, match="429 Too Many Requests"):
        make_tools(live, error=RecordMissError).answer(make_call(), step=0)


@pytest.mark.parametrize("arguments", [{"x": 9007199254740993}, {"x": 18446744073709551616}])
def test_large_integers_are_exact(arguments: Json) -> None:
    """Integers beyond 2^53 are not rounded onto their neighbours."""
    store = MemoryStore(make_answer(make_call({"x": 9007199254740992})))
    with pytest.raises(MissError, match="no snapshot for call"):
        make_tools(store=store).answer(make_call(arguments), step=0)
