"""`POST /virtual` against the original's design: FastAPI, one JSON file loaded for each request.

Both run as processes of their own over the records of the shipped mini suite, and the same eight clients ask
both, over connections that stay open. Upstream's files hold all recorded calls of an API, and the original
reads the whole file each time: so it is measured on the suite's small files and on files filled up to 500
records. The sealed store of ours does not depend on how many records an API has.
"""

from __future__ import annotations

import ast
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replay.core.determinism import child_environment
from tests.support.commands import MINI, SOURCES
from tests.support.data import CHECKOUT

__all__ = ["run"]

CLIENTS = 8
SECONDS = 4.0
FILLED = 500

BASELINE = """
import json, os, sys
from typing import Any, Union
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

FOLDER = sys.argv[1]
app = FastAPI()

class Info(BaseModel):
    category: str
    tool_name: str
    api_name: str
    tool_input: Union[str, dict]
    strip: str
    toolbench_key: str

@app.post("/virtual")
def answer(info: Info) -> Any:
    parsed = json.loads(info.tool_input) if isinstance(info.tool_input, str) else info.tool_input
    path = os.path.join(FOLDER, info.category, info.tool_name, info.api_name + ".json")
    with open(path) as file:
        held = json.load(file)
    return held[str(parsed)]

config = uvicorn.Config(app, port=int(sys.argv[2]), log_level="error", access_log=False)
uvicorn.Server(config).run()
"""


def run() -> dict[str, Any]:
    """Measure; rates in requests a second, times in milliseconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        requests = list(_requests())
        small, filled = SOURCES / "tool_response_cache", folder / "filled"
        shutil.copytree(small, filled)
        _fill(filled)
        (folder / "baseline.py").write_text(BASELINE)
        figures: dict[str, Any] = {"clients": CLIENTS, "requests": len(requests)}
        ours = [sys.executable, "-m", "replay", "serve", MINI, "--home", str(folder / "home"), "--port"]
        figures["replay"] = _measure(ours, requests)
        figures["replay_two_workers"] = _measure([*ours[:-1], "--workers", "2", "--port"], requests)
        for label, files in (("fastapi_small_files", small), (f"fastapi_{FILLED}_records", filled)):
            figures[label] = _measure([sys.executable, str(folder / "baseline.py"), str(files)], requests)
            figures[f"times_{label}"] = round(figures["replay"]["rate"] / figures[label]["rate"], 1)
        return figures


def _requests() -> Iterator[bytes]:
    """Whole HTTP requests for the records that both answer."""
    root = SOURCES / "tool_response_cache"
    for path in sorted(root.rglob("*.json")):
        category, tool, api = path.relative_to(root).with_suffix("").parts
        for text, answer in json.loads(path.read_text()).items():
            if not text.startswith("{'") or answer.get("error") or "NaN" in path.read_text():
                continue
            fields = {"category": category, "tool_name": tool, "api_name": api}
            fields |= {"tool_input": json.dumps(ast.literal_eval(text)), "strip": "", "toolbench_key": ""}
            body = json.dumps(fields).encode()
            head = "POST /virtual HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            yield head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _fill(folder: Path) -> None:
    for path in sorted(folder.rglob("*.json")):
        held = json.loads(path.read_text())
        sample = next(iter(held.values()))
        held |= {f"{{'filler': {number}}}": sample for number in range(FILLED - len(held))}
        path.write_text(json.dumps(held, indent=4))


def _measure(command: list[str], requests: list[bytes]) -> dict[str, float]:
    with _running(command) as port:
        times: list[float] = []
        failed: list[bytes] = []
        until = time.perf_counter() + SECONDS
        work = [
            threading.Thread(target=_ask, args=(port, requests[n:] + requests[:n], until, times, failed))
            for n in range(CLIENTS)
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    assert not failed, failed[0]
    ordered = sorted(times)
    return {
        "rate": round(len(times) / SECONDS),
        "p50_ms": round(statistics.median(ordered) * 1e3, 2),
        "p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1e3, 2),
    }


def _ask(port: int, requests: list[bytes], until: float, times: list[float], failed: list[bytes]) -> None:
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while time.perf_counter() < until:
            for request in requests:
                start = time.perf_counter()
                link.sendall(request)
                answer = _read(link)
                times.append(time.perf_counter() - start)
                if not answer.startswith(b"HTTP/1.1 200") or b"Replay miss" in answer:
                    failed.append(answer)
                    return


def _read(link: socket.socket) -> bytes:
    held = link.recv(1 << 16)
    head, _, rest = held.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(rest) < length:
        rest += link.recv(1 << 16)
    return head + rest


@contextmanager
def _running(command: list[str]) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [*command, str(port)], cwd=CHECKOUT, env=child_environment(), stdout=subprocess.DEVNULL
    )
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait(20)
