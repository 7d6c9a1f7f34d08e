"""Clients that keep an HTTP server busy: one thread, one connection each, every answer compared byte by byte.

Written straight on the kernel's event list, because a client library would cost more than the servers under
measurement, and on two cores whatever the clients take is taken from the server.
"""

from __future__ import annotations

import os
import select
import socket
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Ask", "Load", "cpu_seconds", "memory_bytes", "run_load"]

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "
_READ_BYTES = 1 << 14
"""More than nearly every answer; much more, and asking for the memory would cost more than reading."""
_STALLED_S = 10.0


class Ask(NamedTuple):
    """A whole HTTP request and the body that must come back."""

    request: bytes
    answer: bytes


class Load(NamedTuple):
    """What the clients saw."""

    seconds: float
    times: array[float]
    """Of each answer, in seconds."""
    wrong: tuple[bytes, ...]
    """The first answers that were not what is recorded, and connections that broke."""

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.times) / self.seconds

    def percentile_ms(self, share: float) -> float:
        """Time that this share of the answers did not exceed, in milliseconds."""
        return sorted(self.times)[int(len(self.times) * share)] * 1e3


class _Client:
    """One connection with at most one request on its way."""

    def __init__(self, port: int, asks: Sequence[Ask], start: int) -> None:
        self.link = socket.create_connection(("127.0.0.1", port))
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._asks = asks
        self._place = start
        self._held = b""
        self._asked = 0
        self._sent_at = 0.0

    @property
    def has_walked(self) -> bool:
        """True when this client has asked everything once."""
        return self._asked >= len(self._asks)

    def send(self) -> None:
        self._held = b""
        self._asked += 1
        self._sent_at = time.perf_counter()
        self.link.sendall(self._asks[self._place].request)

    def receive(self, times: array[float]) -> bytes | None:
        """Read what came. None while the answer is not whole, b"" when it is right, else what is wrong."""
        part = self.link.recv(_READ_BYTES)
        if not part:
            return self._held or b"the server closed the connection"
        held = self._held + part if self._held else part
        at = held.find(_HEAD_END)
        length_at = held.find(_LENGTH, 0, at) if at >= 0 else -1
        if length_at >= 0:
            length_at += len(_LENGTH)
            whole = at + len(_HEAD_END) + int(held[length_at : held.index(b"\r", length_at)])
        if length_at < 0 or len(held) < whole:
            self._held = held
            return None
        times.append(time.perf_counter() - self._sent_at)
        right = held.startswith(b"HTTP/1.1 200") and held[at + 4 :] == self._asks[self._place].answer
        self._place = (self._place + 1) % len(self._asks)
        return b"" if right else held


def run_load(port: int, asks: Sequence[Ask], *, clients: int, seconds: float, once: bool = False) -> Load:
    """Let so many clients ask for so long, each from another place of the list on.

    A client whose answer is wrong, or comes no more, stops; the others go on.

    once: each client has a part of the list to itself and asks everything in it once.
    """
    if once:
        links = [_Client(port, asks[number::clients], 0) for number in range(clients)]
    else:
        links = [_Client(port, asks, number * len(asks) // clients) for number in range(clients)]
    by_number = {client.link.fileno(): client for client in links}
    times: array[float] = array("d")
    wrong: list[bytes] = []
    with select.epoll() as events:
        for number, client in by_number.items():
            events.register(number, select.EPOLLIN)
            client.send()
        start = time.perf_counter()
        until = start + seconds
        while by_number:
            ready = events.poll(_STALLED_S)
            if not ready:
                wrong.append(b"no answer came for %d s" % _STALLED_S)
                break
            for number, _ in ready:
                client = by_number[number]
                said = client.receive(times)
                if said is None:
                    continue
                if said == b"" and time.perf_counter() < until and not (once and client.has_walked):
                    client.send()
                    continue
                if said:
                    wrong.append(said)
                events.unregister(number)
                del by_number[number]
        spent = time.perf_counter() - start
    for client in links:
        client.link.close()
    return Load(spent, times, tuple(wrong))


def cpu_seconds(pid: int) -> float:
    """Processor time that a process and its living children have used. Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(cpu_seconds(child) for child in _children(pid))


def memory_bytes(pid: int) -> int:
    """Memory that a process and its children hold for themselves, no code, no mapped files. Linux only."""
    fields = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    own = next(int(words[1]) * 1024 for words in fields if words[0] == "RssAnon:")
    return own + sum(memory_bytes(child) for child in _children(pid))


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
