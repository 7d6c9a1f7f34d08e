"""`replay serve` holds: stalled and oversized requests, dead workers, damaged stores, a refused network."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from replay.core.determinism import pause
from replay.core.types import Mode
from replay.engine.rundir.reading import load_run
from replay.testing.httpx_transport import ReplayTransport
from replay.wiring.exchanges import ExchangePlan, open_exchanges
from tests.support.commands import MINI, run_command
from tests.support.data import CHECKOUT
from tests.support.serving_processes import ServingProcess, serving_process
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import need_binding

# Each test starts a server.
pytestmark = pytest.mark.slow

CALL = {"category": "News, Media", "tool_name": "gazette_stream", "api_name": "top_headlines"}
CALL |= {"tool_input": '{"topic": "harbour"}', "strip": "", "toolbench_key": ""}
OTHER = CALL | {"tool_input": '{"topic": "unheard of"}'}


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """Let this test's client reach the server, whose own guard is on."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the stores lie."""
    return tmp_path / "home"


def answers_still(server: ServingProcess) -> bool:
    """Whether a recorded call is answered as ever."""
    return bool(server.client.post("/virtual", json=CALL).json()["error"] == "")


def send_raw(server: ServingProcess, head: str, body: bytes = b"", *, then: bytes = b"") -> bytes:
    """Send a request by hand and return what comes before the connection is closed."""
    place = urlsplit(server.address)
    assert place.hostname is not None
    with socket.create_connection((place.hostname, place.port or 0), timeout=20) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        got = b""
        if then:
            pause(0.05)
            connection.sendall(then)
        while part := connection.recv(65536):
            got += part
        return got


HEAD = "POST /virtual HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 200"


@pytest.mark.parametrize("body", [b"", b'{"category": "News'], ids=["nothing", "half"])
def test_a_body_that_stops_coming_is_given_up(home: Path, body: bytes) -> None:
    """408 and one line in time, the connection closed, the server as it was."""
    with serving_process(MINI, "--home", home, "--read-timeout", "0.3") as server:
        got = send_raw(server, HEAD, body)
        assert got.startswith(b"HTTP/1.1 408 ")
        assert b'{"detail":"nothing of the body came for 0.3 seconds"}' == got.partition(b"\r\n\r\n")[2]
        assert answers_still(server)
        assert (1, 0) == (server.metric("refused"), server.stop())


def test_what_cannot_be_served_is_refused_and_the_server_lives_on(home: Path) -> None:
    """Each has its status and one clear line: 100 MB, no JSON, another Host, another path, no length."""
    with serving_process(MINI, "--home", home) as server:
        client = server.client
        kind = {"content-type": "application/json"}
        refused = [
            client.post("/virtual", content=b"x" * 100_000_000, headers=kind),
            client.post("/virtual", content=iter([b"x" * 1_000_000] * 20), headers=kind),
            client.post("/virtual", content=b"{oops", headers=kind),
            client.post("/virtual", content=b"[" * 100_000, headers=kind),
            client.post("/virtual", json=CALL, headers={"host": "evil.example.org"}),
            client.get("/nowhere"),
            client.get("/virtual"),
            client.get("/http/api/now"),
            client.post("/v1/chat/completions", content=b"{oops", headers=kind),
            client.post("/healthz"),
        ]
        assert [413, 413, 422, 422, 421, 404, 405, 404, 400, 405] == [got.status_code for got in refused]
        for got in refused:
            assert 1 == len(got.text.splitlines())
        assert b"HTTP/1.1 400 " == send_raw(server, "NONSENSE")[:13]
        assert answers_still(server)
        assert (0, "Invalid HTTP request received.\n") == (server.stop(), server.err)


def test_a_port_in_use_is_one_line(home: Path) -> None:
    """The second server on a port names it, exit 3; the first answers."""
    with serving_process(MINI, "--home", home) as server:
        port = str(urlsplit(server.address).port)
        second = run_command("serve", MINI, "--home", home, "--port", port)
        assert (3, 1) == (second.code, len(second.err.splitlines()))
        assert f"port {port} is in use" in second.err
        assert answers_still(server)


def workers_of(server: ServingProcess) -> list[int]:
    """Processes that accept on the server's port, but for the one that was started."""
    found = []
    for process in sorted(Path("/proc").glob("[0-9]*")):
        try:
            line = (process / "cmdline").read_bytes()
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if parent == server.process.pid and b"spawn_main" in line:
            found.append(int(process.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="workers are found in /proc")
def test_a_killed_worker_is_replaced(home: Path, tmp_path: Path) -> None:
    """The others answer meanwhile, one line says what happened, and no logged request is lost."""
    with serving_process(MINI, "--home", home, "--workers", "2", "--log", tmp_path / "log") as server:
        assert answers_still(server)
        before = workers_of(server)
        os.kill(before[0], signal.SIGKILL)
        answered = 0
        for _ in range(200):
            # A connection that the dead worker had taken already breaks.
            with httpx.Client(base_url=server.address, timeout=20) as client, suppress(httpx.TransportError):
                answered += client.post("/virtual", json=CALL).status_code == 200
            if len(workers_of(server)) == 2 and before[0] not in workers_of(server):
                break
            pause(0.02)
        assert 2 == len(before) == len(workers_of(server))
        assert 0 == server.stop()
    assert "replay: worker 0 ended with -9; another one serves in its place\n" in server.err or (
        "replay: worker 1 ended with -9; another one serves in its place\n" in server.err
    )
    assert 0 < answered + 1 <= load_run(tmp_path / "log").manifest.inputs.planned
    assert 0 == run_command("verify", tmp_path / "log", "--home", home).code


def spoil(data: Path, kind: str) -> None:
    """Damage a store's file as a disk or a person would."""
    data.chmod(0o644)
    size, noise = data.stat().st_size, bytes(7 * place % 251 for place in range(4080))
    with data.open("r+b") as file:
        if kind == "cut short":
            file.truncate(size // 3)
            return
        for page in range(2, size // 4096):
            file.seek(page * 4096 + 16)
            file.write(b"\0" * 4080 if kind == "zeros" else noise)


@pytest.mark.parametrize("kind", ["cut short", "zeros", "noise"])
def test_a_store_that_is_damaged_while_it_is_served(home: Path, kind: str) -> None:
    """500 and one line for what cannot be read any more; counted; the server goes on and stops well."""
    with serving_process(MINI, "--home", home) as server:
        assert answers_still(server)
        (data,) = home.rglob("data.mdb")
        spoil(data, kind)
        for _ in range(3):
            got = server.client.post("/virtual", json=OTHER)
            assert (500, "DamagedError") == (got.status_code, got.json()["error"]["error"])
            assert 1 == len(got.text.splitlines())
            assert "store is damaged" in got.json()["detail"]
        assert 3 == server.metric("failed")
        assert (0, "") == (server.stop(), server.err)
    with serving_process(MINI, "--home", home) as server:
        assert answers_still(server), "a store that is not whole is built again"


def test_an_archive_may_vanish_while_it_is_served(home: Path, tmp_path: Path) -> None:
    """The store was built of it; the file is not looked at again."""
    archive = tmp_path / "copy.replay"
    archive.write_bytes((CHECKOUT / "snapshots" / f"{MINI}.replay").read_bytes())
    with serving_process(archive, "--home", home) as server:
        archive.write_bytes(b"gone")
        assert answers_still(server)
        assert 0 == server.stop()


REACHING = """
import socket, sys, threading, time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from replay.cli.main import main

def reach():
    while not Path(sys.argv[1], "go").exists():
        time.sleep(0.01)
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=1)
        said = "reached"
    except Exception as error:
        said = type(error).__name__
    Path(sys.argv[1], "said.part").write_text(said)
    Path(sys.argv[1], "said.part").rename(Path(sys.argv[1], "said"))

threading.Thread(target=reach, daemon=True).start()
sys.exit(main(sys.argv[2:]))
"""
"""A server with something in it that tries to reach the network once it is told to."""


def test_a_network_call_inside_the_server_is_refused_and_counted(home: Path, tmp_path: Path) -> None:
    """The metric and the result of the log say how many there were."""
    words = (MINI, "--home", home, "--log", tmp_path / "log")
    with serving_process(*words, program=("-c", REACHING, tmp_path)) as server:
        assert answers_still(server)
        (tmp_path / "go").touch()
        while not (tmp_path / "said").exists():
            pause(0.01)
        assert "NetworkBlockedError" == (tmp_path / "said").read_text()
        attempts = server.metric("network_attempts")
        assert attempts >= 1
        assert answers_still(server)
        assert 0 == server.stop()
    guard = load_run(tmp_path / "log").manifest.guard
    assert guard is not None
    assert attempts == guard.network_attempts


@pytest.mark.model
def test_the_log_of_a_server_with_a_simulator(home: Path, tmp_path: Path) -> None:
    """Recorded, simulated and generated answers and misses: labelled, verified, explained and listed."""
    need_binding()
    added = run_command("models", "add", write_tiny_llama(tmp_path / "tiny.gguf"), "--home", home)
    assert 0 == added.code, added.err
    log = tmp_path / "log"
    words = ("--simulator", "model:tiny", "--model", "tiny", "--threads", "1", "--log", log, "--home", home)
    chat = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}
    with serving_process(MINI, *words) as server:
        recorded, *simulated = [server.client.post("/virtual", json=call) for call in (CALL, OTHER, OTHER)]
        said = server.client.post("/v1/chat/completions", json={"model": "tiny", **chat})
        missed = server.client.post("/v1/chat/completions", json={"model": "mini-cot", **chat})
        counts = [server.metric(name) for name in ("virtual_hits", "virtual_simulated", "completions")]
        assert 0 == server.stop()
    assert [None, "simulated", "simulated"] == [
        got.headers.get("x-replay-provenance") for got in (recorded, *simulated)
    ]
    assert (1, [1, 2, 1]) == (len({got.content for got in simulated}), counts)
    assert (200, 404) == (said.status_code, missed.status_code)
    checked = run_command("verify", log, "--home", home, "--json")
    assert (0, 5, 1) == (checked.code, checked.document["episodes"], checked.document["recomputed"])
    shown = [run_command("explain", log, f"0-{number:06d}", "--json").document for number in range(5)]
    labels = [step.get("provenance", step["kind"]) for episode in shown for step in episode["steps"]]
    assert ["scripted", "simulated", "simulated", "generated", "note"] == labels
    assert 1 == len(run_command("misses", log, "--json").document["wants"])


def record_items(folder: Path, texts: Sequence[str]) -> dict[int, bytes]:
    """Make an archive of a service with an item of each text."""
    found: dict[int, bytes] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        item = int(request.url.params["n"])
        return httpx.Response(200, json={"n": item, "text": texts[item]})

    plan = ExchangePlan(archive=str(folder / "items.replay"), mode=Mode.RECORD, home=str(folder / "home"))
    with open_exchanges(plan) as book:
        made = ReplayTransport(book.exchanges.session("made"), live=httpx.MockTransport(answer), records=True)
        with httpx.Client(transport=made, base_url="https://items.example.org") as client:
            for item in range(len(texts)):
                found[item] = client.get(f"/item?n={item}").content
    return found


def serve_items(folder: Path, *words: str) -> AbstractContextManager[ServingProcess]:
    """Serve what was recorded of them."""
    origin = ("--upstream", "items=https://items.example.org")
    return serving_process(folder / "items.replay", "--home", folder / "home", *origin, *words)


@pytest.mark.parametrize("apart", [100_003, 10_007, 1_009])
def test_bits_that_turn_while_they_are_served_tear_no_answer(tmp_path: Path, apart: int) -> None:
    """What comes is what was recorded, byte for byte, or 500; whatever bits of the store turned."""
    items = record_items(tmp_path, [f"{item} " * (7 * item % 600) for item in range(150)])
    with serve_items(tmp_path) as server:
        (data,) = (tmp_path / "home").rglob("data.mdb")
        data.chmod(0o644)
        content = data.read_bytes()
        with data.open("r+b") as file:
            for place in range(8192, len(content), apart):
                file.seek(place)
                file.write(bytes([content[place] ^ 1 << place % 8]))
        got = {item: server.client.get(f"/http/items/item?n={item}") for item in items}
        assert {200, 500} >= {answer.status_code for answer in got.values()}
        whole = {item: answer.content for item, answer in got.items() if answer.status_code == 200}
        assert whole == {item: items[item] for item in whole}
        assert (0, "") == (server.stop(), server.err)


def test_a_client_that_takes_no_answer_gives_up_its_place(tmp_path: Path) -> None:
    """Its long answer keeps others out for the time that a client has, and no longer."""
    record_items(tmp_path, ["short", "long " * 2_500_000])
    with serve_items(tmp_path, "--read-timeout", "0.5", "--max-requests", "1") as server:
        place = urlsplit(server.address)
        with socket.socket() as stalled:
            stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stalled.connect((place.hostname, place.port))
            stalled.sendall(b"GET /http/items/item?n=1 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n")
            assert stalled.recv(8).startswith(b"HTTP/1.1")
            seen = [server.client.get("/http/items/item?n=0").status_code]
            while seen[-1] == 503 and len(seen) < 300:
                pause(0.02)
                seen.append(server.client.get("/http/items/item?n=0").status_code)
        assert (503, 200) == (seen[0], seen[-1])
        assert 0 == server.stop()
