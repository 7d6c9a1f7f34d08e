"""One HTTP exchange as data: what a REST client asked and what came back, ready for keys and snapshots.

Everything of a request is in its key (method, path, query in its order, headers, body as a JSON value where
it is one) but for the headers named below, each with its reason. An answer keeps its bytes, and where it was
streamed the cuts between its events, so that a replay gives a client exactly what it got.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import CanonicalError, DamagedError, InputError
from replay.core.keys import call_key
from replay.core.types import CallRequest, Json, Key, Record
from replay.tools.keys import recipe_for

__all__ = [
    "CREDENTIAL_HEADERS",
    "HTTP",
    "NOT_IN_HTTP_KEY",
    "HttpAnswer",
    "HttpKeys",
    "HttpRequest",
    "KeyedCall",
    "read_answer",
    "write_answer",
]

HTTP: Final = "http"
"""Benchmark namespace of exchanges that belong to no benchmark."""

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""Bodies over it are refused by name, as the store refuses longer values."""

_HOP: Final = "between one client and one server; says nothing of what is asked"
_CLIENT: Final = "names the client program, its version or one attempt of it"
_WHO: Final = "says who asks: a credential, never stored"
_LENGTH: Final = "follows from the body"

NOT_IN_HTTP_KEY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "accept-encoding": _HOP,
        "connection": _HOP,
        "expect": _HOP,
        "host": "the upstream's name stands for it",
        "keep-alive": _HOP,
        "proxy-*": _HOP,
        "te": _HOP,
        "trailer": _HOP,
        "transfer-encoding": _HOP,
        "upgrade": _HOP,
        "via": _HOP,
        "forwarded": _HOP,
        "x-forwarded-*": _HOP,
        "x-real-ip": _HOP,
        "content-length": _LENGTH,
        "user-agent": _CLIENT,
        "x-stainless-*": _CLIENT,
        "x-request-id": _CLIENT,
        "traceparent": _CLIENT,
        "tracestate": _CLIENT,
        "baggage": _CLIENT,
        "sentry-trace": _CLIENT,
        "idempotency-key": _CLIENT,
        "authorization": _WHO,
        "cookie": _WHO,
        "*api-key": _WHO,
        "*api_key": _WHO,
        "*apikey": _WHO,
        "*-token": _WHO,
        "openai-organization": _WHO,
        "openai-project": _WHO,
    }
)
"""Header names (globs, lower case) that are left out of a key, each with its reason."""

CREDENTIAL_HEADERS: Final = tuple(glob for glob, why in NOT_IN_HTTP_KEY.items() if why == _WHO)
"""Those of them that say who asks, and so hold secrets."""

_NOT_SERVED: Final = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "te", "trailer", "transfer-encoding", "upgrade"}
    | {"content-length", "content-encoding", "set-cookie", "date"}
)
"""Answer headers that are not kept: of one connection, computed anew, or somebody's session."""

_MAX_SEEN: Final = 1_000
"""Header names whose rule is remembered."""

_MAX_REMEMBERED: Final = 1_000
_LONGEST_REMEMBERED: Final = 16 * 1024

_BOUNDARY: Final = re.compile(r"boundary=(?:\"([^\"]{1,70})\"|([^\s;,\"]{1,70}))", re.IGNORECASE)
_FIXED_BOUNDARY: Final = "replay-boundary"


class HttpRequest(Record, frozen=True, kw_only=True):
    """What a client asked."""

    upstream: str
    """Name of the upstream, or the origin (`https://api.example.org`) where none was declared."""
    method: str
    path: str
    """With its percent signs, as it was sent."""
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class HttpAnswer(Record, frozen=True, kw_only=True):
    """What came back."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    """After content decoding: what the client reads."""
    cuts: tuple[int, ...] = ()
    """Lengths of the parts a streamed body came in; empty for one that was not streamed."""

    @property
    def parts(self) -> tuple[bytes, ...]:
        """The body in the parts it came in."""
        found: list[bytes] = []
        start = 0
        for length in self.cuts:
            found.append(self.body[start : start + length])
            start += length
        rest = self.body[start:]
        return (*found, rest) if rest or not found else tuple(found)


class _Stored(Record, frozen=True, kw_only=True):
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    base64: str | None = None
    cuts: tuple[int, ...] = ()


_read_stored: Final = msgspec.json.Decoder(_Stored).decode

Mask = Callable[[Json], Json]
"""Takes secret values out of whatever they stand in."""
MaskOf = Callable[[HttpRequest], Mask | None]
"""Gives the mask of what a request tells of who sends it; None where that is nothing."""


class KeyedCall(NamedTuple):
    """The call that an exchange is looked up by and stored with, and its key."""

    call: CallRequest
    key: Key


class HttpKeys:
    """How exchanges become calls: what is left out of their keys, what is masked in them. Safe to share."""

    def __init__(
        self,
        *,
        benchmark: str = HTTP,
        left_out: Iterable[str] = (),
        mask: Mask | None = None,
    ) -> None:
        """Make calls in this namespace.

        left_out: globs of further header names that say nothing of what is asked.
        mask: takes known secret values out of whatever they stand in (`Secrets.mask_json`).
        """
        self._benchmark = benchmark
        self._recipe = recipe_for(benchmark)
        globs = (*NOT_IN_HTTP_KEY, *(glob.lower() for glob in left_out))
        self._left_out = re.compile("|".join(translate(glob) for glob in globs))
        self._seen: dict[str, bool] = {}
        self._calls: dict[HttpRequest, KeyedCall] = {}
        self._mask = mask

    def keyed_call(self, request: HttpRequest, *, mask_of: MaskOf | None = None) -> KeyedCall:
        """Make the call of an exchange with its key; errors as `call_of`.

        Short requests are remembered with theirs, for tests ask the same over and over.

        mask_of: gives the `mask` of a request, always the same one.
        """
        found = self._calls.get(request)
        if found is None:
            call = self.call_of(request, mask=None if mask_of is None else mask_of(request))
            found = KeyedCall(call, call_key(call))
            if len(request.body) <= _LONGEST_REMEMBERED:
                if len(self._calls) >= _MAX_REMEMBERED:
                    self._calls.clear()
                self._calls[request] = found
        return found

    def call_of(self, request: HttpRequest, *, mask: Mask | None = None) -> CallRequest:
        """Make the call that an exchange is looked up by and stored with.

        mask: takes out further secrets, those of this one request.
        Errors:  InputError for a body over the limit; CanonicalError for JSON that cannot be hashed honestly.
        """
        if len(request.body) > MAX_BODY_BYTES:
            raise InputError(
                f"a request body of {len(request.body)} bytes", expected=f"at most {MAX_BODY_BYTES} bytes"
            )
        headers, body = _settle_boundary(self._keyed(request.headers), request.body)
        query = _read_query(request.query) if request.query else ()
        whole = CallRequest(
            benchmark=self._benchmark,
            tool=f"{request.upstream} {request.method.upper()} {request.path}",
            arguments={
                # An object a pair, so that fields are masked by their names here as in a body.
                "query": [{name: value} for name, value in query],
                "headers": headers,
                "body": _body_value(headers, body),
            },
        )
        for masking in (self._mask, mask):
            if masking is not None:
                tool, arguments = masking([whole.tool, whole.arguments])
                whole = msgspec.structs.replace(whole, tool=tool, arguments=arguments)
        return self._recipe.apply(whole)

    def _keyed(self, headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
        kept: dict[str, list[str]] = {}
        for name, value in headers:
            lower = name.lower()
            is_out = self._seen.get(lower)
            if is_out is None:
                is_out = self._left_out.fullmatch(lower) is not None
                if len(self._seen) < _MAX_SEEN:
                    self._seen[lower] = is_out
            if not is_out:
                kept.setdefault(lower, []).append(value.strip())
        return kept


def write_answer(answer: HttpAnswer) -> str:
    """Write an answer down as canonical JSON; the bytes of its body come out again exactly."""
    kept = [[name.lower(), value] for name, value in answer.headers if name.lower() not in _NOT_SERVED]
    stored: dict[str, Json] = {"status": answer.status, "headers": kept}
    try:
        stored["text"] = answer.body.decode("utf-8")
    except UnicodeDecodeError:
        stored["base64"] = base64.b64encode(answer.body).decode()
    if answer.cuts:
        stored["cuts"] = list(answer.cuts)
    return canonical_bytes(stored).decode()


def read_answer(text: str | bytes, *, where: str = "") -> HttpAnswer:
    """Read an answer that was written down. Errors: DamagedError when it is none."""
    try:
        stored = _read_stored(text)
        if stored.text is None:
            body = base64.b64decode(stored.base64 or "", validate=True)
        else:
            body = stored.text.encode("utf-8")
    except (msgspec.DecodeError, binascii.Error, UnicodeError) as error:
        raise DamagedError(
            f"a recorded HTTP answer is none: {error}", where=where, expected="status, headers and body"
        ) from None
    is_whole = not stored.cuts or (min(stored.cuts) > 0 and sum(stored.cuts) <= len(body))
    if not is_whole or not 100 <= stored.status <= 599:
        raise DamagedError("a recorded HTTP answer does not fit together", where=where)
    return HttpAnswer(status=stored.status, headers=stored.headers, body=body, cuts=stored.cuts)


def _read_query(query: str) -> list[tuple[str, str]]:
    """Read a query as `parse_qsl` does; most have nothing to decode, and then a split does."""
    if "%" in query or "+" in query or not query.isascii():
        return parse_qsl(query, keep_blank_values=True)
    split = (part.partition("=") for part in query.split("&") if part)
    return [(name, value) for name, _, value in split]


def _settle_boundary(headers: dict[str, list[str]], body: bytes) -> tuple[dict[str, list[str]], bytes]:
    """Put a fixed boundary in the place of the random one that each multipart request has."""
    kinds = headers.get("content-type", [])
    found = _BOUNDARY.search(kinds[0]) if kinds and kinds[0].lower().startswith("multipart/") else None
    if found is None:
        return headers, body
    boundary = found.group(1) or found.group(2)
    kind = kinds[0][: found.start()] + f"boundary={_FIXED_BOUNDARY}" + kinds[0][found.end() :]
    settled = body.replace(f"--{boundary}".encode(), f"--{_FIXED_BOUNDARY}".encode())
    return {**headers, "content-type": [kind]}, settled


def _body_value(headers: Mapping[str, list[str]], body: bytes) -> Json:
    """Write a body as what it says: a JSON value, a text, bytes, or nothing."""
    if not body:
        return None
    kind = ";".join(headers.get("content-type", [])).partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        try:
            return {"json": parse_json(body)}
        except CanonicalError:
            pass  # what calls itself JSON and is none stays the text it is
    try:
        return {"text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}
