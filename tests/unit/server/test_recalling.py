"""What is known by heart, or recorded, is answered before the application; the bytes do not tell."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.commands import MINI
from tests.support.servers import Served, request_for, serving

FIELDS = {
    "category": "News, Media",
    "tool_name": "gazette_stream",
    "api_name": "top_headlines",
    "tool_input": '{"topic": "harbour"}',
    "strip": "",
    "toolbench_key": "",
}
KINDS = {"a hit": {}, "a miss": {"tool_input": '{"topic": "none"}'}, "no JSON": {"tool_input": "{oops"}}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The mini suite, served."""
    with serving(request_for(MINI, tmp_path_factory.mktemp("home"), max_body=4096)) as running:
        yield running


def body_of(**changed: str) -> bytes:
    """A call's body."""
    return json.dumps({**FIELDS, **changed}).encode()


def message(body: bytes, *, host: str = "127.0.0.1", more: str = "") -> bytes:
    """A whole request."""
    head = f"POST /virtual HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def link_to(served: Served) -> socket.socket:
    """A connection of its own."""
    link = socket.create_connection(("127.0.0.1", urlsplit(served.url).port or 0), timeout=10)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def read_one(link: socket.socket) -> bytes:
    """One whole answer, head and body."""
    held = b""
    while b"\r\n\r\n" not in held:
        held += link.recv(1 << 16)
    head, _, rest = held.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(rest) < length:
        rest += link.recv(1 << 16)
    return head + b"\r\n\r\n" + rest


def ask(served: Served, *parts: bytes) -> bytes:
    """Send a request in these parts on a connection of its own."""
    with link_to(served) as link:
        for part in parts:
            link.sendall(part)
            time.sleep(0.01 if len(parts) > 1 else 0)
        return read_one(link)


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_answer_has_the_bytes_of_the_first(served: Served, kind: str) -> None:
    """Status, headers in their order, body: hit, miss and refusal alike."""
    asked = message(body_of(**KINDS[kind], strip=f"second {kind}"))
    assert ask(served, asked) == ask(served, asked)


def test_a_body_may_come_after_its_head(served: Served) -> None:
    """Most clients send them apart."""
    body = body_of(strip="apart")
    whole = message(body)
    first = ask(served, whole)
    assert first == ask(served, whole[: -len(body)], body) == ask(served, whole[:-9], whole[-9:])


def test_a_chunked_body_is_the_same_body(served: Served) -> None:
    """How a body is framed is not a part of what is asked."""
    body = body_of(strip="chunked")
    head = "POST /virtual HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:7], body[7:]))
    chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks + b"0\r\n\r\n"
    assert ask(served, message(body)) == ask(served, chunked)


def test_a_body_that_takes_its_time_is_answered(served: Served) -> None:
    """A wait that is over hands the request on; nothing of it is lost."""
    whole = message(body_of(strip="slow"))
    first = ask(served, whole)
    with link_to(served) as link:
        link.sendall(whole[:-20])
        time.sleep(0.3)
        link.sendall(whole[-20:])
        assert first == read_one(link)


def test_requests_in_one_packet_are_answered_in_order(served: Served) -> None:
    """Known and unknown ones take turns."""
    known, other = message(body_of(strip="known")), message(body_of(tool_input="{oops"))
    one, two = ask(served, known), ask(served, other)
    new = message(body_of(strip="never asked"))
    with link_to(served) as link:
        link.sendall(known + new + other + known)
        held = b""
        while len(held) < 3 * len(one) + len(two):
            held += link.recv(1 << 16)
    assert one + one + two + one == held


def test_garbage_behind_a_known_request_is_answered_behind_it(served: Served) -> None:
    """An answer that is ready is not lost to what comes after its request."""
    known = message(body_of(strip="before garbage"))
    one = ask(served, known)
    with link_to(served) as link:
        link.sendall(known + b"no HTTP at all\r\n\r\n")
        held = b""
        while part := link.recv(1 << 16):
            held += part
    assert held.startswith(one + b"HTTP/1.1 400")


def test_a_connection_that_is_to_be_closed_is_closed(served: Served) -> None:
    """What the client says about its connection holds for known answers too."""
    asked = message(body_of(strip="close"), more="Connection: close\r\n")
    for _ in range(2):
        with link_to(served) as link:
            link.sendall(asked)
            assert read_one(link).startswith(b"HTTP/1.1 200")
            assert b"" == link.recv(1)


def test_another_host_is_refused_what_is_known(served: Served) -> None:
    """The Host check comes first."""
    body = body_of(strip="host")
    ask(served, message(body))
    assert ask(served, message(body, host="evil.example")).startswith(b"HTTP/1.1 421")


def test_known_answers_are_counted(served: Served) -> None:
    """Requests and hits count the same however they are answered."""
    before = served.counters.read()
    for _ in range(3):
        ask(served, message(body_of(strip="counted")))
    after = served.counters.read()
    assert (3, 3) == tuple(after[name] - before[name] for name in ("requests", "virtual_hits"))


def test_a_body_over_the_bound_is_refused_while_it_comes(served: Served) -> None:
    """The bound of the server holds for bodies that are waited for."""
    assert ask(served, message(b"x" * 5000)).startswith(b"HTTP/1.1 413")


def test_what_is_no_http_is_refused(served: Served) -> None:
    """A broken chunk in a body that is waited for gets uvicorn's own refusal."""
    head = b"POST /virtual HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert ask(served, head + b"zz\r\n").startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
def test_a_number_that_no_json_has_is_answered_by_the_rules(served: Served, number: str) -> None:
    """Clients in Python write them; the connection goes on, and so does the server."""
    body = json.dumps({**FIELDS, "tool_input": {"topic": float(number)}}).encode()
    first, second = ask(served, message(body)), ask(served, message(body))
    assert (first, True) == (second, first.startswith(b"HTTP/1.1 200"))
    assert b"Tool input" in first


def test_what_comes_behind_a_body_is_no_header(served: Served) -> None:
    """A name of this server in a trailer does not let a request in."""
    chunks = b"%x\r\n%b\r\n0\r\nHost: 127.0.0.1\r\n\r\n" % (len(body_of()), body_of())
    for path in (b"/virtual", b"/healthz"):
        head = b"POST %b HTTP/1.1\r\nContent-Type: application/json\r\n" % path
        assert ask(served, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks).startswith(b"HTTP/1.1 421")
