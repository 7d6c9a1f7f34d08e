"""Remote chat models: requests as the API wants them, answers read strictly, failures by name."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from replay.core.errors import RecordMissError, UpstreamError
from replay.core.logprobs import NO_CHANCE, read_logprobs
from replay.core.types import ChatRequest, Completion, Json, Message, Role, Sampling, ToolCall, ToolSpec
from replay.llm.remote import AnsweringModel, RemoteModel, describe_remote, request_body
from replay.store.journal import Journal

WEATHER = ToolSpec(name="weather", description="Tell it.", parameters={"type": "object", "properties": {}})


class Wire:
    """Answers every request with the same bytes, or fails."""

    def __init__(self, said: bytes | str | Json = b"", *, is_streamed: bool = False, fails: str = "") -> None:
        self.is_streamed = is_streamed
        self.sent: list[Json] = []
        self._fails = fails
        self._said = said if isinstance(said, bytes) else json.dumps(said).encode()

    def post(self, body: bytes) -> bytes:
        """Say it."""
        self.sent.append(json.loads(body))
        if self._fails:
            raise UpstreamError(self._fails)
        return self._said


def chat(**changes: Json) -> ChatRequest:
    """Build a request."""
    words: dict[str, Json] = {"role": Role.CANDIDATE, "messages": (Message(role="user", content="Hi"),)}
    return ChatRequest(**{**words, **changes})


def choice(message: Json, finish: str = "stop", **more: Json) -> Json:
    """Build a whole answer."""
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}


def events(*deltas: Json, finish: str | None = "stop", done: bool = True, cr: bool = False) -> bytes:
    """Build a stream."""
    documents = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    documents += [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else []
    text = "".join(f"data: {json.dumps(document, ensure_ascii=False)}\n\n" for document in documents)
    whole = ": ping\n\n" + text + ("data: [DONE]\n\n" if done else "")
    return (whole.replace("\n", "\r\n") if cr else whole).encode()


def complete(wire: Wire, request: ChatRequest | None = None, **words: Json) -> Completion:
    """Ask once."""
    model = RemoteModel(describe_remote("m", "gpt-x", None), wire, **words)
    return model.complete(request or chat(), seed=7, trial=0)


def call(index: int, **words: Json) -> Json:
    """Build a piece of a streamed call."""
    identity = {"id": words["id"]} if "id" in words else {}
    function = {name: words[name] for name in ("name", "arguments") if name in words}
    return {"tool_calls": [{"index": index, **identity, "function": function}]}


def test_a_request_holds_everything_that_was_asked() -> None:
    """Messages, tools, sampling, seed and schema; nothing is left out silently."""
    history = (
        Message(role="system", content="Be brief."),
        Message(role="assistant", tool_calls=(ToolCall(id="c1", name="weather", arguments="{}"),)),
        Message(role="tool", content="dry", tool_call_id="c1", name="weather"),
    )
    sampling = Sampling(temperature=0.5, max_tokens=9, stop=("END",))
    request = chat(messages=history, tools=(WEATHER,), tool_choice="weather", sampling=sampling)
    assert {
        "model": "gpt-x",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "content": "dry", "tool_call_id": "c1"},
        ],
        "temperature": 0.5,
        "top_p": 1.0,
        "max_tokens": 9,
        "seed": 7,
        "stop": ["END"],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Tell it.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
    } == request_body(request, model="gpt-x", seed=7, stream=False)


def test_a_schema_is_asked_for_by_the_api() -> None:
    """As a response format."""
    body = request_body(chat(response_schema={"type": "object"}), model="m", seed=1, stream=True)
    assert {"type": "object"} == body["response_format"]["json_schema"]["schema"]
    assert (True, {"include_usage": True}) == (body["stream"], body["stream_options"])


def test_options_of_the_file_come_last() -> None:
    """They add, replace, and take out with null."""
    wire = Wire(choice({"content": "Hello"}))
    complete(wire, options={"max_tokens": None, "max_completion_tokens": 5, "temperature": 1})
    (sent,) = wire.sent
    assert (False, 5, 1) == ("max_tokens" in sent, sent["max_completion_tokens"], sent["temperature"])


def test_what_the_api_cannot_say_is_refused() -> None:
    """A field that would be dropped on the way is a failure, and nothing is sent."""
    wire = Wire(choice({"content": "Hello"}))
    completion = complete(wire, chat(sampling=Sampling(top_k=5)))
    assert ("error", []) == (completion.finish, wire.sent)


def test_a_whole_answer_is_read() -> None:
    """Text, usage, and the raw answer beside them."""
    said = choice({"content": "Hello"}, usage={"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4})
    found = complete(Wire(said))
    assert ("Hello", "stop", 3, 1) == (
        found.content,
        found.finish,
        found.prompt_tokens,
        found.completion_tokens,
    )
    assert said == json.loads(found.detail["raw"])


def test_parallel_calls_are_read_in_order() -> None:
    """Ids are kept, a missing one is made."""
    calls = [
        {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"c": 1}'}},
        {"type": "function", "function": {"name": "weather", "arguments": {"c": 2}}},
    ]
    found = complete(Wire(choice({"content": None, "tool_calls": calls}, "tool_calls")))
    assert ("tool_calls", ['{"c": 1}', '{"c": 2}']) == (
        found.finish,
        [c.arguments for c in found.tool_calls],
    )
    assert ("a", True) == (found.tool_calls[0].id, found.tool_calls[1].id.startswith("call_"))


@pytest.mark.parametrize(
    ("message", "reason", "finish"),
    [
        ({"content": "Hel"}, "length", "length"),
        ({"content": ""}, "content_filter", "refused"),
        ({"content": None, "refusal": "No."}, "stop", "refused"),
        ({"content": "x"}, "tool_calls", "stop"),
        ({"content": "x"}, "because", "error"),
    ],
)
def test_how_an_answer_ended_is_kept(message: Json, reason: str, finish: str) -> None:
    """A cut or refused answer is no complete one."""
    assert finish == complete(Wire(choice(message, reason))).finish


@pytest.mark.parametrize("cr", [False, True])
def test_a_stream_is_joined(cr: bool) -> None:
    """Text and calls in pieces become the message, raw events are kept."""
    said = events(
        {"role": "assistant", "content": "na"},
        {"content": "ïve"},
        call(1, id="b", name="weather", arguments='{"c"'),
        call(0, id="a", name="weather", arguments="{}"),
        call(1, arguments=": 2}"),
        finish="tool_calls",
        cr=cr,
    )
    found = complete(Wire(said, is_streamed=True))
    assert ("naïve", [("a", "{}"), ("b", '{"c": 2}')]) == (
        found.content,
        [(c.id, c.arguments) for c in found.tool_calls],
    )
    assert said.decode() == found.detail["raw"]


@pytest.mark.parametrize(
    ("said", "streamed", "named"),
    [
        (b"<html>", False, "not a chat answer"),
        (b'{"choices": []}', False, "no choice"),
        (b'{"error": {"message": "overloaded"}}', False, "the upstream said overloaded"),
        (b'{"choices": [{"message": {"tool_calls": [{}]}}]}', False, "a call without a name"),
        (events({"content": "Hel"}, finish=None, done=False), True, "the stream was cut"),
        (events({"content": "Hel"}, finish=None), True, "no finish reason"),
        (b"data: {\n\n", True, "not a chat answer"),
        (b'data: {"error": "busy"}\n\n', True, "the upstream said busy"),
        (events(call(0, arguments="{}")), True, "a call without a name"),
        (b"data: \xff\n\n", True, "not UTF-8"),
    ],
)
def test_what_is_no_answer_is_a_failure(said: bytes, streamed: bool, named: str) -> None:
    """Finish `error`, with the reason; no text of it comes out."""
    found = complete(Wire(said, is_streamed=streamed))
    assert ("error", None, True) == (found.finish, found.content, named in found.detail["message"])


def test_a_failure_on_the_way_has_its_kind() -> None:
    """What the client says is in the detail."""
    found = complete(Wire(fails="timeout: no whole answer in 30 s"))
    assert {"error": "timeout", "message": "no whole answer in 30 s"} == found.detail


def test_what_was_said_is_asked_once(tmp_path: Path) -> None:
    """A journal answers equal requests of all workers; failures are asked again."""
    wire, failing = Wire(choice({"content": "Hello"})), Wire(fails="timeout: slow")
    found = [complete(wire, journal=Journal(tmp_path)) for _ in range(2)]
    assert (1, found[0]) == (len(wire.sent), found[1])
    other = chat(messages=(Message(role="user", content="Other"),))
    for _ in range(2):
        complete(failing, other, journal=Journal(tmp_path))
    assert 2 == len(failing.sent)


def test_where_a_model_runs_is_not_who_it_is() -> None:
    """Name, model and options are."""
    identity = describe_remote("m", "gpt-x", {"reasoning_effort": "low"})
    assert {
        "name": "m",
        "kind": "remote",
        "model": "gpt-x",
        "options": {"reasoning_effort": "low"},
    } == identity
    assert identity == msgspec.json.decode(msgspec.json.encode(identity))


RANKED = [
    {
        "token": "Hé",
        "logprob": -0.1,
        "bytes": [72, 195, 169],
        "top_logprobs": [{"token": "Ho", "logprob": -2}],
    },
    {"token": "?", "logprob": -1e300, "top_logprobs": None},
]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_log_probabilities_are_asked_for_and_kept(is_streamed: bool) -> None:
    """Exact, with bytes where the upstream gives them; what has no chance has a number."""
    whole = choice({"content": "Hé?"})
    whole["choices"][0]["logprobs"] = {"content": RANKED}
    parts = [{"choices": [{"index": 0, "delta": {}, "logprobs": {"content": [rank]}}]} for rank in RANKED]
    pieces = "".join(f"data: {json.dumps(part)}\n\n" for part in parts).encode()
    wire = Wire(pieces + events({"content": "Hé?"}) if is_streamed else whole, is_streamed=is_streamed)
    found = read_logprobs(complete(wire, chat(top_logprobs=1)).detail)
    assert (True, 1) == (wire.sent[0]["logprobs"], wire.sent[0]["top_logprobs"])
    assert found is not None
    assert [("Hé".encode(), -0.1), (b"?", NO_CHANCE)] == [(t.piece, t.logprob) for t in found.tokens]
    assert ((b"Ho", -2.0),) == found.tokens[0].top


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        (None, "none came"),
        ({"content": None}, "none came"),
        ({"content": [{"token": "a"}]}, "that are none"),
        ({"content": [{"token": "a", "logprob": -1, "bytes": [300]}]}, "that are none"),
    ],
)
def test_an_answer_without_the_log_probabilities_asked_for_is_none(ranks: Json, said: str) -> None:
    """It fails by name; unasked they may be anything."""
    whole = choice({"content": "a"})
    whole["choices"][0]["logprobs"] = ranks
    failed = complete(Wire(whole), chat(top_logprobs=0))
    assert ("error", "answer", True) == (
        failed.finish,
        failed.detail["error"],
        said in failed.detail["message"],
    )
    assert "stop" == complete(Wire(whole)).finish


def test_log_probabilities_may_be_an_option_of_the_upstream() -> None:
    """Then every answer has them, under an identity of its own."""
    whole = choice({"content": "?"})
    whole["choices"][0]["logprobs"] = {"content": RANKED[1:]}
    wire = Wire(whole)
    found = read_logprobs(complete(wire, options={"logprobs": True, "top_logprobs": 2}).detail)
    assert found is not None
    assert (2, 2) == (found.top, wire.sent[0]["top_logprobs"])


def test_a_failure_is_a_miss_where_only_answers_are_taken() -> None:
    """With the kind by name and what is wanted; an answer passes, a refusal is one."""
    identity = describe_remote("m", "gpt-x", None)
    failing = AnsweringModel(RemoteModel(identity, Wire(fails="timeout: no whole answer in 3 s")))
    with pytest.raises(
        RecordMissError, match="'m' gave no answer: timeout: no whole answer in 3 s"
    ) as caught:
        failing.complete(chat(), seed=7, trial=0)
    want = caught.value.want
    assert isinstance(want, dict)
    assert ("completion", 7) == (want["kind"], want["request"]["seed"])
    refusing = AnsweringModel(RemoteModel(identity, Wire(choice({"refusal": "No."}, "content_filter"))))
    assert "refused" == refusing.complete(chat(), seed=7, trial=0).finish
