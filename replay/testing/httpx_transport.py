"""Transports for httpx that answer from recorded exchanges, and record in record mode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx

from replay.tools.exchange import HttpAnswer, HttpRequest
from replay.tools.exchanges import ExchangeSession

__all__ = ["AsyncReplayTransport", "ReplayTransport"]

_STREAMED = "text/event-stream"


class ReplayTransport(httpx.BaseTransport):
    """For `httpx.Client`."""

    def __init__(
        self,
        session: ExchangeSession,
        upstream: str = "",
        *,
        live: httpx.BaseTransport | None = None,
        records: bool = False,
    ) -> None:
        """Answer from this session; ask `live` (by default the network) in record mode only."""
        self._session = session
        self._upstream = upstream
        self._live = (live or httpx.HTTPTransport()) if records else None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request. Raises MissError, explained, when nothing recorded answers it."""
        request.read()
        turn = self._session.look_up(_asked(request, self._upstream))
        answer = turn.found
        if answer is None:
            if self._live is None:
                raise self._session.miss(turn)
            answer = self._session.record(turn, self._ask(self._live, request))
        return _respond(answer, request)

    def close(self) -> None:
        """Close the live transport, where there is one."""
        if self._live is not None:
            self._live.close()

    @staticmethod
    def _ask(live: httpx.BaseTransport, request: httpx.Request) -> HttpAnswer:
        response = live.handle_request(request)
        response.request = request
        try:
            return _answer(response, list(response.iter_bytes()))
        finally:
            response.close()


class AsyncReplayTransport(httpx.AsyncBaseTransport):
    """For `httpx.AsyncClient`."""

    def __init__(
        self,
        session: ExchangeSession,
        upstream: str = "",
        *,
        live: httpx.AsyncBaseTransport | None = None,
        records: bool = False,
    ) -> None:
        """Answer from this session; ask `live` (by default the network) in record mode only."""
        self._session = session
        self._upstream = upstream
        self._live = (live or httpx.AsyncHTTPTransport()) if records else None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request. Raises MissError, explained, when nothing recorded answers it."""
        await request.aread()
        turn = self._session.look_up(_asked(request, self._upstream))
        answer = turn.found
        if answer is None:
            if self._live is None:
                raise self._session.miss(turn)
            answer = self._session.record(turn, await self._ask(self._live, request))
        return _respond(answer, request)

    async def aclose(self) -> None:
        """Close the live transport, where there is one."""
        if self._live is not None:
            await self._live.aclose()

    @staticmethod
    async def _ask(live: httpx.AsyncBaseTransport, request: httpx.Request) -> HttpAnswer:
        response = await live.handle_async_request(request)
        response.request = request
        try:
            return _answer(response, [part async for part in response.aiter_bytes()])
        finally:
            await response.aclose()


class _Parts(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body in the parts it came in."""

    def __init__(self, parts: tuple[bytes, ...]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


def _asked(request: httpx.Request, upstream: str) -> HttpRequest:
    url, headers = request.url, request.headers
    path, _, query = url.raw_path.decode("ascii").partition("?")
    try:
        # What `multi_items` gives of headers in ASCII, without trying every encoding on every header.
        pairs = [(name.decode("ascii").lower(), value.decode("ascii")) for name, value in headers.raw]
    except UnicodeDecodeError:
        pairs = headers.multi_items()
    return HttpRequest(
        upstream=upstream or f"{url.scheme}://{url.netloc.decode('ascii')}",
        method=request.method,
        path=path,
        query=query,
        headers=tuple(pairs),
        body=request.content,
    )


def _answer(response: httpx.Response, parts: list[bytes]) -> HttpAnswer:
    is_streamed = response.headers.get("content-type", "").startswith(_STREAMED)
    return HttpAnswer(
        status=response.status_code,
        headers=tuple(response.headers.multi_items()),
        body=b"".join(parts),
        cuts=tuple(len(part) for part in parts if part) if is_streamed else (),
    )


def _respond(answer: HttpAnswer, request: httpx.Request) -> httpx.Response:
    headers = list(answer.headers)
    if answer.cuts:
        return httpx.Response(answer.status, headers=headers, stream=_Parts(answer.parts), request=request)
    return httpx.Response(answer.status, headers=headers, content=answer.body, request=request)
