"""What every request passes before a route sees it: Host, load, and where errors become answers."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from replay.core.errors import InputError, ReplayError
from replay.server.counters import Counters
from replay.server.wire import RefusalError, header_of, send_json

__all__ = ["LOOPBACK_NAMES", "Bounds", "Gate"]

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names by which a client on this machine may call the server."""

_BUSY: Final = [(b"retry-after", b"1")]
_CLOSE: Final = [(b"connection", b"close")]


class Bounds(NamedTuple):
    """What a server lets in."""

    hosts: tuple[str, ...] = tuple(sorted(LOOPBACK_NAMES))
    """Names that the Host header may hold, without port; a page in a browser that was led here under another
    name (DNS rebinding) is refused."""
    max_requests: int = 256
    """How many may be in work at once."""
    read_timeout_s: float = 30.0
    """How long the next part of a body may take; a client that stops in the middle gives up its place."""


class Gate:
    """Lets requests through to an application, one at a time into a bounded crowd."""

    def __init__(self, app: ASGIApp, *, counters: Counters, bounds: Bounds | None = None) -> None:
        """Guard `app`."""
        bounds = bounds or Bounds()
        self._app = app
        self._counters = counters
        self._hosts = frozenset(host.lower().encode() for host in bounds.hosts)
        self._max_requests = bounds.max_requests
        self._read_timeout_s = bounds.read_timeout_s
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._counters.add("requests")
        if not self._is_ours(header_of(scope, b"host")):
            self._counters.add("refused")
            await send_json(send, {"detail": "wrong Host: this server has another name"}, status=421)
            return
        if self._running >= self._max_requests:
            self._counters.add("refused")
            detail = f"{self._max_requests} requests are in work: try again"
            await send_json(send, {"detail": detail}, status=503, headers=_BUSY)
            return
        self._running += 1
        try:
            await self._serve(scope, receive, send)
        finally:
            self._running -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def send_on(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, self._in_time(receive), send_on)
        except asyncio.CancelledError:
            # Only a stop cancels, once its grace is over.
            self._counters.add("failed")
            if started:
                raise
            await send_json(send, {"detail": "the server stopped first"}, status=503, headers=_CLOSE)
        except RefusalError as refusal:
            self._counters.add("refused")
            headers = _CLOSE if refusal.status in (408, 413) else []
            await send_json(send, {"detail": refusal.detail}, status=refusal.status, headers=headers)
        except ReplayError as error:
            is_theirs = isinstance(error, InputError)
            self._counters.add("refused" if is_theirs else "failed")
            if started:
                # Half an answer is out: only a broken connection tells the client that it is not whole.
                raise
            status = 400 if is_theirs else 500
            await send_json(send, {"detail": str(error), "error": error.to_json()}, status=status)

    def _in_time(self, receive: Receive) -> Receive:
        """Receive a body in time; what comes behind it, which is that the client left, may take long."""
        is_whole = False

        async def receive_next() -> Message:
            nonlocal is_whole
            if is_whole:
                return await receive()
            try:
                async with asyncio.timeout(self._read_timeout_s):
                    message = await receive()
            except TimeoutError:
                detail = f"nothing of the body came for {self._read_timeout_s:g} seconds"
                raise RefusalError(408, detail) from None
            is_whole = not message.get("more_body", False)
            return message

        return receive_next

    def _is_ours(self, host: bytes | None) -> bool:
        if host is None:
            return False
        name = host.strip().lower()
        if name in self._hosts:
            return True
        bare, colon, port = name.rpartition(b":")
        return bool(colon) and port.isdigit() and bare in self._hosts
