"""/v1 with the official client: sync, async, streamed, with tools, structured, and what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from replay.core.determinism import pause
from replay.core.types import Json, SnapshotKind
from replay.server.chat_messages import CheckedSchemas
from replay.server.chat_requests import read_chat
from replay.server.chat_shapes import fault_of
from replay.store.answers import read_completion
from replay.wiring.engines import ModelPool
from replay.wiring.library import open_library
from replay.wiring.serving.chat import ServedModels
from replay.wiring.serving.server import prepare_server
from tests.support.commands import MINI
from tests.support.engines import FINDER, LEFT, LINGER, PATIENT, SIGN
from tests.support.servers import Served, request_for, serving

MODEL = "parrot"
SAID: Any = [{"role": "user", "content": "Good morning"}]
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    },
}
SCHEMA: Any = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"word": {"type": "string"}},
            "required": ["word"],
            "additionalProperties": False,
        },
    },
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The mini suite with a scripted engine beside its recorded models."""
    home: Path = tmp_path_factory.mktemp("home")
    with serving(request_for(MINI, home, models=(MODEL, PATIENT), finder=FINDER)) as running:
        yield running


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    """The official client."""
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as made:
        yield made


def test_models_are_listed(client: openai.OpenAI) -> None:
    """The local model is among them."""
    assert MODEL in [model.id for model in client.models.list()]


def test_the_same_request_has_the_same_bytes(client: openai.OpenAI) -> None:
    """Id, time and content repeat; another seed is another answer."""
    ask = client.chat.completions.with_raw_response.create
    first = ask(model=MODEL, messages=SAID, seed=1)
    again = ask(model=MODEL, messages=SAID, seed=1)
    other = ask(model=MODEL, messages=SAID, seed=2)
    assert first.content == again.content
    assert first.content != other.content


def test_choices_have_seeds_of_their_own(client: openai.OpenAI) -> None:
    """N answers, the first of them what n=1 gives."""
    many = client.chat.completions.create(model=MODEL, messages=SAID, seed=1, n=3)
    one = client.chat.completions.create(model=MODEL, messages=SAID, seed=1)
    said = [choice.message.content for choice in many.choices]
    assert 3 == len(set(said))
    assert one.choices[0].message.content == said[0]


def test_log_probabilities_are_those_of_the_tokens(client: openai.OpenAI) -> None:
    """Of each token of the text, with as many alternatives as are asked for; none where none are."""
    got = client.chat.completions.create(model=MODEL, messages=SAID, logprobs=True, top_logprobs=2)
    choice = got.choices[0]
    assert choice.logprobs is not None
    ranked = choice.logprobs.content or []
    assert choice.message.content == bytes(b for token in ranked for b in token.bytes or ()).decode()
    assert {2} == {len(token.top_logprobs) for token in ranked}
    assert all(token.top_logprobs[0].logprob == token.logprob for token in ranked)
    bare = client.chat.completions.create(model=MODEL, messages=SAID)
    assert (None, bare.choices[0].message) == (bare.choices[0].logprobs, choice.message)


@pytest.mark.parametrize("count", [None, 0, 2])
def test_a_stream_carries_each_log_probability_once(client: openai.OpenAI, count: int | None) -> None:
    """In the order of the whole answer, with the words that they belong to."""
    words: Any = {"model": MODEL, "messages": SAID, "logprobs": True, "top_logprobs": count}
    whole = client.chat.completions.create(**words).choices[0].logprobs
    chunks = list(client.chat.completions.create(**words, stream=True))
    ranked = [chunk.choices[0].logprobs for chunk in chunks]
    assert whole is not None
    assert (whole.content or []) == [t for part in ranked if part is not None for t in part.content or ()]
    assert 1 < sum(part is not None for part in ranked)


def test_text_completions_have_them_in_their_own_form(client: openai.OpenAI) -> None:
    """Lists side by side, with the place of each token in the text; the same over a stream."""
    words: Any = {"model": MODEL, "prompt": "Good morning", "logprobs": 1, "n": 2}
    whole = client.completions.create(**words)
    for choice in whole.choices:
        ranked = choice.logprobs
        assert ranked is not None
        assert list(range(len(choice.text))) == ranked.text_offset
        assert choice.text == "".join(ranked.tokens or ())
        assert [{t: v} for t, v in zip(ranked.tokens or (), ranked.token_logprobs or (), strict=True)] == (
            ranked.top_logprobs
        )
    chunks = [chunk.choices[0] for chunk in client.completions.create(**words, stream=True)]
    streamed = [o for c in chunks if c.index == 1 and c.logprobs for o in c.logprobs.text_offset or ()]
    assert list(range(len(whole.choices[1].text))) == streamed


@pytest.mark.parametrize("words", [{}, {"logprobs": True, "top_logprobs": 1}])
def test_a_stream_is_begun_before_its_answer_is_whole(served: Served, words: Json) -> None:
    """The first words are there while the model has not said the last; the bytes are those of any time."""
    SIGN.clear()
    body = {"model": PATIENT, "messages": SAID, "stream": True, **words}
    with served.client.stream("POST", "/v1/chat/completions", json=body) as answer:
        lines = answer.iter_lines()
        begun = [next(lines) for _ in range(6)]
        SIGN.set()
        rest = list(lines)
    assert ["", "one", " two"] == [_event(line)["delta"]["content"] for line in begun[::2]]
    assert "data: [DONE]" == rest[-2]
    again = served.client.post("/v1/chat/completions", json=body).text
    assert "\n".join([*begun, *rest, ""]) == again


@pytest.fixture
def lingering() -> Iterator[None]:
    """The patient model stops in the middle, until nobody listens."""
    LEFT.clear()
    SIGN.set()
    LINGER.set()
    yield
    LINGER.clear()


@pytest.mark.usefixtures("lingering")
def test_a_client_that_leaves_ends_its_generation(served: Served) -> None:
    """The model stops, nothing counts as an answer, and the next client is served."""
    before = served.counters.read()["completions"]
    body = {"model": PATIENT, "messages": SAID, "stream": True}
    with served.client.stream("POST", "/v1/chat/completions", json=body) as answer:
        next(answer.iter_lines())
    assert _within(5, lambda: LEFT == ["the client left before its answer was whole"])
    assert before == served.counters.read()["completions"]
    LINGER.clear()
    assert 200 == served.client.post("/v1/chat/completions", json={**body, "stream": False}).status_code


@pytest.mark.usefixtures("lingering")
def test_a_client_that_leaves_without_a_stream_ends_it_too(served: Served) -> None:
    """Nobody generates for nobody."""
    with pytest.raises(httpx.ReadTimeout):
        served.client.post("/v1/chat/completions", json={"model": PATIENT, "messages": SAID}, timeout=0.3)
    assert _within(5, lambda: len(LEFT) == 1)


def test_stop_strings_do_not_leak(client: openai.OpenAI) -> None:
    """Nothing of one is ever sent, nor of what follows."""
    words: Any = {"model": PATIENT, "messages": SAID, "stop": [" three four", "seven"]}
    SIGN.set()
    whole = client.chat.completions.create(**words).choices[0]
    pieces = [c.choices[0].delta.content or "" for c in client.chat.completions.create(**words, stream=True)]
    assert ("one two", "stop") == ("".join(pieces), whole.finish_reason)


def test_a_stream_says_what_the_whole_answer_says(client: openai.OpenAI) -> None:
    """Pieces join to the whole; usage comes last where it is asked for."""
    whole = client.chat.completions.create(model=MODEL, messages=SAID)
    stream = client.chat.completions.create(
        model=MODEL, messages=SAID, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert whole.choices[0].message.content == "".join(pieces)
    assert whole.usage == chunks[-1].usage


def test_tools_are_called_and_their_results_read(client: openai.OpenAI) -> None:
    """A call, its result in the conversation, and the answer that follows."""
    first = client.chat.completions.create(model=MODEL, messages=SAID, tools=[WEATHER])
    calls = first.choices[0].message.tool_calls or []
    assert 1 == len(calls)
    call = calls[0]
    assert ("tool_calls", "function") == (first.choices[0].finish_reason, call.type)
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    said = [*SAID, first.choices[0].message.model_dump(), result]
    after = client.chat.completions.create(model=MODEL, messages=said, tools=[WEATHER])
    assert "sunny" in str(after.choices[0].message)


def test_one_call_at_a_time_may_be_asked_for(client: openai.OpenAI) -> None:
    """An answer with one call is the same answer."""
    words: Any = {"model": MODEL, "messages": SAID, "tools": [WEATHER]}
    single: Any = {**words, "parallel_tool_calls": False}
    many, one = (client.chat.completions.create(**w).choices[0].message for w in (words, single))
    assert (many, 1) == (one, len(one.tool_calls or ()))


def test_streamed_calls_join(client: openai.OpenAI) -> None:
    """The client's own accumulator builds the call."""
    with client.chat.completions.stream(model=MODEL, messages=SAID, tools=[WEATHER]) as stream:
        final = stream.get_final_completion()
    whole = client.chat.completions.create(model=MODEL, messages=SAID, tools=[WEATHER])
    ids = [[call.id for call in got.choices[0].message.tool_calls or []] for got in (whole, final)]
    assert (1, ids[0]) == (len(ids[0]), ids[1])


def test_structured_output_fits(client: openai.OpenAI) -> None:
    """A schema constrains the answer."""
    got = client.chat.completions.create(model=MODEL, messages=SAID, response_format=SCHEMA)
    assert (got.choices[0].message.content or "").startswith('{"word":')


def test_a_schema_may_stand_beside_tools_that_are_not_called(client: openai.OpenAI) -> None:
    """Nothing may be called, so the answer is held to the schema."""
    got = client.chat.completions.create(
        model=MODEL, messages=SAID, response_format=SCHEMA, tools=[WEATHER], tool_choice="none"
    )
    assert (got.choices[0].message.content or "").startswith('{"word":')


def test_text_completions(client: openai.OpenAI) -> None:
    """The older route answers too."""
    assert client.completions.create(model=MODEL, prompt="Good morning").choices[0].text.startswith(MODEL)


def test_the_async_client(served: Served) -> None:
    """Eight requests at once have the answers they have alone."""

    async def ask() -> list[str | None]:
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
            asked = (client.chat.completions.create(model=MODEL, messages=SAID, seed=n % 2) for n in range(8))
            return [answer.choices[0].message.content for answer in await asyncio.gather(*asked)]

    assert 2 == len(set(asyncio.run(ask())))


@pytest.mark.parametrize(
    ("words", "param"),
    [
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"top_p": 0}, "top_p"),
        ({"response_format": SCHEMA, "tools": [WEATHER]}, "response_format"),
        ({"frequency_penalty": 0.5}, "frequency_penalty"),
        ({"logit_bias": {"1": 5}}, "logit_bias"),
        ({"parallel_tool_calls": "no"}, "parallel_tool_calls"),
        ({"extra_body": {"min_p": 0.1}}, "min_p"),
        ({"n": 99}, "n"),
        ({"tools": [{"type": "function", "function": {"name": "x", "parameters": {"type": 5}}}]}, "tools[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content"),
    ],
)
def test_what_is_not_honoured_is_refused_by_name(
    client: openai.OpenAI, words: dict[str, Any], param: str
) -> None:
    """The error names the option."""
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**{"model": MODEL, "messages": SAID, **words})
    assert str(caught.value.param).startswith(param)


def test_a_model_that_is_not_there(client: openai.OpenAI) -> None:
    """The error lists those that are."""
    with pytest.raises(openai.NotFoundError, match=MODEL):
        client.chat.completions.create(model="absent", messages=SAID)


def test_a_recorded_model_that_never_said_it(client: openai.OpenAI) -> None:
    """A miss is an error of its own, not an answer."""
    recorded = next(model.id for model in client.models.list() if model.id != MODEL)
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model=recorded, messages=SAID)
    assert "replay_miss" == caught.value.code


def test_a_recorded_conversation_is_answered(tmp_path: Path) -> None:
    """What a client can say of a recorded request finds its completion."""
    request = request_for(MINI, tmp_path)
    with open_library(prepare_server(request).library) as library:
        snapshot = next(iter(library.store.scan(SnapshotKind.COMPLETION)))
    body = _client_words(snapshot.scope, snapshot.request)
    with serving(request) as running:
        got = running.client.post("/v1/chat/completions", json=body)
        again = running.client.post("/v1/chat/completions", json=body)
    assert (200, got.content) == (got.status_code, again.content)


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["acebench", "codexomics", "metatool", "stabletoolbench", "toolsandbox"])
def test_every_recorded_completion_is_found_by_what_a_client_can_say(tmp_path: Path, suite: str) -> None:
    """Words, calls and finish are those that were recorded; what was no answer is refused by its kind."""
    schemas = CheckedSchemas()
    with open_library(prepare_server(request_for(f"{suite}-mini", tmp_path)).library) as library:
        served = ServedModels(library, (), ModelPool())
        for snapshot in library.store.scan(SnapshotKind.COMPLETION):
            body = json.dumps(_client_words(snapshot.scope, snapshot.request)).encode()
            [found] = served.answer(read_chat(body, schemas), lambda _words, _tokens: None)
            held = read_completion(snapshot)
            assert (held.content, held.tool_calls, held.finish) == (
                found.content,
                found.tool_calls,
                found.finish,
            )
            assert (fault_of(found) is None) == (held.finish != "error")


def _client_words(model: str, preimage: Json) -> Json:
    asked = preimage["request"]
    messages = [
        {
            "role": message["role"],
            "content": message["content"],
            "name": message["name"],
            "tool_call_id": message["tool_call_id"],
            "tool_calls": [
                {
                    "id": c["id"],
                    "type": "function",
                    "function": {"name": c["name"], "arguments": c["arguments"]},
                }
                for c in message["tool_calls"]
            ],
        }
        for message in asked["messages"]
    ]
    tools = [
        {
            "type": "function",
            "function": {name: tool[name] for name in ("name", "description", "parameters")},
        }
        for tool in asked["tools"]
    ]
    choice, schema = asked["tool_choice"], asked["response_schema"]
    named = {"type": "function", "function": {"name": choice}}
    words = {"model": model, "messages": messages, "tools": tools, "seed": preimage["seed"]}
    words["tool_choice"] = choice if choice in ("auto", "none", "required") else named
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    return words if schema is None else {**words, "response_format": form}


def _event(line: str) -> Json:
    return json.loads(line.removeprefix("data: "))["choices"][0]


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    for _ in range(int(seconds / 0.02)):
        if holds():
            return True
        pause(0.02)
    return holds()
