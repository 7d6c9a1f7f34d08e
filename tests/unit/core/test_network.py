"""The network guard refuses, counts and names whatever reaches out, and lets local pipes be."""

from __future__ import annotations

import contextlib
import http.client
import multiprocessing
import socket
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.core.errors import NetworkBlockedError
from replay.core.network import NetworkGuard


def _reach_by_connect() -> None:
    with socket.socket() as sock:
        sock.connect(("192.0.2.1", 80))


def _reach_by_connect_ex() -> None:
    with socket.socket() as sock:
        sock.connect_ex(("192.0.2.1", 80))


def _reach_by_datagram() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ("192.0.2.1", 53))


def _reach_by_sendmsg() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.sendmsg([b"x"], [], 0, ("192.0.2.1", 53))


def _listen() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))


def _reach_by_url() -> None:
    urllib.request.urlopen("http://user:canary@example.com/p?api_key=canary")


_WAYS: list[tuple[str, str, Callable[[], object]]] = [
    ("socket.connect", "192.0.2.1:80", _reach_by_connect),
    ("socket.connect", "192.0.2.1:80", _reach_by_connect_ex),
    ("socket.sendto", "192.0.2.1:53", _reach_by_datagram),
    ("socket.sendmsg", "192.0.2.1:53", _reach_by_sendmsg),
    ("socket.bind", "127.0.0.1:0", _listen),
    ("urllib.Request", "example.com", _reach_by_url),
    ("socket.getaddrinfo", "example.com:443", lambda: socket.getaddrinfo("example.com", 443)),
    ("socket.getaddrinfo", "example.com:80", lambda: socket.create_connection(("example.com", 80))),
    ("socket.gethostbyname", "example.com", lambda: socket.gethostbyname("example.com")),
    ("socket.gethostbyaddr", "192.0.2.1", lambda: socket.gethostbyaddr("192.0.2.1")),
    ("http.client.connect", "example.com", lambda: http.client.HTTPSConnection("example.com").connect()),
]


@pytest.mark.parametrize(
    ("event", "target", "reach"), _WAYS, ids=[f"{way[0]}-{n}" for n, way in enumerate(_WAYS)]
)
def test_every_way_out_is_refused_and_counted(event: str, target: str, reach: Callable[[], object]) -> None:
    """Each call raises, is counted once, and names what it was and where it came from, without folders."""
    with (
        NetworkGuard() as guard,
        pytest.raises(NetworkBlockedError, match=f"{event} to {target} was refused"),
    ):
        reach()
    assert 1 == guard.attempts
    (attempt,) = guard.first_attempts
    assert (event, target) == (attempt.event, attempt.target)
    assert attempt.line.startswith("test_network.py:")
    assert "/" not in attempt.line


def test_secrets_in_a_url_are_not_shown() -> None:
    """Neither user, password nor query of a URL gets into the message."""
    with NetworkGuard(), pytest.raises(NetworkBlockedError) as caught:
        _reach_by_url()
    assert "canary" not in str(caught.value)


def test_the_count_survives_a_caller_that_swallows_the_error() -> None:
    """A tool that catches everything cannot hide its attempts."""
    with NetworkGuard() as guard:
        for _ in range(3):
            with contextlib.suppress(BaseException):
                _reach_by_connect()
    assert 3 == guard.attempts


def test_nested_guards_count_together() -> None:
    """An inner guard does not hide attempts from the outer one, and leaves it on."""
    with NetworkGuard() as outer:
        with NetworkGuard() as inner, contextlib.suppress(NetworkBlockedError):
            _reach_by_connect()
        with contextlib.suppress(NetworkBlockedError):
            _reach_by_connect()
    assert (1, 2) == (inner.attempts, outer.attempts)


def test_guards_may_end_in_any_order() -> None:
    """Ending the outer guard first leaves the inner one on."""
    first, second = NetworkGuard(), NetworkGuard()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(NetworkBlockedError):
        _reach_by_connect()
    second.__exit__(None, None, None)
    assert (0, 1) == (first.attempts, second.attempts)


def test_a_guard_that_is_off_counts_nothing(blocked_network: NetworkGuard) -> None:
    """After its end a guard stays as it was, while those still on go on counting."""
    with NetworkGuard() as guard:
        pass
    before = blocked_network.attempts
    with pytest.raises(NetworkBlockedError):
        _reach_by_connect()
    assert (0, before + 1) == (guard.attempts, blocked_network.attempts)


def test_attempts_of_threads_count() -> None:
    """A guard covers every thread of the process, and no attempt is lost."""

    def reach_often() -> None:
        for _ in range(50):
            with contextlib.suppress(NetworkBlockedError):
                _reach_by_connect()

    with NetworkGuard() as guard:
        threads = [threading.Thread(target=reach_often) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert 400 == guard.attempts
    assert 100 == len(guard.first_attempts)


def test_local_sockets_stay_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Socket pairs and Unix sockets, which multiprocessing needs, are not the network."""
    monkeypatch.chdir(tmp_path)  # the path of a Unix socket is short
    with NetworkGuard() as guard:
        left, right = socket.socketpair()
        with left, right:
            left.sendall(b"x")
            assert b"x" == right.recv(1)
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind("s")
            server.listen()
            client.connect("s")
    assert 0 == guard.attempts


@pytest.mark.slow
def test_worker_processes_start_under_a_guard() -> None:
    """Spawned workers start, work and end while the guard is on."""
    with NetworkGuard() as guard, multiprocessing.get_context("spawn").Pool(1) as pool:
        assert [1, 2] == pool.map(abs, [-1, -2])
    assert 0 == guard.attempts
