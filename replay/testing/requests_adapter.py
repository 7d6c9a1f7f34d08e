"""An adapter for requests that answers from recorded exchanges, and records in record mode."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import requests
import urllib3
from requests.adapters import BaseAdapter, HTTPAdapter

from replay.core.errors import InputError
from replay.tools.exchange import HttpAnswer, HttpRequest
from replay.tools.exchanges import ExchangeSession

__all__ = ["ReplayAdapter"]


class ReplayAdapter(BaseAdapter):
    """Mount it: `session.mount("https://", recording.adapter())`."""

    def __init__(
        self,
        session: ExchangeSession,
        upstream: str = "",
        *,
        live: BaseAdapter | None = None,
        records: bool = False,
    ) -> None:
        """Answer from this session; ask `live` (by default the network) in record mode only."""
        super().__init__()
        self._session = session
        self._upstream = upstream
        self._builder = HTTPAdapter()
        self._live = (live or self._builder) if records else None

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,  # noqa: FBT001, FBT002  the signature that requests calls
        timeout: Any = None,
        verify: Any = True,  # noqa: FBT002
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Answer one request. Raises MissError, explained, when nothing recorded answers it."""
        del stream
        turn = self._session.look_up(_asked(request, self._upstream))
        answer = turn.found
        if answer is None:
            if self._live is None:
                raise self._session.miss(turn)
            live = self._live.send(
                request, stream=False, timeout=timeout, verify=verify, cert=cert, proxies=proxies
            )
            headers = tuple(live.headers.items())
            answer = self._session.record(
                turn, HttpAnswer(status=live.status_code, headers=headers, body=live.content)
            )
        raw = urllib3.HTTPResponse(
            body=io.BytesIO(answer.body),
            headers=urllib3.HTTPHeaderDict(answer.headers),
            status=answer.status,
            preload_content=False,
            decode_content=False,
        )
        return self._builder.build_response(request, raw)

    def close(self) -> None:
        """Close the connections that record mode opened."""
        self._builder.close()


def _asked(request: requests.PreparedRequest, upstream: str) -> HttpRequest:
    url = urllib3.util.parse_url(request.url or "")
    body = request.body
    if body is not None and not isinstance(body, str | bytes):
        raise InputError(
            "a request body that is read as it is sent",
            where=url.path or "/",
            expected="text or bytes, which can be looked up",
        )
    return HttpRequest(
        upstream=upstream or f"{url.scheme}://{url.netloc}",
        method=request.method or "GET",
        path=url.path or "/",
        query=url.query or "",
        headers=tuple((name, _text(value)) for name, value in request.headers.items()),
        body=body.encode() if isinstance(body, str) else body or b"",
    )


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
