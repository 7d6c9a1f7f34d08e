"""What the recording proxy sends on, what it takes for an answer, and where its redirects lead."""

from __future__ import annotations

import pytest

from replay.core.errors import InputError
from replay.server.http_api import Asked
from replay.tools.asking import LiveFailureError, LiveRequest
from replay.tools.exchange import HttpAnswer
from replay.tools.upstreams import Upstream
from replay.wiring.serving.recording import check_answer, live_request

UPSTREAM = Upstream(name="api", kind="rest", base_url="https://api.example.org/v1", headers={"X-Own": "ours"})


def send(
    path: str = "/a", *, query: str = "", body: bytes = b"", headers: tuple[tuple[str, str], ...] = ()
) -> LiveRequest:
    """Make the request that goes on."""
    return live_request(Asked("api", "GET", path, query, headers, body, ""), UPSTREAM)


def test_headers_of_this_connection_stay_here() -> None:
    """So do those that the client says are, and those that the upstream's file stands for."""
    headers = (
        ("host", "localhost:8080"),
        ("connection", "keep-alive, X-Hop"),
        ("x-hop", "1"),
        ("accept-encoding", "gzip"),
        ("content-length", "3"),
        ("x-own", "theirs"),
        ("authorization", "Bearer mine"),
        ("x-tag", "a"),
        ("x-tag", "b"),
    )
    sent = send(headers=headers).headers
    assert (("authorization", "Bearer mine"), ("x-tag", "a"), ("x-tag", "b")) == sent


@pytest.mark.parametrize(
    "path", ["/..", "/a/../b", "/%2e%2E/b", "/a/.", "/./a", "/a%2f..%2Fb", "/a%5c..%5cb"]
)
def test_no_path_climbs(path: str) -> None:
    """A path stays below the base address, however its dots are written."""
    with pytest.raises(InputError, match="no \\. and \\.\\."):
        send(path)


@pytest.mark.parametrize(
    "words",
    [
        {"path": "/bot$redacted/a"},
        {"path": "/bot%24redacted/a"},
        {"query": "token=%24redacted"},
        {"body": b'{"token": "$redacted"}'},
        {"headers": (("authorization", "Bearer $redacted"),)},
    ],
)
def test_a_mask_is_no_value(words: dict[str, str]) -> None:
    """A mask that a client got from a record is not sent."""
    with pytest.raises(LiveFailureError, match="a masked secret cannot be asked"):
        send(**words)  # type: ignore[arg-type]


def test_a_mask_in_place_of_the_upstreams_own_goes_on() -> None:
    """What the file stands for is not the client's to say."""
    assert () == send(headers=(("x-own", "$redacted"),)).headers


@pytest.mark.parametrize(
    ("status", "kind", "body", "fault"),
    [
        (401, "application/json", b"{}", "unauthorized"),
        (403, "text/plain", b"no", "unauthorized"),
        (101, "text/plain", b"", "protocol"),
        (200, "application/json", b'{"a": "who', "cut-body"),
        (200, "application/problem+json; charset=utf-8", b'{"a": [1, 2', "cut-body"),
        (200, "application/json", b'{"a":', "cut-body"),
        (200, "application/json", b"", ""),
        (200, "application/json", b'{"a": NaN}', ""),
        (200, "application/json", b'{"a": 1}\n{"a": 2}\n', ""),
        (200, "application/json", b"<html>", ""),
        (200, "application/json", b"[" * 100_000 + b"]" * 100_000, ""),
        (200, "text/plain", b'{"a":', ""),
        (404, "application/json", b'{"detail": "Not Found"}', ""),
        (304, "application/json", b"", ""),
    ],
)
def test_what_is_an_answer(status: int, kind: str, body: bytes, fault: str) -> None:
    """Refusals of who asks, broken protocols and JSON that stops in the middle are none; all else is."""
    answer = HttpAnswer(status=status, headers=(("content-type", kind),), body=body)
    found = ""
    try:
        check_answer(answer, "api")
    except LiveFailureError as failure:
        found = failure.kind
    assert fault == found
