"""What /virtual keeps in memory is bounded by bytes, whatever clients ask for."""

from __future__ import annotations

import asyncio
import json
import tracemalloc

import httpx
import pytest

from replay.core.errors import MissError
from replay.core.trajectory import Step
from replay.core.types import CallRequest, Json, ToolResult
from replay.server.counters import Counters
from replay.server.virtual_api import Fields, Found, Virtual

MIB = 1024 * 1024


class Rules:
    """Takes every call as it is."""

    def read(self, fields: Fields) -> CallRequest | dict[str, Json]:
        """Make its lookup."""
        return CallRequest(benchmark="b", tool="t", arguments=fields["tool_input"])


class Nothing:
    """Records of nothing."""

    def hit(self, request: CallRequest) -> Found | None:
        """Know none."""
        return None

    def resolve(self, request: CallRequest) -> ToolResult:
        """Say what was asked."""
        error = MissError("nothing is recorded")
        error.want = {"key": "k", "call": request.arguments}
        raise error


class Gone:
    """A log that nobody keeps."""

    def write(self, step: Step, *, stop: str = "finished", detail: str = "") -> None:
        """Take a step."""


@pytest.mark.slow
@pytest.mark.parametrize(("log", "most"), [(None, 16 * MIB), (Gone(), 80 * MIB)])
def test_misses_of_large_calls_do_not_fill_the_memory(log: Gone | None, most: int) -> None:
    """Empty lists take twenty times their text as values; a hundred such calls would take 150 MiB."""
    virtual = Virtual(Rules(), Nothing(), counters=Counters(), log=log, max_body=MIB)
    named = dict.fromkeys(("category", "tool_name", "api_name", "strip", "toolbench_key"), "x")

    async def ask() -> int:
        transport = httpx.ASGITransport(virtual)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            tracemalloc.start()
            for number in range(100):
                call = {"number": number, "lists": [[]] * 20_000}
                body = json.dumps({**named, "tool_input": call}, separators=(",", ":"))
                got = await client.post("/virtual", content=body)
                assert 200 == got.status_code
            used, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return used

    assert asyncio.run(ask()) < most
