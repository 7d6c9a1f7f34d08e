"""What the transports of `replay.testing` add to a client's own cost of a request.

The same client asks for the same JSON answers through `httpx.MockTransport` and through ours, in turns of
twenty requests, half GET, half POST with a JSON body, in one thread; requests has no mock of its own, so its
adapter is measured beside an adapter that builds the same response from bytes it holds. `first`: each request
differs from all before it, so that its key has to be made; `again`: the same two over and over. Times are
processor times, the least of all turns: what else runs on the machine can only add to them.
"""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import requests
import urllib3
from requests.adapters import BaseAdapter, HTTPAdapter

from replay.testing.recording import Recording, open_recording

__all__ = ["run"]

REQUESTS: Final = 20
TURNS: Final = 60
ORIGIN: Final = "https://api.example.org"
BODY: Final = json.dumps(
    {"items": [{"id": number, "name": f"Station {number}", "open": True} for number in range(8)]}
).encode()
HEADERS: Final = {"content-type": "application/json", "x-request-cost": "1"}
STATIONS: Final = f"{ORIGIN}/v1/stations"
SEARCH: Final = f"{ORIGIN}/v1/search"
QUESTION: Final = {"query": "harbour", "filters": {"open": True, "near": [59.9, 10.7]}, "limit": 8}
_ALL: Final = range(TURNS * REQUESTS // 2)

Figures = dict[str, dict[str, float]]


def run() -> dict[str, Any]:
    """Measure; microseconds a request, and what ours adds."""
    with tempfile.TemporaryDirectory() as name:
        archive = Path(name) / "stations.replay"
        with open_recording(archive, mode="record") as recording:
            _ask_httpx(httpx.Client(transport=recording.transport(httpx.MockTransport(_answer))), _ALL)
        with open_recording(archive) as recording:
            return {
                "turns": TURNS,
                "requests_a_turn": REQUESTS,
                "body_bytes": len(BODY),
                "httpx": _compare_httpx(recording),
                "httpx_async": asyncio.run(_compare_async(recording)),
                "requests_adapter": _compare_requests(recording),
            }


def _compare_httpx(recording: Recording) -> Figures:
    with (
        httpx.Client(transport=httpx.MockTransport(_answer)) as mock,
        httpx.Client(transport=recording.transport()) as ours,
    ):
        return _compare(partial(_ask_httpx, mock), partial(_ask_httpx, ours))


async def _compare_async(recording: Recording) -> Figures:
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(_answer)) as mock,
        httpx.AsyncClient(transport=recording.async_transport()) as ours,
    ):
        times = _Times()
        for turn in range(TURNS):
            for phase, numbers in _phases(turn):
                for place, client in enumerate((mock, ours)):
                    start = time.process_time()
                    for number in numbers:
                        got = await client.get(f"{STATIONS}?near=oslo&page={number}")
                        found = await client.post(SEARCH, json={**QUESTION, "page": number})
                        assert got.content == found.content == BODY
                    times.add(phase, place, time.process_time() - start)
    return times.figures()


def _compare_requests(recording: Recording) -> Figures:
    with requests.Session() as plain, requests.Session() as ours:
        plain.mount("https://", _HeldAdapter())
        ours.mount("https://", recording.adapter())
        return _compare(partial(_ask_requests, plain), partial(_ask_requests, ours))


def _ask_httpx(client: httpx.Client, numbers: Iterable[int]) -> None:
    for number in numbers:
        got = client.get(f"{STATIONS}?near=oslo&page={number}")
        found = client.post(SEARCH, json={**QUESTION, "page": number})
        assert got.content == found.content == BODY


def _ask_requests(session: requests.Session, numbers: Iterable[int]) -> None:
    """Ask as `_ask_httpx` does: the two write JSON differently and have equal keys."""
    for number in numbers:
        got = session.get(f"{STATIONS}?near=oslo&page={number}")
        found = session.post(SEARCH, json={**QUESTION, "page": number})
        assert got.content == found.content == BODY


def _phases(turn: int) -> tuple[tuple[str, Iterable[int]], ...]:
    half = REQUESTS // 2
    return ("first", range(turn * half, (turn + 1) * half)), ("again", [0] * half)


class _Times:
    """The least time of each phase, of the mock and of ours."""

    def __init__(self) -> None:
        self._least: dict[str, list[float]] = {}

    def add(self, phase: str, place: int, seconds: float) -> None:
        least = self._least.setdefault(phase, [float("inf"), float("inf")])
        least[place] = min(least[place], seconds)

    def figures(self) -> Figures:
        found = {}
        for phase, least in self._least.items():
            mock, ours = (seconds / REQUESTS * 1e6 for seconds in least)
            found[phase] = {
                "mock_us": round(mock, 1),
                "ours_us": round(ours, 1),
                "added_us": round(ours - mock, 1),
            }
        return found


def _compare(mock: Callable[[Iterable[int]], None], ours: Callable[[Iterable[int]], None]) -> Figures:
    times = _Times()
    for turn in range(TURNS):
        for phase, numbers in _phases(turn):
            for place, ask in enumerate((mock, ours)):
                start = time.process_time()
                ask(numbers)
                times.add(phase, place, time.process_time() - start)
    return times.figures()


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
