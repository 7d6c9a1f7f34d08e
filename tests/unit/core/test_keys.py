"""Keys of the three kinds of snapshot."""

from __future__ import annotations

import msgspec
import pytest

from replay.core import types
from replay.core.canonical import digest
from replay.core.errors import CanonicalError
from replay.core.keys import (
    NOT_IN_KEY,
    alias_key,
    call_key,
    call_request,
    completion_key,
    completion_request,
    verdict_key,
    verdict_request,
)
from replay.core.types import CallAlias, CallRequest, ChatRequest, Json, JudgeRequest, Key, Message, Role


def make_call(arguments: Json, *, tool: str = "Weather/now") -> CallRequest:
    """Build a call request."""
    return CallRequest(benchmark="demo", tool=tool, arguments=arguments)


def test_keys_are_what_they_were() -> None:
    """Known requests have known keys; they change only with RECIPE_VERSION."""
    chat = ChatRequest(role=Role.USER, messages=(Message(role="user", content="hi"),))
    question = JudgeRequest(benchmark="demo", rubric="r", rubric_digest="d", evidence={})
    found = [
        call_key(make_call({"q": 1})),
        alias_key("demo", CallAlias(label="python-repr", tool="a/b", text="{'q': 1}")),
        completion_key("m", chat, seed=1, trial=0),
        verdict_key("j", question),
    ]
    assert [
        "sha256:188fea188b56820ee79f7d980881e7c509e51cde11eda0c9eac22d7b5f14f802",
        "sha256:692f99831c2bdffaccafc0a860abbcf71a7dfbbc2f9ed9234bbf2e5968beb381",
        "sha256:68331c8e7d1e1f0e3d8b83fb51122f08cb1b1917186709efab43781d51567a8c",
        "sha256:63954bc76f3a8384797c1be787c782e006e550bacaea4ea2468396ec15c33a83",
    ] == found


def test_log_probabilities_are_in_the_key_where_they_are_asked_for() -> None:
    """None asked for is the key of old; none beside each token, one, and two are three others."""
    chat = ChatRequest(role=Role.USER, messages=(Message(role="user", content="hi"),))
    asked = [msgspec.structs.replace(chat, top_logprobs=count) for count in (0, 1, 2)]
    assert "top_logprobs" not in completion_request("m", chat, seed=1, trial=0)["request"]
    assert 4 == len({completion_key("m", request, seed=1, trial=0) for request in (chat, *asked)})


def test_keys_are_digests_of_their_preimages() -> None:
    """What `explain` prints is what was hashed."""
    call = make_call({"q": 1})
    assert Key(digest("api", call_request(call))) == call_key(call)
    chat = ChatRequest(role=Role.USER, messages=())
    preimage = completion_request("m", chat, seed=1, trial=0)
    assert Key(digest("completion", preimage)) == completion_key("m", chat, seed=1, trial=0)
    question = JudgeRequest(benchmark="demo", rubric="r", rubric_digest="d", evidence={})
    assert Key(digest("verdict", verdict_request("j", question))) == verdict_key("j", question)


@pytest.mark.parametrize(
    ("left", "right"),
    [({"a": 5, "b": 3}, {"b": 3, "a": 5}), ({"n": 25}, {"n": 25.0}), ({"n": 0}, {"n": -0.0})],
)
def test_one_json_value_is_one_key(left: Json, right: Json) -> None:
    """Order and number spelling of arguments do not matter."""
    assert call_key(make_call(left)) == call_key(make_call(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"n": 25}, {"n": "25"}),
        ({"n": 1}, {"n": True}),
        ({}, {"n": None}),
        ({"n": [1, 2]}, {"n": [2, 1]}),
        ({"n": "caf\u00e9"}, {"n": "cafe\u0301"}),
        ({"n": 2**53}, {"n": 2**53 + 1}),
        ({}, []),
        ({}, None),
    ],
)
def test_two_json_values_are_two_keys(left: Json, right: Json) -> None:
    """Types, absence, array order, normal forms and large integers matter."""
    assert call_key(make_call(left)) != call_key(make_call(right))


def test_missing_temperature_is_the_stated_default() -> None:
    """The default is resolved into the request and shown by its preimage, never left out."""
    preimage = completion_request("m", ChatRequest(role=Role.USER, messages=()), seed=0, trial=0)
    assert 0.0 == preimage["request"]["sampling"]["temperature"]


def test_faulty_arguments_are_placed_in_the_request() -> None:
    """A value without canonical form is named by its path from the request's top."""
    with pytest.raises(CanonicalError, match=r"\$\.arguments\.near\[0\]"):
        call_key(make_call({"near": [float("nan")]}))


def test_declared_exclusions_exist_and_have_reasons() -> None:
    """Each declared exclusion names a field that there is, and says why."""
    for name, reason in NOT_IN_KEY.items():
        record, field = name.split(".")
        names = {found.name for found in msgspec.structs.fields(getattr(types, record))}
        assert field in names
        assert len(reason) > 20
