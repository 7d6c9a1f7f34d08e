"""Credentials of whoever asks, found by the names they are sent under."""

from __future__ import annotations

import base64
import json

import pytest

from replay.tools.callers import credentials_in_fields, credentials_in_headers
from replay.tools.exchange import HttpRequest
from replay.tools.masking import Secrets

SECRET = "client+canary/one=11"  # noqa: S105  it opens nothing
BASIC = base64.b64encode(f"me:{SECRET}".encode()).decode()


def ask(*headers: tuple[str, str], query: str = "", body: bytes = b"") -> HttpRequest:
    """Build a request."""
    return HttpRequest(upstream="api", method="GET", path="/", query=query, headers=headers, body=body)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (("Authorization", f"Bearer {SECRET}"), (SECRET,)),
        (("authorization", SECRET), (SECRET,)),
        (("Authorization", f"Basic {BASIC}"), (BASIC, f"me:{SECRET}", SECRET)),
        (("Authorization", "Basic no+base64+at+all"), ("no+base64+at+all",)),
        (("Cookie", f"theme=dark; sid={SECRET}"), (SECRET,)),
        (("X-RapidAPI-Key", SECRET), (SECRET,)),
        (("x-auth-token", SECRET), (SECRET,)),
        (("x-question", SECRET), ()),
        (("authorization", "Bearer EMPTY"), ()),
        (("authorization", "Bearer anonymous"), ()),
    ],
)
def test_headers_tell_who_asks(header: tuple[str, str], found: tuple[str, ...]) -> None:
    """What is long enough to tell is a secret; words such as clients without a key send are none."""
    assert found == credentials_in_headers(ask(header))


@pytest.mark.parametrize(
    "request_",
    [
        ask(query="q=1&api_key=client%2Bcanary%2Fone%3D11"),
        ask(body=json.dumps({"a": [{"client_secret": SECRET}]}).encode()),
        ask(body=b"user=me&password=" + SECRET.encode()),
        ask(body=json.dumps({"pin_code": SECRET}).encode()),
    ],
)
def test_fields_tell_too(request_: HttpRequest) -> None:
    """Fields of query and body are secrets by the declared names and those of the upstream's file."""
    assert (SECRET,) == credentials_in_fields(request_, Secrets(fields=["pin-code"]).rules)


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"{", b'{"q": "weather"}', b"[" * 5000])
def test_bodies_without_a_secret(body: bytes) -> None:
    """Whatever a body is, looking for secrets does not fail on it."""
    assert () == credentials_in_fields(ask(body=body), Secrets().rules)
