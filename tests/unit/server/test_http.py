"""/http/NAME/...: recorded REST services through the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from replay.core.types import Mode
from replay.testing.httpx_transport import ReplayTransport
from replay.wiring.exchanges import ExchangePlan, open_exchanges
from tests.support.servers import Served, request_for, serving

ORIGIN = "https://api.example.org"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An archive of a service that counts, answers in pieces of no UTF-8, and is slow to finish."""
    folder: Path = tmp_path_factory.mktemp("http")
    archive = record(folder)
    with serving(request_for(str(archive), folder / "served", upstreams=(f"api={ORIGIN}",))) as running:
        yield running


def record(folder: Path) -> Path:
    """Record four answers of a service made here."""
    archive = folder / "rest.replay"
    visits = iter(range(10))

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/bytes":
            return httpx.Response(203, content=b"\xff\x00\xfe", headers={"x-kind": "bytes"})
        return httpx.Response(200, json={"visit": next(visits), "said": request.content.decode()})

    plan = ExchangePlan(archive=str(archive), mode=Mode.RECORD, home=str(folder / "home"))
    with open_exchanges(plan) as book:
        transport = ReplayTransport(
            book.exchanges.session("made"), live=httpx.MockTransport(answer), records=True
        )
        with httpx.Client(transport=transport, base_url=ORIGIN) as client:
            client.get("/count?a=1&a=2")
            client.get("/count?a=1&a=2")
            client.get("/bytes")
    return archive


def test_an_answer_has_its_status_headers_and_bytes(served: Served) -> None:
    """Nothing of a recorded answer changes on the way."""
    got = served.client.get("/http/api/bytes")
    assert (203, "bytes", b"\xff\x00\xfe") == (got.status_code, got.headers["x-kind"], got.content)


def test_without_a_session_every_request_stands_alone(served: Served) -> None:
    """The first recorded answer, every time."""
    visits = [served.client.get("/http/api/count?a=1&a=2").json()["visit"] for _ in range(3)]
    assert [0, 0, 0] == visits


def test_a_session_gets_one_answer_after_another(served: Served) -> None:
    """Repeats count in the session that the client names, and the last answer stays."""
    named = {"x-replay-session": "mine"}
    visits = [served.client.get("/http/api/count?a=1&a=2", headers=named).json()["visit"] for _ in range(3)]
    assert [0, 1, 1] == visits


def test_a_miss_is_no_answer_of_the_service(served: Served) -> None:
    """Status 502, the key, and what is near."""
    got = served.client.get("/http/api/count?a=1&a=3")
    assert (502, True) == (got.status_code, got.headers["x-replay-miss"].startswith("sha256:"))
    assert "Replay miss error" in got.json()["detail"]


def test_no_upstream_named(served: Served) -> None:
    """A path that names nobody is unknown."""
    assert 404 == served.client.get("/http/").status_code


def test_a_file_of_upstreams_says_what_is_left_out(tmp_path: Path) -> None:
    """Of an archive that says nothing of it itself, as one that a test recorded."""
    archive = record(tmp_path)
    (tmp_path / "up.toml").write_text(
        f'[upstream.api]\nkind = "rest"\nbase_url = "{ORIGIN}"\nleft_out = ["x-attempt"]\n'
    )
    words = (f"api={ORIGIN}", str(tmp_path / "up.toml"))
    for upstreams, status in ((words, 203), (words[:1], 502)):
        with serving(request_for(str(archive), tmp_path / "served", upstreams=upstreams)) as running:
            got = running.client.get("/http/api/bytes", headers={"x-attempt": "2"})
        assert status == got.status_code
