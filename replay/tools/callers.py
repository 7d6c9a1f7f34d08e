"""The credentials of whoever sends a request: secrets that a proxy sees and nobody declared.

Found by the names of headers and fields, never by the look of a value; from then on they are looked for
everywhere, for services echo them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from typing import Final
from urllib.parse import parse_qsl

from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError
from replay.core.types import Json
from replay.tools.exchange import CREDENTIAL_HEADERS, HttpRequest
from replay.tools.masking import tells
from replay.tools.redaction import Redaction, find_secrets

__all__ = ["credentials_in_fields", "credentials_in_headers"]

_NAMES: Final = re.compile("|".join(translate(glob) for glob in CREDENTIAL_HEADERS))


def credentials_in_headers(request: HttpRequest) -> tuple[str, ...]:
    """List the values that a request's headers tell who asks by: keys, tokens, passwords, cookies."""
    found = (
        value
        for name, text in request.headers
        if _NAMES.fullmatch(name.lower())
        for value in _values_of(name.lower(), text.strip())
    )
    return tuple(dict.fromkeys(value for value in found if tells(value)))


def credentials_in_fields(request: HttpRequest, rules: Iterable[Redaction]) -> tuple[str, ...]:
    """List the values of secret fields of a request's query and body."""
    query: Json = [{name: value} for name, value in parse_qsl(request.query, keep_blank_values=True)]
    found = find_secrets([query, _read_body(request.body)], rules)
    return tuple(value for value in found if tells(value))


def _values_of(name: str, text: str) -> Iterator[str]:
    if name == "cookie":
        yield from (pair.partition("=")[2].strip() for pair in text.split(";"))
        return
    scheme, blank, rest = text.partition(" ")
    value = rest.strip() if blank else scheme
    yield value
    if scheme.lower() == "basic":
        try:
            whole = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        yield whole
        yield whole.partition(":")[2]


def _read_body(body: bytes) -> Json:
    try:
        return parse_json(body) if body[:1] in (b"{", b"[") else body.decode()
    except (CanonicalError, UnicodeDecodeError):
        return body.decode("utf-8", "replace")
