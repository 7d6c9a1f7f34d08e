"""What a connection that recalls answers holds itself to: time, memory, and who may ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from replay.server.counters import Counters
from replay.server.gate import Bounds, Gate
from replay.server.known import Header
from replay.server.wire import send_answer, write_message

KNOWN = b"POST /known HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Knowing:
    """An application that knows one answer, and needs a while for any other."""

    recalled = (b"/known",)

    def __init__(self, answer: bytes = b"known", *, takes_s: float = 0.0) -> None:
        self.asked = 0
        self._answer = write_message(answer)
        self._takes_s = takes_s

    def recall(self, path: bytes, headers: Sequence[Header], body: bytes) -> bytes | None:
        """Give the answer."""
        self.asked += 1
        return self._answer

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Give another one."""
        await asyncio.sleep(self._takes_s)
        await send_answer(send, b"slow")


@asynccontextmanager
async def connected(
    app: Knowing, *, keep_alive_s: float = 5
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server of its own."""
    pytest.importorskip("httptools")
    from replay.server.recalling import RecallProtocol

    config = uvicorn.Config(app, log_config=None, lifespan="off")
    config.timeout_keep_alive = keep_alive_s  # type: ignore[assignment]
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: RecallProtocol(config, ServerState(), {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2], limit=1 << 22)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        server.close()


def test_a_known_answer_does_not_limit_the_time_of_the_next_one() -> None:
    """The time in which a request must come is over when it has come, in the same packet too."""

    async def ask() -> bytes:
        async with connected(Knowing(takes_s=0.2), keep_alive_s=0.05) as (reader, writer):
            writer.write(KNOWN + SLOW)
            await reader.readuntil(b"known")
            return await reader.read(1 << 16)

    assert asyncio.run(ask()).endswith(b"slow")


def test_answers_that_nobody_takes_do_not_pile_up() -> None:
    """A client that asks much at once and reads nothing holds as little as it would one after another."""
    app = Knowing(b"x" * (1 << 20))

    async def ask() -> int:
        async with connected(app) as (_, writer):
            writer.write(KNOWN * 500)
            await asyncio.sleep(0.2)
            return app.asked

    assert 1 <= asyncio.run(ask()) < 20


@pytest.mark.parametrize(
    ("header", "is_told"),
    [
        ((b"origin", b"https://evil.example.org"), False),
        ((b"sec-fetch-site", b"cross-site"), False),
        ((b"origin", b"http://localhost:3000"), True),
    ],
)
def test_pages_of_other_sites_are_told_nothing_that_is_known(header: Header, is_told: bool) -> None:
    """Where the gate refuses them, no answer goes past it."""
    gate = Gate(Knowing(), counters=Counters(), bounds=Bounds(lends_keys=True))
    assert is_told == (gate.recall(b"/known", [(b"host", b"localhost"), header], b"") is not None)
