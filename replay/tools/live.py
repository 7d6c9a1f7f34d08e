"""The one network client: sends requests to live upstreams, and turns what goes wrong into typed failures.

An answer is whole or it is none. Each one comes over a connection of its own, so that bytes which an upstream
sent too many can never begin the next answer.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlencode

import httpx

from replay.core.determinism import Stopwatch, pause
from replay.core.errors import InputError
from replay.tools.asking import LiveFailureError, LiveRequest
from replay.tools.exchange import HttpAnswer
from replay.tools.masking import Secrets
from replay.tools.pacing import Pace, Pause, read_wait
from replay.tools.stream_masking import cut_events, is_stream
from replay.tools.upstreams import Upstream, read_sent_always

__all__ = ["LiveClient"]

_TOO_MANY: Final = 429
_RETRIED: Final = frozenset({408, 425, _TOO_MANY, 500, 502, 503, 504, 520, 521, 522, 523, 524})
_SERVER_FAULT: Final = 500
_RETRIED_KINDS: Final = frozenset({"connect", "timeout", "cut-body", "protocol"})


class LiveClient:
    """Asks one upstream. Safe to share between threads."""

    def __init__(
        self,
        upstream: Upstream,
        *,
        workers: int = 1,
        transport: httpx.BaseTransport | None = None,
        wait: Pause = pause,
    ) -> None:
        """Read the secrets that the upstream wants; open no connection yet.

        workers: processes that ask the same upstream and share its limits.
        transport: instead of the network.
        Errors:  InputError when a secret or the certificates are not to be had.
        """
        self._upstream = upstream
        self._wait = wait
        self._always = read_sent_always(upstream)
        self.secrets = Secrets(self._always.secrets, fields=upstream.secret_fields)
        """What must not be stored of what comes back."""
        at_once = max(1, upstream.at_once // workers)
        self._pace = Pace(at_once=at_once, per_second=upstream.per_second / workers, wait=wait)
        self._client = httpx.Client(
            timeout=upstream.timeout_s,
            verify=_trust(upstream),
            transport=transport,
            trust_env=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    @property
    def upstream(self) -> Upstream:
        """What is asked."""
        return self._upstream

    def send(self, asked: LiveRequest) -> HttpAnswer:
        """Return the whole answer to a request, whatever its status, after the retries that are allowed.

        Errors:  LiveFailureError for 429 and 5xx after the last retry, a timeout, a cut body, a broken
                 protocol, a failed connection or certificate, and a body over the limit.
        """
        attempt = 0
        while True:
            try:
                with self._pace.slot():
                    answer = self._attempt(asked)
            except LiveFailureError as error:
                failure = error
            else:
                if answer.status not in _RETRIED and answer.status < _SERVER_FAULT:
                    return answer
                failure = _refused(answer, self._upstream.name)
            if attempt >= self._upstream.retries or not _may_retry(failure):
                raise failure
            self._back_off(failure, attempt)
            attempt += 1

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _back_off(self, failure: LiveFailureError, attempt: int) -> None:
        limit = self._upstream.max_backoff_s
        headers = dict(failure.answer.headers) if failure.answer is not None else {}
        asked_for = read_wait(headers.get("retry-after", ""), limit_s=limit)
        if asked_for:
            self._pace.hold_back(asked_for)
        self._wait(max(asked_for, min(limit, self._upstream.backoff_s * 2**attempt)))

    def _attempt(self, asked: LiveRequest) -> HttpAnswer:
        name = self._upstream.name
        try:
            return self._exchange(asked)
        except httpx.TimeoutException:
            raise LiveFailureError(
                "timeout", f"no whole answer in {self._upstream.timeout_s} s", name
            ) from None
        except httpx.ConnectError as error:
            kind = "tls" if _is_tls(error) else "connect"
            raise LiveFailureError(kind, self.secrets.mask_text(str(error)), name) from None
        except httpx.RemoteProtocolError as error:
            # Whatever was sent: a body shorter than announced, or no HTTP at all.
            is_cut = "incomplete" in str(error) or "without sending complete" in str(error)
            kind = "cut-body" if is_cut else "protocol"
            raise LiveFailureError(kind, self.secrets.mask_text(str(error)), name) from None
        except (httpx.ReadError, httpx.WriteError, httpx.CloseError):
            raise LiveFailureError("cut-body", "the connection broke", name) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise LiveFailureError("protocol", self.secrets.mask_text(str(error)), name) from None

    def _url(self, asked: LiveRequest) -> str:
        """Put path and query below the base address; a query that came as text keeps its bytes."""
        pairs = urlencode([*asked.query, *self._always.query.items()])
        query = "&".join(part for part in (asked.query_text, pairs) if part)
        return self._upstream.base_url.rstrip("/") + asked.path + (f"?{query}" if query else "")

    def _headers(self, asked: LiveRequest) -> list[tuple[bytes, bytes]]:
        """List what is sent; the upstream's own headers stand in the place of a client's."""
        own = {"accept-encoding": "identity", **self._always.headers}
        theirs = [(name, value) for name, value in asked.headers if name.lower() not in own]
        return [(_wire(name), _wire(value)) for name, value in (*own.items(), *theirs)]

    def _exchange(self, asked: LiveRequest) -> HttpAnswer:
        watch, limit = Stopwatch(), self._upstream.max_body_bytes
        with self._client.stream(
            asked.method, self._url(asked), headers=self._headers(asked), content=asked.body or None
        ) as response:
            parts: list[bytes] = []
            size = 0
            for part in response.iter_bytes():
                size += len(part)
                if size > limit:
                    raise LiveFailureError("too-large", f"more than {limit} bytes", self._upstream.name)
                if watch.elapsed_s() > self._upstream.timeout_s:
                    raise httpx.ReadTimeout("the answer comes too slowly")
                parts.append(part)
            body = b"".join(parts)
            found = tuple((key.lower(), value) for key, value in response.headers.multi_items())
            return HttpAnswer(
                status=response.status_code,
                headers=found,
                body=body,
                cuts=cut_events(body) if is_stream(found) else (),
            )


def _wire(text: str) -> bytes:
    """Write a part of a header as it came, byte for byte, or in UTF-8 where it never was bytes."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def _refused(answer: HttpAnswer, name: str) -> LiveFailureError:
    kind = "rate-limited" if answer.status == _TOO_MANY else "server-error"
    kind = "timeout" if answer.status == 408 else kind
    return LiveFailureError(kind, f"status {answer.status}", name, answer)


def _may_retry(failure: LiveFailureError) -> bool:
    return failure.kind in _RETRIED_KINDS if failure.answer is None else failure.answer.status in _RETRIED


def _is_tls(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _trust(upstream: Upstream) -> ssl.SSLContext | bool:
    if not upstream.ca_file:
        return upstream.base_url.startswith("https")
    try:
        return ssl.create_default_context(cafile=str(Path(upstream.folder) / upstream.ca_file))
    except (OSError, ssl.SSLError):
        raise InputError(
            "certificates cannot be read", where=f"upstream.{upstream.name}.ca_file", expected="a PEM file"
        ) from None
