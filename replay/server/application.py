"""All routes of one server put together; which there are depends on what was given to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from replay.core.types import Json
from replay.server.counters import Counters
from replay.server.gate import Bounds, Gate
from replay.server.known import Header
from replay.server.virtual_api import Virtual
from replay.server.wire import send_answer, send_json

__all__ = ["make_application"]

_METRICS_MEDIA = b"text/plain; version=0.0.4; charset=utf-8"


def make_application(
    routes: Mapping[str, ASGIApp],
    *,
    counters: Counters,
    health: Mapping[str, Json],
    bounds: Bounds | None = None,
    check: Callable[[], None] | None = None,
) -> ASGIApp:
    """Put the routes behind the gate.

    routes: path to application; a path that ends with `/` serves everything below it.
    health: what `/healthz` says: the archive and what is served of it.
    check: raises when nothing can be served any more; called before each request.
    """
    table = _Routes(routes, counters, health, check)
    return Gate(table, counters=counters, bounds=bounds)


class _Routes:
    """Finds the application of a path."""

    def __init__(
        self,
        routes: Mapping[str, ASGIApp],
        counters: Counters,
        health: Mapping[str, Json],
        check: Callable[[], None] | None,
    ) -> None:
        self._exact = {path: app for path, app in routes.items() if not path.endswith("/")}
        self._below = tuple((path, app) for path, app in sorted(routes.items()) if path.endswith("/"))
        self._recalls = {
            path.encode(): app.recall for path, app in self._exact.items() if isinstance(app, Virtual)
        }
        self._counters = counters
        self._health = dict(health)
        self._check = check

    @property
    def recalled(self) -> tuple[bytes, ...]:
        """Raw paths of the routes that know answers by heart."""
        return tuple(self._recalls)

    def recall(self, path: bytes, headers: Sequence[Header], body: bytes) -> bytes | None:
        """Ask the route of a path. Raises what `check` raises."""
        if self._check is not None:
            self._check()
        return self._recalls[path](headers, body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return
        path = scope["path"]
        if self._check is not None and path != "/metrics":
            self._check()
        app = self._exact.get(path) or next((a for start, a in self._below if path.startswith(start)), None)
        if app is not None:
            await app(scope, receive, send)
        elif path in ("/healthz", "/metrics"):
            await self._tell(path, scope["method"], send)
        else:
            await send_json(send, {"detail": "Not Found"}, status=404)

    async def _tell(self, path: str, method: str, send: Send) -> None:
        if method not in ("GET", "HEAD"):
            allow = [(b"allow", b"GET")]
            await send_json(send, {"detail": "Method Not Allowed"}, status=405, headers=allow)
        elif path == "/metrics":
            await send_answer(send, self._counters.write(), media=_METRICS_MEDIA)
        else:
            await send_json(send, {"status": "ok", **self._health})


async def _live(receive: Receive, send: Send) -> None:
    """Answer the server's start and stop: nothing is to be done at either."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
