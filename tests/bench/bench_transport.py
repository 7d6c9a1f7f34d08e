"""What the transports of `replay.testing` add to a client's own cost of a request.

The same client asks for the same JSON answers through `httpx.MockTransport` and through ours, in turns of a
few hundred requests, in one thread; requests has no mock of its own, so its adapter is measured beside an
adapter that builds the same response from bytes it holds. Times are processor times, the least of all turns:
what else runs on the machine can only add to them.
"""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import requests
import urllib3
from requests.adapters import BaseAdapter, HTTPAdapter

from replay.testing.recording import Recording, open_recording

__all__ = ["run"]

REQUESTS: Final = 200
TURNS: Final = 30
ORIGIN: Final = "https://api.example.org"
BODY: Final = json.dumps(
    {"items": [{"id": number, "name": f"Station {number}", "open": True} for number in range(8)]}
).encode()
HEADERS: Final = {"content-type": "application/json", "x-request-cost": "1"}
QUESTION: Final = {"query": "harbour", "filters": {"open": True, "near": [59.9, 10.7]}, "limit": 8}


def run() -> dict[str, Any]:
    """Measure; microseconds a request, and what ours adds."""
    with tempfile.TemporaryDirectory() as name:
        archive = Path(name) / "stations.replay"
        with open_recording(archive, mode="record") as recording:
            _ask_httpx(httpx.Client(transport=recording.transport(httpx.MockTransport(_answer))))
        with open_recording(archive) as recording:
            return {
                "requests": REQUESTS * TURNS,
                "body_bytes": len(BODY),
                "httpx": _compare_httpx(recording),
                "httpx_async": asyncio.run(_compare_async(recording)),
                "requests_adapter": _compare_requests(recording),
            }


def _compare_httpx(recording: Recording) -> dict[str, float]:
    with (
        httpx.Client(transport=httpx.MockTransport(_answer)) as mock,
        httpx.Client(transport=recording.transport()) as ours,
    ):
        return _compare(lambda: _ask_httpx(mock), lambda: _ask_httpx(ours))


async def _compare_async(recording: Recording) -> dict[str, float]:
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(_answer)) as mock,
        httpx.AsyncClient(transport=recording.async_transport()) as ours,
    ):
        least = [float("inf"), float("inf")]
        for _ in range(TURNS):
            for place, client in enumerate((mock, ours)):
                start = time.process_time()
                for _ in range(REQUESTS // 2):
                    for answer in (
                        await client.get(f"{ORIGIN}/v1/stations?near=oslo"),
                        await client.post(f"{ORIGIN}/v1/search", json=QUESTION),
                    ):
                        assert answer.content == BODY
                least[place] = min(least[place], time.process_time() - start)
    return _figures(*least)


def _compare_requests(recording: Recording) -> dict[str, float]:
    with requests.Session() as plain, requests.Session() as ours:
        plain.mount("https://", _HeldAdapter())
        ours.mount("https://", recording.adapter())
        return _compare(lambda: _ask_requests(plain), lambda: _ask_requests(ours))


def _ask_httpx(client: httpx.Client) -> None:
    for _ in range(REQUESTS // 2):
        for answer in (
            client.get(f"{ORIGIN}/v1/stations?near=oslo"),
            client.post(f"{ORIGIN}/v1/search", json=QUESTION),
        ):
            assert answer.content == BODY


def _ask_requests(session: requests.Session) -> None:
    # httpx and requests write JSON differently and name other headers: their keys must be the same.
    for _ in range(REQUESTS // 2):
        for answer in (
            session.get(f"{ORIGIN}/v1/stations?near=oslo"),
            session.post(f"{ORIGIN}/v1/search", json=QUESTION),
        ):
            assert answer.content == BODY


def _compare(mock: Callable[[], None], ours: Callable[[], None]) -> dict[str, float]:
    least = [float("inf"), float("inf")]
    for _ in range(TURNS):
        for place, ask in enumerate((mock, ours)):
            start = time.process_time()
            ask()
            least[place] = min(least[place], time.process_time() - start)
    return _figures(*least)


def _figures(mock_s: float, ours_s: float) -> dict[str, float]:
    mock_us, ours_us = mock_s / REQUESTS * 1e6, ours_s / REQUESTS * 1e6
    return {
        "mock_us": round(mock_us, 1),
        "ours_us": round(ours_us, 1),
        "added_us": round(ours_us - mock_us, 1),
    }


def _answer(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, headers=HEADERS, content=BODY)


class _HeldAdapter(BaseAdapter):
    """Answers every request from memory, as a mock does."""

    def __init__(self) -> None:
        super().__init__()
        self._builder = HTTPAdapter()

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        raw = urllib3.HTTPResponse(
            body=io.BytesIO(BODY), headers=HEADERS, status=200, preload_content=False, decode_content=False
        )
        return self._builder.build_response(request, raw)

    def close(self) -> None:
        self._builder.close()
