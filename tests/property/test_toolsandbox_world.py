"""Laws of the world: batches are what all orders say, histories never change, texts are read back."""

from __future__ import annotations

import contextlib
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.benchmarks.toolsandbox.records import make_context
from replay.benchmarks.toolsandbox.tools.catalogue import TOOLS
from replay.benchmarks.toolsandbox.world.batches import run_batch
from replay.benchmarks.toolsandbox.world.console import Console, Reply
from replay.benchmarks.toolsandbox.world.schema import SANDBOX, TABLES
from replay.benchmarks.toolsandbox.world.snippets import SnippetFault, read_snippet, write_snippet
from replay.benchmarks.toolsandbox.world.tables import Row, Tables
from replay.benchmarks.toolsandbox.world.world import SandboxWorld
from replay.core.determinism import FrozenClock
from replay.core.types import Json
from tests.support.sandboxes import NOW, Call, make_scenario, rows_of, run_calls

NUMBER = "+12453344098"
ON_OFF = st.booleans().map(lambda on: {"on": on})
SERVICES = ("set_wifi_status", "set_cellular_service_status", "set_low_battery_mode_status")

CALLS = st.one_of(
    st.tuples(st.sampled_from(SERVICES), ON_OFF),
    st.tuples(st.just("send_message_with_phone_number"), st.just({"phone_number": NUMBER, "content": "x"})),
    st.tuples(
        st.just("remove_contact"), st.sampled_from(["me", "bob", "zed"]).map(lambda i: {"person_id": i})
    ),
    st.tuples(
        st.just("modify_contact"),
        st.booleans().map(lambda on: {"person_id": "bob", "name": "B", "is_self": on}),
    ),
    st.tuples(
        st.just("add_contact"),
        st.booleans().map(lambda on: {"name": "N", "phone_number": NUMBER, "is_self": on}),
    ),
    st.tuples(st.just("get_wifi_status"), st.just({})),
    st.tuples(st.just("remove_reminder"), st.just({"reminder_id": "r1"})),
    st.tuples(st.just("end_conversation"), st.just({})),
)
SETTINGS = st.fixed_dictionaries({name: st.booleans() for name in ("wifi", "cellular", "low_battery_mode")})

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def start(calls: list[Call], settings: dict[str, Json]) -> tuple[Tables, list[Row]]:
    """Tables with the calls already said, and the messages that make them."""
    tables = SandboxWorld(make_scenario(setting=settings)).tables.copy()
    before = tables.last_index
    tables.add(SANDBOX, rows_of(*calls))
    return tables, [row for row in tables.messages() if row["sandbox_message_index"] > before]


def run_all_orders(tables: Tables, messages: list[Row], console: Console) -> list[tuple[Row, Reply]]:
    """Upstream's rule, word for word: the first order with a failure, else the first order."""
    first = None
    for order in itertools.permutations(messages):
        copy = tables.copy()
        replies = [(message, console.run(copy, message)) for message in order]
        if any(reply.exception is not None for _, reply in replies):
            return replies
        first = first or replies
    return first or []


@pytest.mark.slow
@given(st.lists(CALLS, min_size=1, max_size=4), SETTINGS)
def test_batch_is_what_all_orders_say(calls: list[Call], settings: dict[str, Json]) -> None:
    """Leaving out orders that cannot differ changes neither replies nor their order."""
    tables, messages = start(calls, settings)
    console = Console("law", FrozenClock(NOW), {})
    assert run_all_orders(tables, messages, console) == run_batch(tables, messages, console.run).replies


@given(st.lists(CALLS, min_size=1, max_size=5), SETTINGS)
def test_the_past_never_changes(calls: list[Call], settings: dict[str, Json]) -> None:
    """What was read at an index is read there for ever, but for the last message while it is handled."""
    world = SandboxWorld(make_scenario(setting=settings))
    for call in calls:
        at = world.tables.last_index
        before = {name: world.tables.read(name, at) for name in TABLES if name != SANDBOX}
        run_calls(call, world=world)
        assert before == {name: world.tables.read(name, at) for name in before}


@given(st.lists(CALLS, max_size=4), SETTINGS)
def test_contexts_are_read_back(calls: list[Call], settings: dict[str, Json]) -> None:
    """A state written as JSON and read again is the same state."""
    world = SandboxWorld(make_scenario(setting=settings))
    for call in calls:
        run_calls(call, world=world)
    context = json.loads(json.dumps(world.state()))
    tables = Tables.from_json(context["_dbs"])
    assert world.state() == make_context(tables, make_scenario(setting=settings))


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_calls_are_read_back(arguments: dict[str, Json]) -> None:
    """Arguments of every kind survive the trip through the call's text."""
    assert arguments == read_snippet(write_snippet("c1", "f", repr(arguments))).arguments


@given(st.text(max_size=60))
def test_any_text_is_a_call_or_a_fault(text: str) -> None:
    """Nothing else comes of a text, and nothing is run."""
    with contextlib.suppress(SnippetFault):
        assert isinstance(read_snippet(text).name, str)


@given(st.sampled_from(sorted(TOOLS)), JSON)
def test_every_tool_answers_anything(name: str, arguments: Json) -> None:
    """Whatever a tool is called with, there is one reply, or one question to an external API."""
    exchange = run_calls((name, arguments))
    assert exchange.wanted is not None or 1 == len(exchange.replies)


@given(st.sampled_from(sorted(TOOLS)), st.data())
def test_every_tool_answers_odd_values(name: str, data: st.DataObject) -> None:
    """The same holds for its own parameters with odd values."""
    parameters = TOOLS[name].parameters
    arguments = {parameter.name: data.draw(JSON) for parameter in parameters}
    exchange = run_calls((name, arguments))
    assert exchange.wanted is not None or 1 == len(exchange.replies)
