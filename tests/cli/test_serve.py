"""`replay serve` as a process: several workers, the network cut, a stop that leaves a log."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from replay.core.determinism import child_environment, pause
from replay.wiring.explaining import list_misses
from tests.support.commands import MINI, run_command
from tests.support.data import CHECKOUT

CALL = {"category": "News, Media", "tool_name": "gazette_stream", "api_name": "top_headlines"}
CALL |= {"tool_input": '{"topic": "harbour"}', "strip": "", "toolbench_key": ""}


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """Let this test's client reach the server, whose own guard is on."""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_clients_at_once_a_graceful_stop_and_its_log(tmp_path: Path, workers: int) -> None:
    """Sixteen clients get one answer; SIGTERM ends it with 0 and a run directory of all requests."""
    words = ["serve", MINI, "--port", "0", "--json", "--workers", str(workers)]
    words += ["--home", str(tmp_path / "home"), "--log", str(tmp_path / "log")]
    server = subprocess.Popen(
        [sys.executable, "-m", "replay", *words],
        stdout=subprocess.PIPE,
        env=child_environment(),
        cwd=CHECKOUT,
        text=True,
    )
    assert server.stdout is not None
    try:
        address = json.loads(server.stdout.readline())["address"]
        with httpx.Client(base_url=address, timeout=30) as client, ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: client.post("/virtual", json=CALL).content, range(64)))
            client.post("/virtual", json=CALL | {"tool_input": '{"topic": "other"}'})
            metrics = client.get("/metrics").text
    finally:
        server.send_signal(signal.SIGTERM)
        server.stdout.close()
        code = server.wait(30)
    assert (0, 1) == (code, len(set(answers)))
    assert "replay_virtual_hits_total 64\n" in metrics
    assert "replay_network_attempts_total 0\n" in metrics
    assert 1 == len(list_misses(tmp_path / "log")["wants"])
    assert 0 == run_command("verify", tmp_path / "log", "--home", tmp_path / "home").code


def test_a_damaged_archive_is_one_line(tmp_path: Path) -> None:
    """Nothing is served, and nothing is shown but what is wrong."""
    broken = tmp_path / "broken.replay"
    broken.write_bytes(b"nothing")
    got = run_command("serve", broken, "--port", "0", "--home", tmp_path / "home")
    assert (3, 1) == (got.code, len(got.err.splitlines()))


@pytest.mark.slow
def test_no_client_of_the_network_is_loaded() -> None:
    """Everything that a server over an archive imports leaves the HTTP client out."""
    code = "import sys, replay.wiring.serving_work; print('httpx' in sys.modules, 'requests' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=child_environment(),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "False False\n" == done.stdout


@pytest.mark.slow
def test_workers_do_not_outlive_a_killed_server(tmp_path: Path) -> None:
    """Nobody answers on the port soon after the process that was started is killed."""
    words = ["serve", MINI, "--port", "0", "--json", "--workers", "2", "--home", str(tmp_path / "home")]
    server = subprocess.Popen(
        [sys.executable, "-m", "replay", *words],
        stdout=subprocess.PIPE,
        env=child_environment(),
        cwd=CHECKOUT,
        text=True,
    )
    assert server.stdout is not None
    address = json.loads(server.stdout.readline())["address"]
    assert 200 == httpx.get(f"{address}/healthz", timeout=30).status_code
    server.kill()
    server.stdout.close()
    server.wait(10)
    for _ in range(100):
        try:
            httpx.get(f"{address}/healthz", timeout=5)
        except httpx.HTTPError:
            return
        pause(0.1)
    pytest.fail("a worker still answers")
