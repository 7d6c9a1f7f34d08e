"""What the pytest plugin adds to a test: the same tests without it, with it beside them, and asking it.

Three runs of pytest in turns, each a process of its own, over the same hundred tests with one HTTP request
each: `without` (httpx.MockTransport, the plugin switched off), `beside` (the same, the plugin loaded) and
`asked` (the marker, the fixture and its transport, answered from an archive). The time of a test is processor
time from its set-up to its tear-down; the first one of a run, which imports and opens what all others use, is
apart.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from replay.core.determinism import child_environment

__all__ = ["run"]

TESTS: Final = 100
ROUNDS: Final = 4

_CONFTEST: Final = """
import json, time
import pytest

TIMES = []

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    start = time.process_time()
    try:
        return (yield)
    finally:
        TIMES.append(time.process_time() - start)

def pytest_sessionfinish(session):
    with open("times.json", "w") as file:
        json.dump(TIMES, file)
"""

_HEAD: Final = """
import httpx
import pytest

LIVE = httpx.MockTransport(lambda request: httpx.Response(200, json={"path": request.url.path}))
"""

_WITHOUT: Final = """
@pytest.mark.parametrize("number", range(COUNT))
def test_forecast(number):
    with httpx.Client(transport=LIVE) as client:
        assert client.get(f"https://x.example/{number}").json() == {"path": f"/{number}"}
"""

_ASKED: Final = """
@pytest.mark.replay(upstream="weather")
@pytest.mark.parametrize("number", range(COUNT))
def test_forecast(number, replay):
    with httpx.Client(transport=replay.transport(LIVE)) as client:
        assert client.get(f"https://x.example/{number}").json() == {"path": f"/{number}"}
"""


def run() -> dict[str, Any]:
    """Measure; milliseconds a test."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text(_CONFTEST)
        for label, tests in (("without", _WITHOUT), ("asked", _ASKED)):
            text = _HEAD + tests.replace("COUNT", str(TESTS))
            (folder / f"test_{label}.py").write_text(text)
        _run_pytest(folder, "asked", "--replay-mode", "record")
        times: dict[str, list[list[float]]] = {}
        for _ in range(ROUNDS):
            times.setdefault("without", []).append(_run_pytest(folder, "without", "-p", "no:replay"))
            times.setdefault("beside", []).append(_run_pytest(folder, "without"))
            times.setdefault("asked", []).append(_run_pytest(folder, "asked"))
    figures = {label: _figures(rounds) for label, rounds in times.items()}
    without = times["without"]
    return {
        "tests": TESTS,
        "rounds": ROUNDS,
        **figures,
        "added_ms": {label: _added(times[label], without) for label in ("beside", "asked")},
    }


def _figures(rounds: list[list[float]]) -> dict[str, float]:
    first = statistics.median(times[0] for times in rounds)
    return {
        "first_test_ms": round(first * 1e3, 2),
        "test_ms": round(min(statistics.median(times[1:]) for times in rounds) * 1e3, 3),
    }


def _added(rounds: list[list[float]], without: list[list[float]]) -> float:
    """Median over the rounds of what a test took more than in the same round without the plugin."""
    pairs = zip(rounds, without, strict=True)
    added = [statistics.median(ours[1:]) - statistics.median(plain[1:]) for ours, plain in pairs]
    return round(statistics.median(added) * 1e3, 3)


def _run_pytest(folder: Path, label: str, *words: str) -> list[float]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_{label}.py", *words]
    environment = child_environment() | {"REPLAY_HOME": str(folder / "home")}
    done = subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: list[float] = json.loads((folder / "times.json").read_text())
    assert len(found) == TESTS
    return found
