"""A client that does not go on gives up its place; everybody else has all the time there is."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from replay.core.types import Json
from replay.server.counters import Counters
from replay.server.gate import Bounds, Gate
from replay.server.patience import Patience
from replay.server.wire import read_body, send_answer

SCOPE: Scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Say what was sent."""
    await send_answer(send, await read_body(scope, receive, limit=1000))


async def serve(gate: Gate, receive: Receive, send: Send) -> None:
    """Serve one request, as a server does: in a task of its own."""
    await asyncio.wait_for(asyncio.create_task(gate(SCOPE, receive, send)), 5)


def run(receive: Receive, *, stalls_at: int = 99, counters: Counters | None = None) -> list[Message]:
    """Serve one request of a client that takes so many messages; return what it took."""
    taken: list[Message] = []

    async def send(message: Message) -> None:
        if len(taken) >= stalls_at:
            await asyncio.sleep(60)
        taken.append(message)

    gate = Gate(echo, counters=counters or Counters(), bounds=Bounds(read_timeout_s=0.05))
    asyncio.run(serve(gate, receive, send))
    return taken


async def receive_whole() -> Message:
    """Send a body at once."""
    return {"type": "http.request", "body": b"whole", "more_body": False}


async def receive_nothing() -> Message:
    """Send nothing, and stay."""
    await asyncio.sleep(60)
    return {}


def test_a_body_that_never_comes_is_408() -> None:
    """One line, and it is the client's fault."""
    counters = Counters()
    start, body = run(receive_nothing, counters=counters)
    assert (408, 1, 0) == (start["status"], counters.read()["refused"], counters.read()["failed"])
    assert b"nothing of the body came for 0.05 seconds" in body["body"]


@pytest.mark.parametrize("stalls_at", [0, 1])
def test_an_answer_that_is_not_taken_gives_up_its_place(stalls_at: int) -> None:
    """The request ends, whatever of the answer is out."""
    counters = Counters()
    taken = run(receive_whole, stalls_at=stalls_at, counters=counters)
    assert (stalls_at, 1) == (len(taken), counters.read()["refused"])


def test_whoever_goes_on_is_let() -> None:
    """Each part in time is enough, however long all of them take."""
    parts = iter([b"a", b"b", b"c", b"d", b"e"])

    async def receive_slowly() -> Message:
        await asyncio.sleep(0.03)
        body = next(parts)
        return {"type": "http.request", "body": body, "more_body": body != b"e"}

    start, body = run(receive_slowly)
    assert (200, b"abcde") == (start["status"], body["body"])


def test_work_between_the_two_is_not_watched() -> None:
    """A slow answer is not a slow client."""

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(scope, receive, limit=1000)
        await asyncio.sleep(0.2)
        await send_answer(send, b"{}")

    taken: list[Json] = []

    async def send(message: Message) -> None:
        taken.append(message.get("status"))

    gate = Gate(slow, counters=Counters(), bounds=Bounds(read_timeout_s=0.05))
    asyncio.run(serve(gate, receive_whole, send))
    assert [200, None] == taken


def test_other_cancellations_are_not_the_clients() -> None:
    """Only what the watch cancelled is late."""

    async def look() -> bool:
        return Patience(1).ran_out()

    assert not asyncio.run(look())
