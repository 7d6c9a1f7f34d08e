"""A stream in work: what ends it early is its last event, and the thread that answers ends too."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest

from replay.core.errors import DamagedError, ModelError
from replay.core.types import Completion, Json
from replay.server.chat_api import ChatApi
from replay.server.chat_talk import Listener
from replay.server.chat_wishes import ChatWish
from replay.server.counters import Counters

BODY: Json = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}


class Sources:
    """Answers by a function."""

    def __init__(self, answer: Callable[[ChatWish, Listener], Iterator[Completion]]) -> None:
        self.answer = answer

    def models(self) -> tuple[str, ...]:
        """One."""
        return ("m",)


class Endless:
    """Talks until its listener has had enough, and remembers why it ended."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def __call__(self, _wish: ChatWish, listener: Listener) -> Iterator[Completion]:
        """Say one word after another."""
        try:
            for count in range(1, 100_000):
                listener("word " * count, ())
                threading.Event().wait(0.001)
        except ModelError:
            self.ended.set()
            raise
        yield Completion(content="never")


def events_of(text: str) -> list[Json]:
    """Read the events of a stream; its end as a text."""
    lines = [line.removeprefix("data: ") for line in text.split("\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def stream_of(api: ChatApi, *, cancel_after_s: float | None = None, takes: int = 1_000_000) -> str:
    """Ask in this process, and cancel as a stopping server does; the client takes so many parts."""
    sent: list[bytes] = []

    async def receive() -> Json:
        if not sent:
            sent.append(b"")
            return {"type": "http.request", "body": json.dumps(BODY).encode()}
        return await asyncio.get_running_loop().create_future()

    async def send(message: Json) -> None:
        if len(sent) > takes:
            await asyncio.get_running_loop().create_future()
        sent.append(message.get("body", b""))

    async def ask() -> None:
        scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": []}
        asking = asyncio.create_task(api(scope, receive, send))
        if cancel_after_s is not None:
            await asyncio.sleep(cancel_after_s)
            asking.cancel("the stop")
        await asking

    asyncio.run(ask())
    return b"".join(sent).decode()


def _break(what: str) -> Completion:
    raise DamagedError(what)


def test_a_stop_is_the_last_event() -> None:
    """The client is told, nothing is thrown about, and nobody talks on."""
    endless, counters = Endless(), Counters()
    events = events_of(
        stream_of(ChatApi(Sources(endless), counters=counters, max_body=999), cancel_after_s=0.1)
    )
    assert 2 < len(events)
    assert {"message": "the server stopped first", "type": "server_error"} == events[-1]["error"]
    assert endless.ended.wait(5)
    assert (1, 0) == (counters.read()["failed"], counters.read()["completions"])


def test_a_client_that_takes_no_more_is_told_nothing() -> None:
    """Whoever gives it up is not made to wait again, and nobody talks on."""
    endless = Endless()
    api = ChatApi(Sources(endless), counters=Counters(), max_body=999)
    with pytest.raises(asyncio.CancelledError):
        stream_of(api, cancel_after_s=0.1, takes=3)
    assert endless.ended.wait(5)


def test_damage_behind_the_first_choice_is_the_last_event() -> None:
    """What was said stays said."""

    def answer(_wish: ChatWish, _listener: Listener) -> Iterator[Completion]:
        yield Completion(content="one")
        raise DamagedError("a page is damaged")

    counters = Counters()
    events = events_of(stream_of(ChatApi(Sources(answer), counters=counters, max_body=999)))
    assert ["stop", "a page is damaged"] == [
        events[-2]["choices"][0]["finish_reason"],
        events[-1]["error"]["message"],
    ]
    assert 1 == counters.read()["failed"]


def test_damage_before_the_first_event_is_raised() -> None:
    """The gate makes an answer of it."""

    def answer(_wish: ChatWish, _listener: Listener) -> Iterator[Completion]:
        yield from map(_break, ("a page is damaged",))

    counters = Counters()
    with pytest.raises(DamagedError):
        stream_of(ChatApi(Sources(answer), counters=counters, max_body=999))
    assert 0 == counters.read()["completions"]


def test_a_broken_source_is_our_bug() -> None:
    """Not an end of the stream in silence."""

    def answer(_wish: ChatWish, listener: Listener) -> Iterator[Completion]:
        listener("one two three", ())
        yield Completion(content="something else")

    events = events_of(stream_of(ChatApi(Sources(answer), counters=Counters(), max_body=999)))
    assert "does not begin with what was said" in events[-1]["error"]["message"]


def test_other_methods_are_refused() -> None:
    """With the method that is taken."""

    async def ask() -> httpx.Response:
        api = ChatApi(Sources(Endless()), counters=Counters(), max_body=999)
        transport = httpx.ASGITransport(api)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/v1/chat/completions")

    assert 405 == asyncio.run(ask()).status_code
