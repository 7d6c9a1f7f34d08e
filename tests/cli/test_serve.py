"""`replay serve` as a process: several workers, the network cut, a stop that leaves a log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from replay.core.determinism import pause
from replay.wiring.explaining import list_misses
from tests.support.commands import MINI, run_command
from tests.support.serving_processes import serving_process

CALL = {"category": "News, Media", "tool_name": "gazette_stream", "api_name": "top_headlines"}
CALL |= {"tool_input": '{"topic": "harbour"}', "strip": "", "toolbench_key": ""}


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """Let this test's client reach the server, whose own guard is on."""


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_clients_at_once_a_graceful_stop_and_its_log(tmp_path: Path, workers: str) -> None:
    """Sixteen clients get one answer; SIGTERM ends it with 0 and a run directory of all requests."""
    words = ("--workers", workers, "--home", tmp_path / "home", "--log", tmp_path / "log")
    with serving_process(MINI, *words) as server:
        client = server.client
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: client.post("/virtual", json=CALL).content, range(64)))
        client.post("/virtual", json=CALL | {"tool_input": '{"topic": "other"}'})
        assert (64, 0) == (server.metric("virtual_hits"), server.metric("network_attempts"))
        assert (0, 1) == (server.stop(), len(set(answers)))
    assert 1 == len(list_misses(tmp_path / "log")["wants"])
    assert 0 == run_command("verify", tmp_path / "log", "--home", tmp_path / "home").code


def test_a_damaged_archive_is_one_line(tmp_path: Path) -> None:
    """Nothing is served, and nothing is shown but what is wrong."""
    broken = tmp_path / "broken.replay"
    broken.write_bytes(b"nothing")
    got = run_command("serve", broken, "--port", "0", "--home", tmp_path / "home")
    assert (3, 1) == (got.code, len(got.err.splitlines()))


WITHOUT_CLIENT = """
import sys
from replay.cli.main import main
code = main(sys.argv[1:])
loaded = {"httpx", "httpcore", "requests", "replay.tools.live"} & set(sys.modules)
sys.exit(f"loaded: {sorted(loaded)}" if loaded else code)
"""
"""A server that looks back on what it has loaded."""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["strict", "replay"])
def test_no_client_of_the_network_is_loaded(tmp_path: Path, mode: str) -> None:
    """A server that does not record answers hits and misses of every route without the HTTP client."""
    words = ("--mode", mode, "--home", tmp_path / "home")
    with serving_process(MINI, *words, program=("-c", WITHOUT_CLIENT)) as server:
        for text in ('{"topic": "harbour"}', '{"topic": "other"}', "{oops"):
            assert 200 == server.client.post("/virtual", json=CALL | {"tool_input": text}).status_code
        chat = {"model": "mini-cot", "messages": [{"role": "user", "content": "Hello"}]}
        assert 404 == server.client.post("/v1/chat/completions", json=chat).status_code
        assert (0, "") == (server.stop(), server.err)


@pytest.mark.slow
def test_workers_do_not_outlive_a_killed_server(tmp_path: Path) -> None:
    """Nobody answers on the port soon after the process that was started is killed."""
    with serving_process(MINI, "--workers", "2", "--home", tmp_path / "home") as server:
        assert 200 == server.client.get("/healthz").status_code
        server.process.kill()
        for _ in range(100):
            try:
                httpx.get(f"{server.address}/healthz", timeout=5)
            except httpx.HTTPError:
                return
            pause(0.1)
        pytest.fail("a worker still answers")
