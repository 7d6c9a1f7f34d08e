"""One call: name resolution, lookup request with aliases, observation, and every refusal by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay.benchmarks.stabletoolbench.functions import FunctionEntry, build_functions
from replay.benchmarks.stabletoolbench.playing.calling import (
    CallingRules,
    call_function,
    make_request,
    resolve_function,
)
from replay.benchmarks.stabletoolbench.playing.statuses import UpstreamFailureError
from replay.core.types import Json, Provenance, ToolCall, ToolResult
from tests.unit.benchmarks.stabletoolbench.entries import make_raw_spec
from tests.unit.benchmarks.stabletoolbench.player import Played, drive, make_entries

_COMPAT = CallingRules()
_STRICT = CallingRules(strict=True)


def _call(
    name: str, arguments: str = "{}", *, rules: CallingRules = _COMPAT, answer: Json = None, **fields: Any
) -> Played:
    entries = fields.get("entries") or make_entries("Current", rules="strict" if rules.strict else "compat")
    answers = () if answer is None else (answer,)
    return drive(call_function(ToolCall(id="c", name=name, arguments=arguments), entries, rules), (), answers)


def _name_of(entry: FunctionEntry | None) -> str | None:
    return entry.shown.name if entry else None


# ---- names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "called"),
    [
        ("advanced_search_for_weather_desk", "search_for_weather_desk"),
        ("advanced_search_for_weather_desk", "weather_desk"),
        ("advanced_search_for_weather_desk", ""),
        ("current_for_weather_desk", "current_for_weather_desk"),
        (None, "current"),
        (None, "Current_for_weather_desk"),
    ],
)
def test_compat_takes_the_first_name_that_ends_with_the_called_one(found: str | None, called: str) -> None:
    """A correct call may be routed to an earlier API whose name ends with it, as upstream does."""
    entries = make_entries("Advanced Search", "Search", "Current")
    assert found == _name_of(resolve_function(called, entries, strict=False))


@pytest.mark.parametrize(
    ("found", "called"),
    [
        ("search_for_weather_desk", "search_for_weather_desk"),
        (None, "weather_desk"),
        (None, ""),
        (None, "ish"),
    ],
)
def test_strict_takes_the_whole_name(found: str | None, called: str) -> None:
    """Strict never routes a call to another API."""
    entries = make_entries("Advanced Search", "Search", rules="strict")
    assert found == _name_of(resolve_function(called, entries, strict=True))


@pytest.mark.parametrize("called", ["inish", "h", "ish"])
def test_compat_fails_on_the_end_of_finish(called: str) -> None:
    """A name that only Finish ends with stops upstream's program."""
    entries = make_entries("Current")
    with pytest.raises(UpstreamFailureError, match="function-name"):
        resolve_function(called, entries, strict=False)


@pytest.mark.parametrize("rules", [_COMPAT, _STRICT])
def test_an_unknown_name_is_told(rules: CallingRules) -> None:
    """The candidate reads which name does not exist; nothing is looked up."""
    played = _call('make_"tea"', rules=rules)
    assert played.result.code == 1
    assert played.result.text == ('{"error": "No such function name: make_\\"tea\\"", "response": ""}')
    assert (played.calls, [ruled.result.code for ruled in played.ruled]) == ([], [1])


# ---- lookups -------------------------------------------------------------------------------------------


def test_compat_asks_for_pythons_text_first() -> None:
    """Python text first, then canonical, then compact JSON; aliases keep spelling and order of the call."""
    text = '{"b": 5.0, "a": true, "n": null, "q": "it\'s"}'
    request = _call("current_for_weather_desk", text).calls[0]
    assert [(alias.label, alias.text) for alias in request.aliases_first] == [
        ("python-repr", "{'b': 5.0, 'a': True, 'n': None, 'q': \"it's\"}")
    ]
    assert [(alias.label, alias.text) for alias in request.aliases] == [
        ("compact-json", '{"b":5.0,"a":true,"n":null,"q":"it\'s"}')
    ]
    assert request.tool == request.aliases_first[0].tool == "Weather/weather_desk_for_Weather/current"


def test_strict_asks_for_the_canonical_key_first() -> None:
    """Strict keeps the aliases, but after the canonical key."""
    request = _call("current_for_weather_desk", "{}", rules=_STRICT).calls[0]
    assert request.aliases_first == ()
    assert [alias.label for alias in request.aliases] == ["python-repr", "compact-json"]


def test_an_api_with_for_in_its_name_is_also_asked_for_by_its_old_name() -> None:
    """The published cache was built when file names ended at the first `_for_` of any kind."""
    entries = make_entries("Prices for Cities")
    request = make_request(entries[0], ToolCall(id="c", name="x", arguments="{}"), {"a": 1}, strict=False)
    assert request.tool == "Weather/weather_desk_for_Weather/prices_for_cities"
    assert [(alias.label, alias.tool, alias.text) for alias in request.aliases] == [
        ("old-name", "Weather/weather_desk_for_Weather/prices", "{'a': 1}"),
        ("compact-json", request.tool, '{"a":1}'),
    ]


@pytest.mark.parametrize(("value", "text"), [([], "[]"), (None, "null"), ("Oslo", '"Oslo"'), (5, "5")])
def test_compat_looks_up_any_json(value: Json, text: str) -> None:
    """Arguments that are no object are looked up all the same."""
    request = _call("current_for_weather_desk", text).calls[0]
    assert (value, str(value)) == (request.arguments, request.aliases_first[0].text)


def test_empty_arguments_are_an_empty_object() -> None:
    """The empty text is looked up as `{}`."""
    assert _call("current_for_weather_desk", "").calls[0].arguments == {}


# ---- refusals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "rules"), [(0, _COMPAT), (2, _STRICT)])
def test_malformed_arguments_get_the_parse_error(code: int, rules: CallingRules) -> None:
    """The server's record comes back; compat calls it a normal answer."""
    played = _call("current_for_weather_desk", '{"city": Oslo}', rules=rules)
    assert ('{"error": "Tool input parse error...\\n", "response": ""}', code) == (
        played.result.text,
        played.result.code,
    )
    assert played.noted("arguments-refused")[0]["fault"] == "malformed"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("not-hashable", '{"a": NaN}'),
        ("too-deep", "[" * 400 + "]" * 400),
        ("too-long", '"' + "x" * (1 << 20) + '"'),
    ],
)
@pytest.mark.parametrize("rules", [_COMPAT, _STRICT])
def test_what_cannot_be_looked_up_is_a_named_error(fault: str, text: str, rules: CallingRules) -> None:
    """No key can be made: the candidate is told why, with code 2, and the episode goes on."""
    played = _call("current_for_weather_desk", text, rules=rules)
    assert played.result.code == 2
    assert f"Tool input refused ({fault})" in json.loads(played.result.text)["error"]
    assert (played.calls, played.noted("arguments-refused")[0]["fault"]) == ([], fault)


def test_strict_refuses_what_is_no_object() -> None:
    """Under strict rules a list is a mistake the candidate is told about."""
    played = _call("current_for_weather_desk", "[]", rules=_STRICT)
    assert "not-an-object" in played.result.text
    assert played.calls == []


def test_repeated_names_are_looked_up_and_noted() -> None:
    """The last value is looked up and a note says which names came twice."""
    played = _call("current_for_weather_desk", '{"a": 1, "a": 2}')
    assert played.calls[0].arguments == {"a": 2}
    assert played.noted("repeated-argument-names") == [{"call": "c", "names": ["a"]}]


# ---- answers -------------------------------------------------------------------------------------------


def test_a_long_answer_is_cut_and_noted() -> None:
    """The observation keeps 1,024 characters of the JSON text and three dots."""
    played = _call("current_for_weather_desk", answer={"error": "", "response": "x" * 5000})
    assert len(played.result.text) == 1027
    assert played.noted("observation") == [{"call": "c", "code": 0, "cut": True}]


def test_the_limit_is_a_rule() -> None:
    """Another limit cuts elsewhere, observations of calling rules included."""
    played = _call("nothing", rules=CallingRules(max_observation=10))
    assert played.result.text == '{"error": ...'


def test_a_text_answer_is_read_as_text() -> None:
    """A source that gives text, not JSON, is a bad request with code 12."""
    call = ToolCall(id="c", name="current_for_weather_desk", arguments="{}")
    play = call_function(call, make_entries("Current"), _COMPAT)
    next(play)
    play.send(ToolResult(content="busy", provenance=Provenance.IMPORTED, body="busy"))
    with pytest.raises(StopIteration) as done:
        play.send(None)
    assert done.value.value.code == 12


def test_compat_fails_on_a_bare_list() -> None:
    """A recorded answer without `error` stops upstream's client."""
    with pytest.raises(UpstreamFailureError, match="answer-shape"):
        _call("current_for_weather_desk", answer=["a"])


def test_strict_tells_of_a_bare_list() -> None:
    """Strict turns the same answer into a typed error and goes on."""
    assert _call("current_for_weather_desk", answer=["a"], rules=_STRICT).result.code == 12


@pytest.mark.parametrize(
    ("code", "text", "rules"),
    [
        (12, '{"error": "request invalid, data error. status_code=500", "response": ""}', _COMPAT),
        (0, '{"error": "", "response": "Chat with user."}', _STRICT),
    ],
)
def test_the_user_api_is_answered_by_rule(code: int, text: str, rules: CallingRules) -> None:
    """Upstream's branch for `chat_with_user` fails; strict gives the answer it was meant to give."""
    entries = build_functions([make_raw_spec("chat with user")], rules="strict" if rules.strict else "compat")
    played = _call("chat_with_user_for_weather_desk", entries=entries, rules=rules)
    assert (text, code) == (played.result.text, played.result.code)
