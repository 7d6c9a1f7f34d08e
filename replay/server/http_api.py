"""`/http/NAME/...`: REST services as they were recorded, answered by content.

A client is pointed here with a base URL. A request stands alone and gets the first recorded answer, unless it
names a session in the header `X-Replay-Session`: the requests of one session get their recorded answers one
after another, as the live service gave them. Whether a service that was not recorded is asked is not known
here; what it failed to answer has the header `X-Replay-Failure`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from replay.core.errors import CanonicalError, MissError
from replay.core.trajectory import NoteStep, Step
from replay.core.types import Json
from replay.server.counters import Counters
from replay.server.virtual_api import MISS_HEADER, RequestLog
from replay.server.wire import RefusalError, read_body, send_json

__all__ = ["FAILURE_HEADER", "PREFIX", "Asked", "Found", "HttpApi", "HttpSources", "Runner"]

PREFIX: Final = "/http/"
SESSION: Final = b"x-replay-session"
FAILURE_HEADER: Final = "x-replay-failure"
"""Says in one word how a live service failed; what comes with it is not recorded as an answer."""
_MAX_SESSION: Final = 128
_BODILESS: Final = frozenset({204, 205, 304})
_MISS_STATUS: Final = 502
"""Nothing was recorded: never a status of the service itself, which a client would take for its answer."""


class Asked(NamedTuple):
    """One request, without what is between this client and this server."""

    upstream: str
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    session: str


class Found(NamedTuple):
    """One answer, or how a live service failed to give one."""

    status: int
    headers: tuple[tuple[str, str], ...]
    parts: tuple[bytes, ...]
    step: Step
    counters: tuple[str, ...] = ("http_hits",)
    stop: str = "finished"
    detail: str = ""


class Runner(Protocol):
    """Calls a function in a thread (`run_in_threadpool`, `run_aside`)."""

    def __call__(self, function: Callable[[Asked], Found], asked: Asked, /) -> Awaitable[Found]:
        """Wait for what it returns."""
        ...


class HttpSources(Protocol):
    """Who answers."""

    def answer(self, asked: Asked) -> Found:
        """Answer, and return once that can be repeated. Raises MissError, explained."""
        ...


class HttpApi:
    """The route, as an ASGI application."""

    def __init__(
        self,
        sources: HttpSources,
        *,
        counters: Counters,
        log: RequestLog | None = None,
        max_body: int,
        run: Runner = run_in_threadpool,
    ) -> None:
        """Answer from these sources.

        max_body: bytes of one request.
        run: calls the sources away from the event loop.
        """
        self._sources = sources
        self._counters = counters
        self._log = log
        self._max_body = max_body
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        asked = await self._read(scope, receive)
        try:
            found = await self._run(self._sources.answer, asked)
        except MissError as error:
            await self._miss(error, send)
            return
        except CanonicalError as error:
            raise RefusalError(400, f"the request cannot be looked up: {error}") from None
        for name in found.counters:
            self._counters.add(name)
        self._write(found.step, stop=found.stop, detail=found.detail)
        await _send(send, found, is_head=asked.method == "HEAD")

    async def _read(self, scope: Scope, receive: Receive) -> Asked:
        raw = scope.get("raw_path") or scope["path"].encode()
        name, _, path = raw.decode("latin-1").removeprefix(PREFIX).partition("/")
        if not name:
            raise RefusalError(404, "no upstream is named: /http/NAME/...")
        session = next((value for held, value in scope["headers"] if held == SESSION), b"").decode("latin-1")
        if len(session) > _MAX_SESSION:
            raise RefusalError(400, f"the session's name is longer than {_MAX_SESSION} characters")
        return Asked(
            upstream=name,
            method=scope["method"],
            path=f"/{path}",
            query=scope["query_string"].decode("latin-1"),
            headers=tuple(_headers(scope["headers"])),
            body=await read_body(scope, receive, limit=self._max_body),
            session=session,
        )

    async def _miss(self, error: MissError, send: Send) -> None:
        self._counters.add("http_misses")
        want = error.want
        self._write(NoteStep(name="miss", data=want), stop="tool-miss", detail=str(error))
        key = str(want.get("key", "")) if isinstance(want, dict) else ""
        body: dict[str, Json] = {"detail": f"Replay miss error: {error}", "key": key}
        await send_json(send, body, status=_MISS_STATUS, headers=[(MISS_HEADER, key.encode())])

    def _write(self, step: Step, *, stop: str = "finished", detail: str = "") -> None:
        if self._log is not None:
            self._log.write(step, stop=stop, detail=detail)


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw if name != SESSION]


async def _send(send: Send, found: Found, *, is_head: bool) -> None:
    headers = [(_wire(name), _wire(value)) for name, value in found.headers]
    has_body = not is_head and found.status not in _BODILESS and found.status >= 200
    if len(found.parts) == 1 and has_body:
        headers.append((b"content-length", b"%d" % len(found.parts[0])))
    await send({"type": "http.response.start", "status": found.status, "headers": headers})
    for part in found.parts if has_body else ():
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _wire(text: str) -> bytes:
    """Write a part of a header byte for byte, or in UTF-8 where it was read as that."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()
