"""What every request passes before a route sees it: Host, load, and where errors become answers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from replay.core.errors import InputError, ReplayError
from replay.server.counters import Counters
from replay.server.known import WHOLE, Header, Recalls
from replay.server.patience import Patience
from replay.server.wire import RefusalError, find_header, header_of, send_json

__all__ = ["LOOPBACK_NAMES", "Bounds", "Gate"]

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names by which a client on this machine may call the server."""

_TOO_LONG: Final = 413
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
    """How long a client may take to send the next part of a body, or to take the next part of an answer; one
    that stops in the middle gives up its place."""
    lends_keys: bool = False
    """Whether requests go on with this machine's credentials; then pages of other sites are refused, which a
    browser on this machine would let ask."""


class Gate:
    """Lets requests through to an application, one at a time into a bounded crowd."""

    def __init__(self, app: ASGIApp, *, counters: Counters, bounds: Bounds | None = None) -> None:
        """Guard `app`."""
        bounds = bounds or Bounds()
        self._app = app
        self._counters = counters
        self._hosts = frozenset(host.lower().encode() for host in bounds.hosts)
        self._max_requests = bounds.max_requests
        self._lends_keys = bounds.lends_keys
        self._read_timeout_s = bounds.read_timeout_s
        self._patience = Patience(bounds.read_timeout_s)
        self._running = 0
        given: object = app
        self._recaller = given if isinstance(given, Recalls) else None
        self._recalled: frozenset[bytes] = frozenset(self._recaller.recalled if self._recaller else ())

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
        if self._lends_keys and self._is_of_a_page(scope["headers"]):
            self._counters.add("refused")
            await send_json(send, {"detail": "a page of another site may not ask through here"}, status=403)
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

    @property
    def recalled(self) -> Collection[bytes]:
        """Raw paths for which answers are known by heart."""
        return self._recalled

    def recall(self, path: bytes, headers: Sequence[Header], body: bytes) -> bytes | None:
        """Give an answer that is known by heart; None sends the request the long way, which says why."""
        if self._recaller is None or self._running >= self._max_requests:
            return None
        if not self._is_ours(find_header(headers, b"host")) or (
            self._lends_keys and self._is_of_a_page(headers)
        ):
            return None
        try:
            answer = self._recaller.recall(path, headers, body)
        except ReplayError:
            return None
        if answer is not None:
            self._counters.add("requests")
        return answer

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def send_on(message: Message) -> None:
            nonlocal started
            started = True
            waiting = self._patience.begin()
            try:
                await send(message)
            finally:
                self._patience.end(waiting)

        try:
            is_whole = WHOLE in scope.get("extensions", ())
            await self._app(scope, receive if is_whole else self._in_time(receive), send_on)
        except asyncio.CancelledError:
            await self._cut_off(send, has_started=started)
        except RefusalError as refusal:
            self._counters.add("refused")
            headers = _CLOSE if refusal.status == _TOO_LONG else []
            await send_json(send, {"detail": refusal.detail}, status=refusal.status, headers=headers)
        except ReplayError as error:
            is_theirs = isinstance(error, InputError)
            self._counters.add("refused" if is_theirs else "failed")
            if started:
                # Half an answer is out: only a broken connection tells the client that it is not whole.
                raise
            status = 400 if is_theirs else 500
            await send_json(send, {"detail": str(error), "error": error.to_json()}, status=status)

    async def _cut_off(self, send: Send, *, has_started: bool) -> None:
        """End a request whose client does not go on, or which a stop found unfinished after its grace."""
        is_late = self._patience.ran_out()
        self._counters.add("refused" if is_late else "failed")
        if has_started:
            # Half an answer is out, and whoever does not take the rest gets no more of it.
            if is_late:
                return
            raise asyncio.CancelledError
        if is_late:
            body, status = {"detail": f"nothing of the body came for {self._read_timeout_s:g} seconds"}, 408
        else:
            body, status = {"detail": "the server stopped first"}, 503
        await send_json(send, dict(body), status=status, headers=_CLOSE)

    def _in_time(self, receive: Receive) -> Receive:
        """Receive a body in time; what comes behind it, which is that the client left, may take long."""
        is_whole = False

        async def receive_next() -> Message:
            nonlocal is_whole
            if is_whole:
                return await receive()
            waiting = self._patience.begin()
            try:
                message = await receive()
            finally:
                self._patience.end(waiting)
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

    def _is_of_a_page(self, headers: Sequence[Header]) -> bool:
        """Tell whether a browser says that a page of another site asks; programs say nothing of the kind."""
        if find_header(headers, b"sec-fetch-site") == b"cross-site":
            return True
        origin = find_header(headers, b"origin")
        return origin is not None and not self._is_ours(origin.partition(b"://")[2])
