"""Secrets planted in requests and answers that pass the recording proxy: none in the archive, all replay."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, quote_plus

import httpx
import pytest

from replay.store.archive.reader import ArchiveReader
from tests.support.commands import run_command
from tests.support.serving_processes import ServingProcess, serving_process
from tests.support.upstream import Asked, FakeUpstream, Reply, answer_json, raw_reply, run_upstream

# Each test starts two servers.
pytestmark = pytest.mark.slow

OWN = "upstream+own/key=0001"
"""The upstream's key, held in a file of the recording site."""
FIRST, SECOND = "client+canary/one=11", "other+canary/two=22"
"""What a client has when it records, and what another has when it replays."""

JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


class Place(NamedTuple):
    """A request that holds a secret, and what is said to it; `{}` in a reply is the secret that was sent."""

    path: str = "/fine"
    method: str = "GET"
    query: str = ""
    headers: dict[str, str] | None = None
    body: bytes = b""
    cookie: str = ""


def plant(secret: str) -> dict[str, Place]:
    """Every place a client can put a secret in."""
    basic = base64.b64encode(f"me:{secret}".encode()).decode()
    text = json.dumps({"a": [{"client_secret": secret}], "q": "weather"})
    hook = json.dumps({"hook": f"https://h/?api_key={quote(secret, safe='')}"})
    return {
        "bearer": Place(headers={"authorization": f"Bearer {secret}"}),
        "basic": Place(headers={"authorization": f"Basic {basic}"}, query="n=2"),
        "key header": Place(headers={"X-RapidAPI-Key": secret}, query="n=3"),
        "token header": Place(headers={"x-auth-token": secret}, query="n=4"),
        "cookie": Place(headers={"cookie": f"theme=dark; sid={secret}"}, query="n=5"),
        "query": Place(query=f"q=1&api_key={quote(secret, safe='')}"),
        "json body": Place(method="POST", headers=JSON, body=text.encode()),
        "form body": Place(method="POST", headers=FORM, body=f"u=me&password={quote_plus(secret)}".encode()),
        "url in a body": Place(method="POST", headers=JSON, body=hook.encode(), query="n=9"),
        "declared field": Place(method="POST", headers=JSON, body=json.dumps({"pin_code": secret}).encode()),
        "echoed in a text": Place("/echo", headers={"authorization": f"Bearer {secret}"}),
        "echoed in base64": Place("/base64", headers={"x-api-key": secret}),
        "echoed in bytes": Place("/bytes", headers={"x-api-key": secret}),
        "echoed in an address": Place("/moved", headers={"x-api-key": secret}),
        "echoed as a cookie": Place("/cookie", headers={"x-api-key": secret}),
        "echoed in a field": Place("/field", headers={"x-api-key": secret}),
        "echoed over deltas": Place("/stream", headers={"x-api-key": secret}),
        "in a path too": Place(f"/bot{quote(secret, safe='')}/send", headers={"x-api-key": secret}),
        "in a query too": Place(headers={"x-api-key": secret}, query=f"appid={quote(secret, safe='')}"),
        "a field's echo": Place("/mirror", method="POST", headers=JSON, body=text.encode()),
    }


def secret_of(asked: Asked) -> str:
    """The secret that a client sent."""
    return asked.headers.get("x-api-key") or asked.headers["authorization"].removeprefix("Bearer ")


def stream(asked: Asked) -> Reply:
    """Say the secret in deltas that each hold a piece of it."""
    secret = secret_of(asked)
    pieces = ["your key ", secret[:5], secret[5:9], secret[9:], " is fine"]
    events = [f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n" for piece in pieces]
    return raw_reply("".join(events).encode(), kind="text/event-stream")


RULES: dict[str, Callable[[Asked], Reply]] = {
    "/fine": lambda asked: answer_json({"key": asked.headers["x-own"]}),
    "/echo": lambda asked: raw_reply(f"you sent {secret_of(asked)}".encode(), kind="text/plain"),
    "/base64": lambda asked: answer_json({"e": base64.b64encode(f"me:{secret_of(asked)}".encode()).decode()}),
    "/bytes": lambda asked: raw_reply(b"\xff" + secret_of(asked).encode() + b"\xfe", kind="image/png"),
    "/moved": lambda asked: raw_reply(
        b"", status=302, headers=(("location", f"/cb?access_token={quote(secret_of(asked), safe='')}"),)
    ),
    "/cookie": lambda asked: answer_json({}, headers=(("set-cookie", f"sid={secret_of(asked)}"),)),
    "/field": lambda asked: answer_json({"id": "call_0123456789abcdef", "access_token": secret_of(asked)}),
    "/stream": stream,
    "/mirror": lambda asked: raw_reply(b"got " + asked.body, kind="text/plain"),
}


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """Clients, servers and upstreams of these tests meet on the loopback."""


@pytest.fixture
def fake() -> Iterator[FakeUpstream]:
    """An upstream that says what it was sent."""
    with run_upstream() as upstream:
        for path, rule in RULES.items():
            upstream.answers(path, rule)
        upstream.answers(f"/bot{quote(FIRST, safe='')}/send", lambda _: answer_json({"sent": True}))
        yield upstream


def record(folder: Path, fake: FakeUpstream) -> AbstractContextManager[ServingProcess]:
    """Run a server that records."""
    (folder / "key").write_text(OWN)
    (folder / "up.toml").write_text(
        f'[upstream.api]\nkind = "rest"\nbase_url = "{fake.url}"\nretries = 0\n'
        'headers = {X-Own = {file = "key"}}\nsecret_fields = ["pin_code"]\nleft_out = ["x-attempt"]\n'
    )
    live = ("--mode", "record", "--upstream", folder / "up.toml", "--out", folder / "out")
    return serving_process(folder / "made.replay", *live, "--log", folder / "log")


def ask(client: httpx.Client, place: Place, *, attempt: int) -> httpx.Response:
    """Ask as a client does that says which attempt this is, which is declared to say nothing."""
    target = f"/http/api{place.path}" + (f"?{place.query}" if place.query else "")
    url = client.base_url.copy_with(raw_path=target.encode())
    headers = {**(place.headers or {}), "x-attempt": str(attempt)}
    return client.request(place.method, url, headers=headers, content=place.body)


def spellings(secret: str) -> tuple[bytes, ...]:
    """A secret as a search for leaks would look for it."""
    whole = base64.b64encode(f"me:{secret}".encode()).decode()
    texts = (secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1], whole)
    return tuple(text.encode() for text in (*texts, secret.encode().hex()))


def found_in(folder: Path) -> list[tuple[str, bytes]]:
    """Where a secret lies below a folder, tables of archives unpacked."""
    seen: list[tuple[str, bytes]] = []
    for path in sorted(folder.rglob("*")):
        if path.is_dir() or path.name in ("key", "up.toml"):
            continue
        content = path.read_bytes()
        if path.suffix == ".replay":
            with ArchiveReader(path) as archive:
                tables = [table.name for table in archive.manifest.tables]
                content += b"\n".join(row for table in tables for _, row in archive.rows(table))
        seen += [
            (path.name, text) for secret in (OWN, FIRST) for text in spellings(secret) if text in content
        ]
    return seen


def test_no_secret_is_stored_and_every_request_replays_with_another(
    tmp_path: Path, fake: FakeUpstream
) -> None:
    """Twenty places through the proxy: overlay, log and archive hold none; another client's requests hit."""
    with record(tmp_path, fake) as server:
        live = {name: ask(server.client, place, attempt=1) for name, place in plant(FIRST).items()}
        recorded = server.metric("recorded")
        assert 0 == server.stop()
    fake.close()
    assert OWN == fake.asked[0].headers["x-own"]
    assert FIRST == secret_of(fake.asked[0])
    assert {200, 302} == {got.status_code for got in live.values()}
    assert len(plant(FIRST)) == recorded
    done = run_command("archive", "freeze", tmp_path / "out" / "overlay", "-o", tmp_path / "made.replay")
    assert 0 == done.code, done.err
    assert [] == found_in(tmp_path)
    checked = run_command("verify", tmp_path / "log", "--archive", tmp_path / "made.replay", "--json")
    assert (0, recorded) == (checked.code, checked.document["recomputed"])
    with serving_process(tmp_path / "made.replay", "--home", tmp_path / "home") as server:
        again = {name: ask(server.client, place, attempt=2) for name, place in plant(SECOND).items()}
        assert 0 == server.stop()
    assert [] == [name for name, got in again.items() if got.content != live[name].content]
    assert [] == [name for name, got in again.items() if got.status_code != live[name].status_code]


def test_a_service_keeps_its_rules(tmp_path: Path, fake: FakeUpstream) -> None:
    """What a name leaves out of its keys is in the archive, and another file cannot change it."""
    with record(tmp_path, fake) as server:
        ask(server.client, Place(), attempt=1)
        server.stop()
    words = (tmp_path / "up.toml").read_text().replace("x-attempt", "x-other")
    (tmp_path / "up.toml").write_text(words)
    live = ("--mode", "record", "--upstream", tmp_path / "up.toml", "--out", tmp_path / "out")
    refused = run_command("serve", tmp_path / "made.replay", *live, "--port", "0")
    assert (3, True) == (refused.code, "record it under another name" in refused.err)


def test_a_key_in_a_path_needs_its_file(tmp_path: Path, fake: FakeUpstream) -> None:
    """Where only the path holds the upstream's key, a replay has it from the same file, or sees a mask."""
    place = Place(f"/bot{quote(OWN, safe='')}/me")
    fake.answers(place.path, lambda _: answer_json({"me": 1}))
    with record(tmp_path, fake) as server:
        assert {"me": 1} == ask(server.client, place, attempt=1).json()
        server.stop()
    fake.close()
    run_command("archive", "freeze", tmp_path / "out" / "overlay", "-o", tmp_path / "made.replay")
    assert [] == found_in(tmp_path)
    words = (tmp_path / "made.replay", "--home", tmp_path / "home", "--mode", "strict")
    with serving_process(*words, "--upstream", tmp_path / "up.toml") as server:
        assert {"me": 1} == ask(server.client, place, attempt=2).json()
        assert 0 == server.metric("network_attempts")
        assert 0 == server.stop()
    with serving_process(*words) as server:
        assert 502 == ask(server.client, place, attempt=3).status_code
        assert {"me": 1} == ask(server.client, Place("/bot$redacted/me"), attempt=4).json()


def test_a_client_keeps_its_session_while_it_records(tmp_path: Path, fake: FakeUpstream) -> None:
    """A cookie reaches the client that asked live, bound to the proxy; the archive has no trace of it."""
    cookie = f"sid={quote(FIRST)}; Path=/v9; Domain=127.0.0.1; Secure; HttpOnly"
    fake.answers("/login", lambda _: answer_json({}, headers=(("set-cookie", cookie), ("set-cookie", "b=2"))))
    fake.answers("/me", lambda asked: answer_json({"sent": asked.headers.get("cookie", "").count("=")}))

    def visit(server: ServingProcess) -> list[bytes]:
        return [server.client.get(f"/http/api/{path}").content for path in ("login", "me")]

    with record(tmp_path, fake) as server:
        live = visit(server)
        assert 0 == server.stop()
    assert [b"{}", b'{"sent": 2}'] == live
    assert quote(FIRST) in fake.asked[1].headers["cookie"]
    run_command("archive", "freeze", tmp_path / "out" / "overlay", "-o", tmp_path / "made.replay")
    assert [] == found_in(tmp_path)
    fake.close()
    with serving_process(tmp_path / "made.replay", "--home", tmp_path / "home") as server:
        assert live == visit(server)


def test_a_mask_is_never_asked(tmp_path: Path, fake: FakeUpstream) -> None:
    """A token that was masked for the client too is not sent as a value; the file can hold one instead."""
    fake.answers("/token", lambda _: answer_json({"access_token": FIRST}))
    with record(tmp_path, fake) as server:
        token = server.client.get("/http/api/token").json()["access_token"]
        got = server.client.get("/http/api/fine", headers={"authorization": f"Bearer {token}"})
        server.stop()
    assert ("$redacted", 502, "arguments") == (token, got.status_code, got.headers["x-replay-failure"])
    assert "give upstream.api one of its own in the file" in got.json()["detail"]
    assert 1 == len(fake.asked)
    words = (
        (tmp_path / "up.toml")
        .read_text()
        .replace("headers = {", 'headers = {Authorization = {file = "key"}, ')
    )
    (tmp_path / "up.toml").write_text(words)
    live = ("--mode", "record", "--upstream", tmp_path / "up.toml", "--out", tmp_path / "out")
    with serving_process(tmp_path / "made.replay", *live) as server:
        got = server.client.get("/http/api/fine", headers={"authorization": f"Bearer {token}"})
    assert (200, OWN) == (got.status_code, fake.asked[-1].headers["authorization"])
