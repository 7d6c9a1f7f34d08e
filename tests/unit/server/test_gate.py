"""The gate: load, and errors that become answers while the server lives on."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from replay.core.errors import DamagedError, InputError, ReplayError
from replay.server.counters import Counters
from replay.server.gate import Bounds, Gate
from replay.server.wire import send_answer


def client_of(gate: Gate) -> httpx.AsyncClient:
    """A client of a gate in this process."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(gate), base_url="http://localhost")


@pytest.mark.parametrize(
    ("error", "status", "counter"),
    [(DamagedError("a page is damaged"), 500, "failed"), (InputError("a wrong word"), 400, "refused")],
)
def test_an_error_is_one_line(error: ReplayError, status: int, counter: str) -> None:
    """Damaged data is the server's fault, a wrong request the client's; both are counted."""
    counters = Counters()

    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise error

    async def ask() -> httpx.Response:
        async with client_of(Gate(fail, counters=counters)) as client:
            return await client.get("/")

    got = asyncio.run(ask())
    assert (status, str(error), 1) == (got.status_code, got.json()["detail"], counters.read()[counter])


def test_what_a_stop_cuts_off_is_told() -> None:
    """A request that is cancelled gets 503 and one line, not a broken connection."""

    async def hang(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await asyncio.sleep(60)

    async def ask() -> httpx.Response:
        async with client_of(Gate(hang, counters=Counters())) as client:
            asking = asyncio.create_task(client.get("/"))
            await asyncio.sleep(0.01)
            asking.cancel("the stop")
            return await asking

    got = asyncio.run(ask())
    assert (503, {"detail": "the server stopped first"}) == (got.status_code, got.json())


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (("origin", "https://evil.example.org"), 403),
        (("origin", "https://localhost.evil.example.org"), 403),
        (("origin", "null"), 403),
        (("sec-fetch-site", "cross-site"), 403),
        (("origin", "http://localhost:3000"), 200),
        (("origin", "http://[::1]:3000"), 200),
        (("sec-fetch-site", "same-origin"), 200),
        (("accept", "*/*"), 200),
    ],
)
def test_pages_of_other_sites_get_no_keys_lent(header: tuple[str, str], status: int) -> None:
    """Where requests go on with credentials, only programs and pages of this machine may ask."""

    async def fine(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send_answer(send, b"{}")

    async def ask() -> int:
        gate = Gate(fine, counters=Counters(), bounds=Bounds(lends_keys=True))
        async with client_of(gate) as client:
            return (await client.get("/", headers=dict([header]))).status_code

    assert status == asyncio.run(ask())


def test_a_crowd_is_bounded() -> None:
    """What is over the bound is told to try again, and what is in work ends well."""

    async def slow(_scope: Scope, _receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.05)
        await send_answer(send, b"{}")

    async def ask() -> list[int]:
        async with client_of(Gate(slow, counters=Counters(), bounds=Bounds(max_requests=2))) as client:
            return [got.status_code for got in await asyncio.gather(*(client.get("/") for _ in range(5)))]

    assert [200, 200, 503, 503, 503] == sorted(asyncio.run(ask()))
