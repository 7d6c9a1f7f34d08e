"""The live client against an upstream that misbehaves: whole answers or typed failures, nothing between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from replay.core.types import Json
from replay.tools.asking import LiveFailureError, LiveRequest
from replay.tools.exchange import HttpKeys, HttpRequest
from replay.tools.exchanges import Exchanges
from replay.tools.live import LiveClient
from replay.tools.misses import MissReporter
from replay.tools.stream_masking import cut_events
from replay.tools.upstreams import Held, Upstream
from tests.support.answering import MemoryStore
from tests.support.upstream import FakeUpstream, Reply, answer_json, raw_reply, run_upstream

GET = LiveRequest(method="GET", path="/x")
GOOD = answer_json({"ok": True})


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """These tests reach for an upstream of their own on the loopback, so nothing is refused."""


@pytest.fixture
def fake() -> Iterator[FakeUpstream]:
    """An upstream that listens."""
    with run_upstream() as upstream:
        yield upstream


def make_client(fake: FakeUpstream, waits: list[float] | None = None, **changes: Json) -> LiveClient:
    """Build a client that does not really wait."""
    words: dict[str, Json] = {"name": "fake", "kind": "rest", "base_url": fake.url, "timeout_s": 5.0}
    wait = waits.append if waits is not None else lambda _: None
    return LiveClient(Upstream(**{**words, **changes}), wait=wait)


def ask(fake: FakeUpstream, **changes: Json) -> LiveFailureError:
    """Ask once without retries and return how it failed."""
    with make_client(fake, retries=0, **changes) as client, pytest.raises(LiveFailureError) as caught:
        client.send(GET)
    return caught.value


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (answer_json({}, status=429), "rate-limited"),
        (answer_json({}, status=500), "server-error"),
        (answer_json({}, status=503), "server-error"),
        (raw_reply(b'{"a":', length=500), "cut-body"),
        (Reply((b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n",)), "cut-body"),
        (Reply((b"",)), "protocol"),
        (Reply((b"SMTP ready\r\n\r\n",)), "protocol"),
        (Reply((b"HTTP/1.1 200 X\r\ncontent-length: abc\r\n\r\n",)), "protocol"),
    ],
)
def test_what_goes_wrong_has_a_name(fake: FakeUpstream, reply: Reply, kind: str) -> None:
    """Each failure is of its own kind, and no part of an answer comes out."""
    fake.says("/x", reply)
    assert kind == ask(fake).kind


def test_an_upstream_that_is_slow_times_out(fake: FakeUpstream) -> None:
    """The bound is on the whole answer, not on each piece of it."""
    head = b"HTTP/1.1 200 X\r\ncontent-length: 20\r\n\r\n"
    fake.says("/x", Reply((head, *[b"a"] * 20), pause_s=0.05))
    assert "timeout" == ask(fake, timeout_s=0.3).kind


def test_a_body_over_the_limit_is_not_read(fake: FakeUpstream) -> None:
    """Memory is bounded by name."""
    fake.says("/x", raw_reply(b"a" * 5000))
    assert "too-large" == ask(fake, max_body_bytes=1000).kind


def test_a_server_without_certificate_is_a_tls_failure(fake: FakeUpstream) -> None:
    """Plain HTTP where TLS was expected has a name of its own."""
    fake.says("/x", GOOD)
    assert "tls" == ask(fake, base_url=fake.url.replace("http:", "https:")).kind


def test_nobody_listening_is_a_failed_connection() -> None:
    """A refused connection is told from a failed answer."""
    with run_upstream() as fake:
        client = make_client(fake, retries=0)
    with pytest.raises(LiveFailureError, match="connect") as caught:
        client.send(GET)
    assert "connect" == caught.value.kind


def test_failures_that_pass_are_asked_again(fake: FakeUpstream) -> None:
    """Waits double, and an upstream that names a wait gets it."""
    waits: list[float] = []
    limited = answer_json({}, status=429, headers=[("retry-after", "7")])
    fake.says("/x", limited, answer_json({}, status=500), raw_reply(b"{", length=9), GOOD)
    with make_client(fake, waits, backoff_s=0.5) as client:
        answer = client.send(GET)
    assert (200, b'{"ok": true}') == (answer.status, answer.body)
    assert [7.0, 1.0, 2.0] == [wait for wait in waits if wait in {7.0, 1.0, 2.0}]


def test_a_refusal_is_not_asked_again(fake: FakeUpstream) -> None:
    """404 is what the API says."""
    assert 404 == make_client(fake).send(GET).status
    assert 1 == fake.count("/x")


def test_redirects_are_not_followed(fake: FakeUpstream) -> None:
    """Credentials never go to another host."""
    fake.says("/x", answer_json({}, status=302, headers=[("location", "/y")]))
    assert 302 == make_client(fake).send(GET).status
    assert 0 == fake.count("/y")


def test_no_more_than_allowed_are_in_flight() -> None:
    """The bound holds over threads."""
    lock, flying = threading.Lock(), [0, 0]
    both = threading.Barrier(2, timeout=5)

    def handle(_: httpx.Request) -> httpx.Response:
        with lock:
            flying[0] += 1
            flying[1] = max(flying)
        both.wait()
        with lock:
            flying[0] -= 1
        return httpx.Response(200, json={})

    upstream = Upstream(name="u", kind="rest", base_url="http://x", at_once=2)
    client = LiveClient(upstream, transport=httpx.MockTransport(handle))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(client.send, [GET] * 8))
    assert (8, 2) == (len(answers), flying[1])


def test_a_rate_is_kept(fake: FakeUpstream) -> None:
    """Requests get turns a fixed time apart."""
    waits: list[float] = []
    fake.says("/x", GOOD)
    with make_client(fake, waits, per_second=0.1) as client:
        for _ in range(3):
            client.send(GET)
    assert [0, 1, 2] == [round(wait / 10) for wait in waits]


def test_a_stream_is_cut_at_its_events(fake: FakeUpstream) -> None:
    """Events are cut after blank lines, wherever packets ended, inside a character too."""
    body = 'data: {"t":"naïve"}\n\ndata: [DONE]\n\n'.encode()
    at = body.index(b"\xc3") + 1
    head = b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    fake.says("/x", Reply((head + body[:at], body[at:]), pause_s=0.02))
    answer = make_client(fake).send(GET)
    assert (body, (22, 14)) == (answer.body, answer.cuts)


def test_windows_line_ends_cut_too() -> None:
    """CR LF is a line end as well; what is left over is no event."""
    assert (11, 11) == cut_events(b"data: 1\r\n\r\ndata: 2\r\n\r\ndata")


def test_secrets_are_sent_and_never_shown(fake: FakeUpstream, tmp_path: Path) -> None:
    """A key from a file reaches the upstream, and an error text that repeats it is masked."""
    (tmp_path / "key").write_text("planted-secret-1\n")
    upstream = Upstream(
        name="r", kind="rapidapi", base_url=fake.url, key=Held(file="key"), folder=str(tmp_path)
    )
    fake.says("/x", GOOD)
    client = LiveClient(upstream)
    client.send(GET)
    assert "planted-secret-1" == fake.asked[0].headers["x-rapidapi-key"]
    assert "key $redacted refused" == client.secrets.mask_text("key planted-secret-1 refused")


def test_what_a_misbehaving_upstream_said_replays_with_it_gone() -> None:
    """Throttled, broken and cut at first; then a stream cut inside a letter: the bytes come out again."""
    body = 'data: {"t":"naïve"}\n\ndata: [DONE]\n\n'.encode()
    at = body.index(b"\xc3") + 1
    head = b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    store, asked = MemoryStore(), HttpRequest(upstream="fake", method="GET", path="/x")
    with run_upstream() as fake, make_client(fake) as client:
        fake.says(
            "/x",
            answer_json({}, status=429),
            answer_json({}, status=500),
            raw_reply(b"data: {", length=90),
            Reply((head + body[:at], body[at:]), pause_s=0.02),
        )
        book = Exchanges(store, HttpKeys(), MissReporter(store), overlay=store, secrets=client.secrets)
        first = book.session("s").answer(asked, lambda: client.send(GET))
    again = Exchanges(store, HttpKeys(), MissReporter(store)).session("s").answer(asked)
    assert (body, (22, 14), 1) == (again.body, again.cuts, len(store.rows))
    assert first == again


def test_a_request_goes_on_as_it_came(fake: FakeUpstream) -> None:
    """A query that came as text keeps its bytes, and headers do; the upstream's own stand in their place."""
    fake.says("/x", GOOD)
    asked = LiveRequest(
        method="PATCH",
        path="/x",
        query_text="b=2&a=%C3%A9&a=1+1",
        headers=(("x-tag", "caf\xe9"), ("x-own", "theirs"), ("accept-encoding", "gzip")),
        body=b"\xff\x00",
    )
    with make_client(fake, headers={"X-Own": "ours"}, query={"v": "2"}) as client:
        client.send(asked)
    (got,) = fake.asked
    assert ("PATCH", "/x?b=2&a=%C3%A9&a=1+1&v=2", b"\xff\x00") == (got.method, got.target, got.body)
    assert ("caf\xe9", "ours", "identity") == tuple(
        got.headers[name] for name in ("x-tag", "x-own", "accept-encoding")
    )
