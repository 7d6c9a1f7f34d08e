"""The official OpenAI client and `replay serve`: recorded, frozen, the same bytes with the model gone."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import openai
import pytest

from replay.core.types import Json
from tests.support.commands import MINI, run_command
from tests.support.data import CHECKOUT
from tests.support.openai_talks import check_talk, send_again, talk, talk_aside
from tests.support.serving_processes import ServingProcess, serving_process
from tests.support.upstream import Asked, FakeUpstream, Reply, answer_json, raw_reply
from tests.support.weights import WEIGHTS, need_model

pytestmark = pytest.mark.slow

BASE = CHECKOUT / "snapshots" / f"{MINI}.replay"
PATH = "/v1/chat/completions"


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """Clients, servers and upstreams of these tests meet on the loopback."""


def freeze(folder: Path, *words: str | Path) -> Path:
    """Freeze what a server recorded."""
    layer = folder / "made.replay"
    done = run_command("archive", "freeze", folder / "out" / "overlay", "-o", layer, *words)
    assert 0 == done.code, done.err
    return layer


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stores of these tests, and the models of whoever runs them."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "models").symlink_to(WEIGHTS)
    return folder


@pytest.mark.model
def test_a_local_model_is_served_frozen_and_served_again(tmp_path: Path, home: Path) -> None:
    """Everything the client can do: twice with the model, then strictly without it, byte for byte."""
    need_model("smollm2-135m")
    name = "smollm2-135m"
    live = ("--mode", "record", "--out", tmp_path / "out", "--model", name, "--threads", "1", "--home", home)
    with serving_process(BASE, *live) as server:
        first = talk(server.address, name)
        check_talk(first.heard)
        answers = send_again(server.address, first.requests)
        aside = talk_aside(server.address, name)
        leave_early(server, name)
        assert 0 == server.stop()
    assert {key: first.heard[key] for key in aside} == aside
    with serving_process(BASE, "--model", name, "--threads", "1", "--home", home) as server:
        assert answers == send_again(server.address, first.requests, at_once=4)
    layer = freeze(tmp_path, "--base", BASE, "--name", "talks", "--version", "1", "--home", home)
    with serving_process(layer, "--mode", "strict", "--home", home, "--log", tmp_path / "log") as server:
        assert answers == send_again(server.address, first.requests, at_once=4)
        assert first.heard == talk(server.address, name).heard
        assert aside == talk_aside(server.address, name)
        refuse_what_was_not_recorded(server.address, name)
        assert 0 == server.metric("network_attempts")
        assert 0 == server.stop()
    verified = run_command("verify", tmp_path / "log", "--archive", layer, "--home", home)
    assert 0 == verified.code, verified.err


def leave_early(server: ServingProcess, name: str) -> None:
    """Go away in the middle of a long answer: nothing of it is recorded, and the next client is served."""
    recorded = server.metric("recorded")
    long = {"model": name, "messages": [{"role": "user", "content": "Tell a tale."}], "max_tokens": 900}
    with server.client.stream("POST", PATH, json={**long, "stream": True}) as answer:
        next(answer.iter_lines())
    short = {"model": name, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
    assert 200 == server.client.post(PATH, json=short).status_code
    assert recorded + 1 == server.metric("recorded")


def refuse_what_was_not_recorded(url: str, name: str) -> None:
    """A frozen answer without log-probabilities is no answer to a request for them, nor is another prompt."""
    said = [{"role": "system", "content": "Answer in one word."}]
    said += [{"role": "user", "content": "Which color has the sky?"}]
    asked: Json = {"model": name, "messages": said, "max_tokens": 10, "stop": ["e", "zz"], "logprobs": True}
    for words, param in ((asked, "logprobs"), ({**asked, "messages": said[:1]}, "messages")):
        got = httpx.post(f"{url}{PATH}", json=words, timeout=60)
        error = got.json()["error"]
        assert (404, "replay_miss", param) == (got.status_code, error["code"], error["param"])


@pytest.mark.model
def test_the_first_words_of_a_local_model_come_early(home: Path) -> None:
    """Long before the last ones."""
    need_model("smollm2-135m")
    body = {"model": "smollm2-135m", "messages": [{"role": "user", "content": "Tell me a story."}]}
    with (
        serving_process(BASE, "--model", "smollm2-135m", "--threads", "1", "--home", home) as server,
        server.client.stream("POST", PATH, json={**body, "stream": True, "max_tokens": 96}) as answer,
    ):
        times = [time.monotonic() for line in answer.iter_lines() if line.startswith("data: ")]
    assert 40 < len(times)
    assert times[2] - times[0] < (times[-1] - times[0]) / 2


class RemoteSite:
    """A folder with a file of upstreams whose one model is the fake."""

    def __init__(self, folder: Path, fake: FakeUpstream, *, stream: bool) -> None:
        self.folder, self.fake = folder, fake
        (folder / "key").write_text("planted-remote-key")
        (folder / "upstreams.toml").write_text(
            f'[upstream.gpt]\nkind = "openai"\nbase_url = "{fake.url}/v1"\nmodel = "gpt-x"\n'
            f'key = {{file = "key"}}\nretries = 0\nstream = {str(stream).lower()}\n'
        )
        self.record = (
            *(folder / "made.replay", "--mode", "record", "--out", folder / "out"),
            *("--upstream", folder / "upstreams.toml", "--home", folder / "home"),
        )


@pytest.mark.parametrize("stream", [False, True])
def test_a_remote_model_is_recorded_through_the_server(
    tmp_path: Path, fake: FakeUpstream, stream: bool
) -> None:
    """Asked once for each request, calls in parallel, frozen, and served with the upstream gone."""
    fake.answers(PATH, say_streamed if stream else say)
    site = RemoteSite(tmp_path, fake, stream=stream)
    with serving_process(*site.record) as server:
        first = talk(server.address, "gpt")
        check_talk(first.heard)
        asked = len(fake.asked)
        answers = send_again(server.address, first.requests)
        aside = talk_aside(server.address, "gpt")
        assert (asked, asked) == (len(fake.asked), server.metric("recorded"))
        if stream:
            server.process.kill()  # what a client was given is on disk, however the server ends
        else:
            assert 0 == server.stop()
    assert {"Bearer planted-remote-key"} == {one.headers["authorization"] for one in fake.asked}
    calls = first.heard["required"]["choices"][0]["message"]["tool_calls"]
    assert ["paint", "mix"] == [call["function"]["name"] for call in calls]
    fake.close()
    layer = freeze(tmp_path)
    workers = "2" if stream else "1"
    where = ("--home", tmp_path / "home", "--workers", workers)
    with serving_process(layer, "--mode", "strict", *where) as server:
        assert answers == send_again(server.address, first.requests, at_once=4)
        assert first.heard == talk(server.address, "gpt").heard
        assert aside == talk_aside(server.address, "gpt")
        refuse_several_calls(server, first.requests)
        assert 0 == server.metric("network_attempts")


def refuse_several_calls(server: ServingProcess, requests: tuple[tuple[str, bytes], ...]) -> None:
    """Two calls are no answer where one at a time is asked for."""
    asked = next(json.loads(body) for _, body in requests if b'"tool_choice":"required"' in body)
    got = server.client.post(PATH, json={**asked, "parallel_tool_calls": False})
    assert (400, "model_invalid") == (got.status_code, got.json()["error"]["code"])
    assert "2 calls" in got.json()["error"]["message"]


def test_a_failing_remote_model_is_no_answer(tmp_path: Path, fake: FakeUpstream) -> None:
    """The client hears which way it failed, nothing is recorded, and the next request is asked again."""
    site = RemoteSite(tmp_path, fake, stream=False)
    fake.says(PATH, answer_json({"error": {"message": "overloaded"}}, status=503), say_plainly("blue"))
    with serving_process(*site.record) as server:
        with openai.OpenAI(base_url=f"{server.address}/v1", api_key="none", max_retries=0) as client:
            words = {"model": "gpt", "messages": [{"role": "user", "content": "Which color?"}]}
            with pytest.raises(openai.APIStatusError) as caught:
                client.chat.completions.create(**words)  # type: ignore[call-overload]
            got = client.chat.completions.create(**words)  # type: ignore[call-overload]
        assert (502, "upstream_server-error") == (caught.value.status_code, caught.value.code)
        assert ("blue", 1) == (got.choices[0].message.content, server.metric("recorded"))


def say(asked: Asked) -> Reply:
    """Answer as a model that does what it is asked for."""
    message, ranked = compose(asked.json)
    choice: Json = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    choice |= {"logprobs": {"content": ranked}} if ranked else {}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return answer_json({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage})


def say_streamed(asked: Asked) -> Reply:
    """Answer the same in events, cut inside words and calls."""
    message, ranked = compose(asked.json)
    content = message["content"] or ""
    events: list[Json] = [{"delta": {"role": "assistant", "content": ""}}]
    events += [{"delta": {"content": content[start : start + 3]}} for start in range(0, len(content), 3)]
    for index, call in enumerate(message.get("tool_calls", ())):
        half = len(call["function"]["arguments"]) // 2
        head = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        parts = (call["function"]["arguments"][:half], call["function"]["arguments"][half:])
        events += [{"delta": {"tool_calls": [head]}}]
        events += [{"delta": {"tool_calls": [{"index": index, "function": {"arguments": p}}]}} for p in parts]
    events += [{"delta": {}, "logprobs": {"content": [token]}} for token in ranked]
    events.append({"delta": {}, "finish_reason": "stop"})
    lines = [json.dumps({"choices": [{"index": 0, **event}]}) for event in events]
    lines.append(json.dumps({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}))
    text = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
    return raw_reply(text.encode(), kind="text/event-stream")


def say_plainly(text: str) -> Reply:
    """Answer with these words."""
    return answer_json({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


def compose(body: Json) -> tuple[Json, list[Json]]:
    """What is said and called, and the tokens of it where they are asked for."""
    message: Json = {"content": f"Blue, I think {body['seed'] % 1000}."}
    for stop in body.get("stop", ()):
        message["content"] = message["content"].partition(stop)[0]
    if "response_format" in body:
        message["content"] = '{"name": "blue"}'
    choice = body.get("tool_choice")
    if choice == "required" or isinstance(choice, dict):
        names = ["paint", "mix"] if choice == "required" else [choice["function"]["name"]]
        message = {
            "content": None,
            "tool_calls": [call_of(name, number) for number, name in enumerate(names)],
        }
    if not body.get("logprobs"):
        return message, []
    words = message["content"].split(" ")
    pieces = [word if not number else f" {word}" for number, word in enumerate(words)]
    return message, [rank(piece, body.get("top_logprobs", 0)) for piece in pieces]


def call_of(name: str, number: int) -> Json:
    """One call."""
    argument = {"paint": "color", "mix": "paint"}[name]
    function = {"name": name, "arguments": json.dumps({argument: "red"})}
    return {"id": f"call-{number}", "type": "function", "function": function}


def rank(piece: str, count: int) -> Json:
    """A token with its alternatives."""
    others = [{"token": f"o{n}", "bytes": None, "logprob": -1.5 - n} for n in range(count)]
    own = {"token": piece, "bytes": list(piece.encode()), "logprob": -0.1234567890123}
    return {**own, "top_logprobs": others}
