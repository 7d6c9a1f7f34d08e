"""An upstream on the loopback that misbehaves as it is told: for tests of record mode.

What a path gets is a list of replies, one a request, the last of them for ever. A reply is raw bytes, so that
it may be wrong in every way that HTTP can be.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Self

from replay.core.types import Json

__all__ = ["Asked", "FakeUpstream", "Reply", "answer_json", "raw_reply", "run_upstream"]


class Asked(NamedTuple):
    """One request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        """The body as JSON."""
        return json.loads(self.body)


class Reply(NamedTuple):
    """What is sent back, in pieces with pauses between them; then the connection is closed."""

    pieces: tuple[bytes, ...]
    pause_s: float = 0.0


Rule = Callable[[Asked], Reply]


def raw_reply(
    body: bytes,
    *,
    status: int = 200,
    kind: str = "application/json",
    length: int | None = None,
    headers: Sequence[tuple[str, str]] = (),
) -> Reply:
    """Build a reply whose announced length may be a lie."""
    announced = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", f"content-length: {announced}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return Reply((("\r\n".join(lines) + "\r\n\r\n").encode() + body,))


def answer_json(document: Json, *, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    """Build an honest reply."""
    return raw_reply(json.dumps(document).encode(), status=status, headers=headers)


class FakeUpstream:
    """A server on a free port of the loopback, one thread a connection."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._rules: dict[str, list[Reply] | Rule] = {}
        self._lock = threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def says(self, path: str, *replies: Reply) -> None:
        """Give these replies to requests of this path, the last one for ever."""
        self._rules[path] = list(replies)

    def answers(self, path: str, rule: Rule) -> None:
        """Let a function answer requests of this path."""
        self._rules[path] = rule

    def count(self, path: str) -> int:
        """Count the requests of a path."""
        with self._lock:
            return sum(1 for asked in self.asked if asked.target.partition("?")[0] == path)

    def __enter__(self) -> Self:
        """Start."""
        self._accepting.start()
        return self

    def close(self) -> None:
        """Stop, and wait for what is being answered."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._accepting.join(timeout=5)
        for thread in self._threads:
            thread.join(timeout=5)

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(5)
            asked = _read(connection)
            with self._lock:
                self.asked.append(asked)
            self._reply(connection, asked)

    def _reply(self, connection: socket.socket, asked: Asked) -> None:
        rule = self._rules.get(asked.target.partition("?")[0])
        if callable(rule):
            reply = rule(asked)
        else:
            with self._lock:
                replies = rule or [answer_json({"detail": "Not Found"}, status=404)]
                reply = replies.pop(0) if len(replies) > 1 else replies[0]
        for number, piece in enumerate(reply.pieces):
            if number:
                time.sleep(reply.pause_s)
            connection.sendall(piece)


@contextmanager
def run_upstream() -> Iterator[FakeUpstream]:
    """Run one for the length of a block."""
    with FakeUpstream() as upstream:
        yield upstream


def _read(connection: socket.socket) -> Asked:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            raise OSError("no request")
        data += part
        if data[:1] == b"\x16":  # a TLS greeting, which has no end of lines to wait for
            connection.sendall(b"HTTP/1.1 400 X\r\n\r\n")
            raise OSError("no TLS here")
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    return Asked(method, target, headers, body)
