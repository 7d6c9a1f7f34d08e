"""What a server records of a model at /v1: the record is the model to the byte, failures included."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import msgspec
import openai
import pytest

from replay.core.determinism import pause
from replay.core.types import Json, Mode
from tests.support.commands import MINI, run_command
from tests.support.data import CHECKOUT
from tests.support.engines import FINDER, LEFT, LINGER, OPENED, PATIENT, SIGN
from tests.support.servers import Served, request_for, serving

# A server over a thawed archive takes its time.
pytestmark = pytest.mark.slow

BASE = CHECKOUT / "snapshots" / f"{MINI}.replay"
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
MODEL = "parrot"
SAID: Json = [{"role": "user", "content": "Good morning"}]
SCHEMA: Json = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": ["yes"]}},
    "required": ["word"],
    "additionalProperties": False,
}


def make_tool(parameters: Json, *, strict: bool = True) -> Json:
    """Describe a function."""
    function = {"name": "weather", "description": "Tells it", "parameters": parameters, "strict": strict}
    return {"type": "function", "function": function}


PLACE = make_tool({"type": "object", "properties": {"place": {"type": "string"}}})
OSLO = make_tool({"type": "object", "properties": {"place": {"type": "string", "enum": ["Oslo"]}}})
LONG: Json = [{"role": "user", "content": "x" * 99_922}]
"""Fills all but a few tokens of the model's context."""

ASKED: dict[str, Json] = {
    "plain": {"messages": SAID},
    "warm choices": {"messages": SAID, "n": 3, "temperature": 0.5, "seed": 4},
    "ranked": {"messages": SAID, "logprobs": True, "top_logprobs": 2},
    "called": {"messages": SAID, "tools": [PLACE]},
    "misfit": {"messages": SAID, "tools": [OSLO]},
    "in form": {
        "messages": SAID,
        "response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": SCHEMA}},
    },
    "cut": {"messages": SAID, "max_tokens": 9},
    "stopped": {"messages": SAID, "stop": [" says"]},
    "full": {"messages": LONG},
    "orphan": {"messages": [*SAID, {"role": "tool", "tool_call_id": "c", "content": "x"}]},
}


def ask(served: Served, words: Json, model: str = MODEL) -> tuple[int, bytes, int, bytes]:
    """Ask as a whole and as a stream."""
    found = []
    for stream in ({}, {"stream": True, "stream_options": {"include_usage": True}}):
        got = served.client.post(CHAT, json={"model": model, **words, **stream})
        found += [got.status_code, got.content]
    return tuple(found)  # type: ignore[return-value]


def record(home: Path, out: Path, *models: str) -> Json:
    """Ask to serve these models and to write what they say."""
    words = {"models": models, "finder": FINDER, "mode": Mode.RECORD, "out": str(out)}
    return request_for(str(BASE), home, **words)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stores of the tests that serve alone; no process opens one twice."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Json, Served]]:
    """Every answer of the model, and a strict server over what was recorded of it."""
    folder = tmp_path_factory.mktemp("recorded")
    home = folder / "home"
    with serving(record(home, folder / "out", MODEL)) as served:
        answers = {name: ask(served, words) for name, words in ASKED.items()}
    layer = folder / "layer.replay"
    words = ("--base", BASE, "--name", "said", "--version", "1", "--home", home)
    assert 0 == run_command("archive", "freeze", folder / "out" / "overlay", "-o", layer, *words).code
    OPENED.clear()
    with serving(request_for(str(layer), home, mode=Mode.STRICT)) as served:
        yield answers, served


@pytest.mark.parametrize("name", ASKED)
def test_a_frozen_answer_is_the_live_one(recorded: tuple[Json, Served], name: str) -> None:
    """Status and bytes, as a whole and as a stream; no model is loaded."""
    answers, served = recorded
    assert (answers[name], []) == (ask(served, ASKED[name]), OPENED)


@pytest.mark.parametrize(
    ("name", "code"),
    [("misfit", "model_invalid"), ("full", "context_length_exceeded"), ("orphan", "model_history")],
)
def test_what_is_no_answer_is_an_error(recorded: tuple[Json, Served], name: str, code: str) -> None:
    """Refused as a whole; a stream that had begun ends with it, and never with its own end."""
    status, body, stream_status, stream = recorded[0][name]
    error = msgspec.json.decode(body)["error"]
    assert (400, code) == (status, error["code"])
    if stream_status == 400:
        assert body == stream
        return
    *_, last, empty, _ = stream.decode().split("\n")
    assert ("", error) == (empty, msgspec.json.decode(last.removeprefix("data: "))["error"])


def test_a_stream_that_fails_raises_in_the_client(recorded: tuple[Json, Served]) -> None:
    """After the words that were said."""
    with openai.OpenAI(base_url=f"{recorded[1].url}/v1", api_key="none", max_retries=0) as client:
        chunks = iter(client.chat.completions.create(model=MODEL, messages=LONG, stream=True))
        heard = [next(chunks).choices[0].delta.content for _ in range(2)]
        with pytest.raises(openai.APIError, match="context is full"):
            list(chunks)
    assert ["", "parrot"] == heard


def test_options_that_are_left_out_do_not_matter_to_a_record(recorded: tuple[Json, Served]) -> None:
    """Named otherwise they do; log-probabilities are cut to what is asked, more than there are is a miss."""
    served = recorded[1]

    def told(**words: Json) -> Json:
        got = served.client.post(CHAT, json={"model": MODEL, "messages": SAID, **words}).json()
        return got["choices"][0] if "choices" in got else (got["error"]["code"], got["error"]["param"])

    assert told(temperature=0)["message"] == told(max_tokens=1024)["message"]
    assert ("replay_miss", "messages") == told(temperature=0.25)
    assert [1] * 3 == [
        len(t["top_logprobs"]) for t in told(logprobs=True, top_logprobs=1)["logprobs"]["content"]
    ][:3]
    assert ("replay_miss", "logprobs") == told(logprobs=True, top_logprobs=3)
    assert ("replay_miss", "logprobs") == told(logprobs=True, stop=[" says"])


def test_equal_requests_are_recorded_once(home: Path, tmp_path: Path) -> None:
    """Sixteen clients at once have one answer, of which one record is new; another seed is another."""
    with serving(record(home, tmp_path / "out", MODEL)) as served:
        with ThreadPoolExecutor(16) as pool:
            bodies = [{"model": MODEL, "messages": SAID, "seed": n % 2} for n in range(32)]
            answers = list(pool.map(lambda body: httpx.post(served.url + CHAT, json=body).content, bodies))
        assert (2, 2) == (len(set(answers)), served.counters.read()["recorded"])
        text = {"model": MODEL, "prompt": "Good morning", "seed": 1}
        assert 200 == served.client.post(TEXT, json=text).status_code
        assert 2 == served.counters.read()["recorded"]


def test_of_a_client_that_left_nothing_is_recorded(home: Path, tmp_path: Path) -> None:
    """Not even a part."""
    LEFT.clear()
    SIGN.set()
    LINGER.set()
    with serving(record(home, tmp_path / "out", PATIENT)) as served:
        body = {"model": PATIENT, "messages": SAID, "stream": True}
        with served.client.stream("POST", CHAT, json=body) as answer:
            next(answer.iter_lines())
        for _ in range(500):
            if LEFT:
                break
            pause(0.01)
        LINGER.clear()
        whole = served.client.post(CHAT, json={**body, "stream": False})
        assert (200, 1) == (whole.status_code, served.counters.read()["recorded"])
    assert ["the client left before its answer was whole"] == LEFT


def test_a_users_name_is_not_shown_to_a_local_model(home: Path) -> None:
    """No template writes it, so it is refused; a record may hold one."""
    with serving(request_for(str(BASE), home, models=(MODEL,), finder=FINDER)) as served:
        said = [{**SAID[0], "name": "ann"}]
        local, frozen = (
            served.client.post(CHAT, json={"model": model, "messages": said}).json()["error"]
            for model in (MODEL, "smollm2-135m")
        )
    assert ("messages[0].name", "replay_miss") == (local["param"], frozen["code"])
