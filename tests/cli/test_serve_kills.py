"""A recording server is killed under load: what a client got whole is on disk, and replays."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.commands import MINI, run_command
from tests.support.serving_processes import ServingProcess, serving_process
from tests.support.upstream import Asked, FakeUpstream, Reply, answer_json

# Each test starts three servers.
pytestmark = pytest.mark.slow

CLIENTS = 8
ENOUGH = 120
"""Answers after which the server is killed, while the other clients wait for theirs."""

Send = Callable[[httpx.Client, int], httpx.Response]


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """Clients, servers and upstreams of these tests meet on the loopback."""


def load_until_killed(server: ServingProcess, send: Send) -> dict[int, bytes]:
    """Ask for one item after another until the server is gone; return what came whole."""
    got: dict[int, bytes] = {}

    def ask(first: int) -> None:
        with httpx.Client(base_url=server.address, timeout=20) as client:
            for item in range(first, 100 * ENOUGH, CLIENTS):
                try:
                    answer = send(client, item)
                except httpx.HTTPError:
                    return
                assert 200 == answer.status_code
                got[item] = answer.content
                if len(got) >= ENOUGH:
                    server.process.kill()

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(ask, range(CLIENTS)))
    assert -9 == server.process.wait(30)
    assert len(got) >= ENOUGH
    return got


def get_item(client: httpx.Client, item: int) -> httpx.Response:
    """Ask a REST service for an item."""
    return client.get(f"/http/api/item?n={item}")


def call_item(client: httpx.Client, item: int) -> httpx.Response:
    """Call the virtual API for an item."""
    call = {"category": "News, Media", "tool_name": "gazette_stream", "api_name": "top_headlines"}
    call |= {"tool_input": json.dumps({"topic": f"item {item}"}), "strip": "", "toolbench_key": ""}
    return client.post("/virtual", json=call)


def say_item(asked: Asked) -> Reply:
    """Answer a REST request."""
    return answer_json({"asked": asked.target})


def say_call(asked: Asked) -> Reply:
    """Answer a call as a proxy does."""
    return answer_json({"error": "", "response": asked.json["tool_input"]["topic"]})


@pytest.mark.parametrize(
    ("archive", "kind", "send", "say"),
    [("made.replay", "rest", get_item, say_item), (MINI, "stabletoolbench-proxy", call_item, say_call)],
    ids=["http", "virtual"],
)
def test_nothing_acknowledged_is_lost(
    tmp_path: Path, fake: FakeUpstream, archive: str, kind: str, send: Send, say: Callable[[Asked], Reply]
) -> None:
    """SIGKILL under load; the next server goes on and asks for none of it again; all of it replays."""
    fake.answers("/v/item", say)
    fake.answers("/v", say)
    (tmp_path / "up.toml").write_text(
        f'[upstream.api]\nkind = "{kind}"\nbase_url = "{fake.url}/v"\nretries = 0\n'
    )
    served = tmp_path / archive if archive.endswith(".replay") else archive
    live = ("--mode", "record", "--upstream", tmp_path / "up.toml", "--out", tmp_path / "out")
    home = ("--home", tmp_path / "home")
    with serving_process(served, *live, *home) as server:
        got = load_until_killed(server, send)
    asked = len(fake.asked)
    with serving_process(served, *live, *home) as server:
        assert got == {item: send(server.client, item).content for item in got}
        assert (asked, 1) == (len(fake.asked), server.stop())
    fake.close()
    frozen = tmp_path / "frozen.replay"
    base = () if archive.endswith(".replay") else ("--base", Path("snapshots") / f"{archive}.replay", *home)
    done = run_command("archive", "freeze", tmp_path / "out" / "overlay", "-o", frozen, *base)
    assert 0 == done.code, done.err
    with serving_process(frozen, "--mode", "strict", *home) as server:
        assert got == {item: send(server.client, item).content for item in got}
