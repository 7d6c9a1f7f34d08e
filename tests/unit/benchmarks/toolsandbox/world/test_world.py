"""The environment's replies: one call, calls at once, texts that are no calls, answers still to be had."""

from __future__ import annotations

import json

import pytest

from replay.benchmarks.toolsandbox.world.snippets import SnippetFault, read_snippet, write_snippet
from replay.benchmarks.toolsandbox.world.world import CONSOLE, Said, SandboxWorld
from replay.core.types import CallRequest, Provenance
from tests.support.sandboxes import make_scenario, reply_to, rows_of, run_calls

ON, MESSAGE = {"on": True}, {"phone_number": "+12453344098", "content": "hello"}
SEND, CELLULAR = "send_message_with_phone_number", "set_cellular_service_status"


def test_success_is_repr_and_trace() -> None:
    """A reply is Python's repr of the result; its trace names defaults too."""
    exchange = run_calls(("add_reminder", {"content": "milk", "reminder_timestamp": 1718366400}))
    reply = exchange.replies[0]
    trace = json.loads(reply["tool_trace"][0])
    assert {"latitude": None, "longitude": None} == {
        k: trace["arguments"][k] for k in ("latitude", "longitude")
    }
    assert repr(trace["result"]) == reply["content"]


def test_failure_is_one_line_without_trace() -> None:
    """A failed call says class and text, and leaves no trace."""
    reply = run_calls((SEND, MESSAGE), cellular=False).replies[0]
    assert "ConnectionError: Cellular service is not enabled" == reply["content"]
    assert (reply["content"], None) == (reply["tool_call_exception"], reply["tool_trace"])


def test_dependent_batch_shows_its_race() -> None:
    """Calls that only work in one order fail, in the first order that fails, with that order's state."""
    world = SandboxWorld(make_scenario(setting={"cellular": False}))
    replies = run_calls((CELLULAR, ON), (SEND, MESSAGE), world=world).replies
    assert ["call_1", "call_0"] == [reply["openai_tool_call_id"] for reply in replies]
    assert [True, False] == [reply["tool_call_exception"] is not None for reply in replies]
    assert (True, []) == (world.tables.read("SETTING")[0]["cellular"], world.tables.read("MESSAGING"))


def test_independent_batch_keeps_its_order() -> None:
    """Calls that work in every order come back as they were made, all on the first reply's index."""
    world = SandboxWorld(make_scenario(setting={"wifi": False, "cellular": False}))
    first = world.tables.last_index + 3
    replies = run_calls(("set_wifi_status", ON), (CELLULAR, ON), world=world).replies
    assert ["call_0", "call_1"] == [reply["openai_tool_call_id"] for reply in replies]
    setting = world.tables.read("SETTING", first)[0]
    assert (True, True) == (setting["wifi"], setting["cellular"])


def test_batch_of_eight_is_quick_and_ordered() -> None:
    """Eight calls on one table are tried in every order that can differ, not in all 40,320."""
    calls = [("add_contact", {"name": f"n{i}", "phone_number": "+12453344098"}) for i in range(8)]
    replies = run_calls(*calls).replies
    assert [f"call_{i}" for i in range(8)] == [reply["openai_tool_call_id"] for reply in replies]


@pytest.mark.slow
def test_batch_with_too_many_orders_is_refused() -> None:
    """A batch that nobody could try in time changes nothing and says why."""
    calls = [("modify_contact", {"person_id": "bob", "name": f"n{i}"}) for i in range(40)]
    world = SandboxWorld(make_scenario())
    before = world.state()
    exchange = run_calls(*calls, world=world)
    assert "a batch of 40 calls has too many orders to try" == exchange.refused
    assert before == world.state()


def test_identifiers_depend_on_the_message_only() -> None:
    """The same call in the same place makes the same identifier, in the form of a random UUID."""
    call = ("add_reminder", {"content": "milk", "reminder_timestamp": 1718366400.0})
    first, again = (run_calls(call).replies[0]["content"] for _ in range(2))
    assert first == again
    assert "4" == first.strip("'")[14]


def test_wanted_answer_changes_nothing() -> None:
    """A call that needs an external API says what it wants; the world waits."""
    world = SandboxWorld(make_scenario())
    before = world.state()
    wanted = run_calls(("search_stock", {"query": "Acme"}), world=world).wanted
    assert wanted is not None
    assert ({"query": "Acme"}, before) == (wanted.arguments, world.state())


def test_batch_asks_one_answer_once() -> None:
    """Two equal questions in one batch are served by one answer, in every order."""
    world = SandboxWorld(make_scenario())
    rows = rows_of(("search_stock", {"query": "Acme"}), ("search_stock", {"query": "Acme"}))
    name = '["real-time-finance-data/search@1",{"query":"Acme"}]'
    answers = {name: '{"data": {"stock": [{"symbol": "AC:NYSE"}]}}'}
    replies = world.exchange(Said(rows=rows, answers=answers)).replies
    assert ["{'symbol': 'AC'}"] * 2 == [reply["content"] for reply in replies]


def test_world_answers_its_console_only() -> None:
    """Other tools are for other sources; its own results come from the world."""
    world = SandboxWorld(make_scenario())
    other = CallRequest(benchmark="toolsandbox", tool="x", arguments={})
    own = CallRequest(
        benchmark="toolsandbox", tool=CONSOLE, arguments={"rows": list(rows_of(("get_wifi_status", {})))}
    )
    result = world.handle(own)
    assert world.handle(other) is None
    assert result is not None
    assert (Provenance.WORLD, "True") == (result.provenance, result.content)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("add_contact", {"name": 1, "phone_number": "+1"}, "Parameter 'name' is of type '<class 'int'>'"),
        ("add_contact", {"name": "a"}, "TypeError: missing a required argument: 'phone_number'"),
        (
            "add_contact",
            {"name": "a", "phone_number": "x"},
            "phonenumbers.phonenumberutil.NumberParseException: (1)",
        ),
        ("get_wifi_status", {"x": 1}, "TypeError: got an unexpected keyword argument 'x'"),
        ("no_such_tool", {}, "NameError: name 'no_such_tool' is not defined"),
        ("add_contact", [1], "must be a mapping, not list"),
        ("shift_timestamp", {"timestamp": float("nan")}, "NameError: name 'nan' is not defined"),
        ("remove_contact", {"person_id": None}, "is of type '<class 'NoneType'>'"),
    ],
)
def test_bad_calls_are_replies(name: str, arguments: object, message: str) -> None:
    """Whatever is called with whatever, the environment answers in one line."""
    assert message in reply_to(name, arguments)


@pytest.mark.parametrize(
    "text",
    [
        write_snippet("call-1", "f", "{}"),
        write_snippet("c", "f", "{'a': open('x')}"),
        write_snippet("c", "f", "[" * 5000),
        "import os",
        "",
    ],
)
def test_text_that_is_no_call_does_not_compile(text: str) -> None:
    """An id with dashes, an expression, a bomb and plain Python are syntax errors; nothing runs."""
    with pytest.raises(SnippetFault, match="SyntaxError"):
        read_snippet(text)


def test_call_text_is_read_back() -> None:
    """What is written is what is read."""
    snippet = read_snippet(write_snippet("c1", "f", repr({"a": [None, True, -1.5, "x\ny"]})))
    assert ("f", {"a": [None, True, -1.5, "x\ny"]}) == (snippet.name, snippet.arguments)
