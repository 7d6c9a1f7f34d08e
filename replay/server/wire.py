"""HTTP at its lowest: bounded bodies in, whole answers out, and what a request is refused with.

Owns no route. A `Refusal` is an answer, not a failure: a status and one clear line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from replay.core.types import Json

__all__ = [
    "JSON_MEDIA",
    "RefusalError",
    "as_it_stands",
    "find_header",
    "header_of",
    "read_body",
    "send_answer",
    "send_json",
    "to_json",
    "write_message",
]

JSON_MEDIA: Final = b"application/json"

Headers = Iterable[tuple[bytes, bytes]]

_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_COMPACT_ASCII: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_OPENING: Final = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\ncontent-type: " + JSON_MEDIA + b"\r\n%b\r\n"
_SHALLOW: Final = 200
"""Brackets of a text that nobody can call deep."""


class RefusalError(Exception):
    """A request is not served; carries status and reason."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail


def header_of(scope: Scope, name: bytes) -> bytes | None:
    """Return the first header of a request with this lower-case name, or None."""
    return find_header(scope["headers"], name)


def find_header(headers: Headers, name: bytes) -> bytes | None:
    """Return the first header of this lower-case name, or None."""
    for held, value in headers:
        if held == name:
            return value
    return None


async def read_body(scope: Scope, receive: Receive, *, limit: int) -> bytes:
    """Read a request's body.

    limit: bytes; a body that says it is longer is not read at all.
    Errors:  RefusalError 413 for a longer body, 400 for a client that leaves; the gate's 408 passes.
    """
    stated = header_of(scope, b"content-length")
    if stated is not None and (not stated.isdigit() or len(stated) > 18 or int(stated) > limit):
        raise _too_long(limit)
    message = await receive()
    if not message.get("more_body") and message["type"] == "http.request":
        return _bounded(message.get("body", b""), limit)
    parts: list[bytes] = []
    length = 0
    while True:
        if message["type"] == "http.disconnect":
            raise RefusalError(400, "the client left before its request was whole")
        parts.append(message.get("body", b""))
        length += len(parts[-1])
        if length > limit:
            raise _too_long(limit)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


async def send_answer(
    send: Send, body: bytes, *, status: int = 200, media: bytes = JSON_MEDIA, headers: Headers = ()
) -> None:
    """Send a whole answer."""
    sent = [(b"content-length", b"%d" % len(body)), (b"content-type", media), *headers]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})


def write_message(body: bytes, *, headers: Headers = ()) -> bytes:
    """Write what `send_answer` puts on the wire, status 200, on a connection that stays open."""
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    return _OPENING % (len(body), lines) + body


async def send_json(send: Send, value: Json, *, status: int = 200, headers: Headers = ()) -> None:
    """Send a JSON value."""
    await send_answer(send, to_json(value), status=status, headers=headers)


def to_json(value: Json) -> bytes:
    """Write JSON as the original's framework does: compact, not escaped to ASCII, names in their order.

    Lone surrogates, which no UTF-8 has, are written as the escapes they came in as.
    """
    try:
        return _COMPACT.encode(value).encode("utf-8")
    except UnicodeEncodeError:
        return _COMPACT_ASCII.encode(value).encode()


def as_it_stands(text: str) -> bytes | None:
    """Give back the bytes of a JSON text that `to_json` would write of its value, byte for byte.

    None where that is not certain at a glance: the text is not compact, names one thing twice, is no JSON,
    writes a number in a way of its own, or is nested so deeply that reading it is for somebody more careful.
    """
    if text.count("[") + text.count("{") > _SHALLOW:
        return None
    try:
        written = text.encode("utf-8")
        return written if _ENCODER.encode(_DECODER.decode(text)) == written else None
    except (ValueError, RecursionError):  # what is no JSON or no UTF-8 among them
        return None


def _read_own_double(text: str) -> float:
    """Read a double that is written as Python writes it; msgspec has a way of its own with exponents."""
    value = float(text)
    if repr(value) != text:
        raise ValueError
    return value


_DECODER: Final = msgspec.json.Decoder(float_hook=_read_own_double)
_ENCODER: Final = msgspec.json.Encoder()


def _bounded(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise _too_long(limit)
    return body


def _too_long(limit: int) -> RefusalError:
    return RefusalError(413, f"the body is too long: at most {limit} bytes are read")
