"""Planted secrets: none is stored, and a request with another secret finds what was recorded."""

from __future__ import annotations

import base64
import json
from typing import NamedTuple
from urllib.parse import quote

import pytest

from replay.core.types import Json, SnapshotKind
from replay.tools.exchange import HttpAnswer, HttpKeys, HttpRequest, read_answer
from replay.tools.exchanges import Exchanges
from replay.tools.masking import Secrets
from replay.tools.misses import MissReporter
from replay.tools.stream_masking import cut_events
from tests.support.answering import MemoryStore

FIRST, SECOND = "planted+canary/one=1", "another+secret/two=2"
JSON = (("content-type", "application/json"),)
FORM = (("content-type", "application/x-www-form-urlencoded"),)
STREAM = (("content-type", "text/event-stream"),)


class Exchange(NamedTuple):
    """What is asked and answered."""

    request: HttpRequest
    answer: HttpAnswer


def ask(
    path: str = "/x", *, query: str = "", headers: tuple[tuple[str, str], ...] = (), body: bytes = b""
) -> HttpRequest:
    """Build a request."""
    return HttpRequest(upstream="u", method="POST", path=path, query=query, headers=headers, body=body)


def say(body: str | bytes, headers: tuple[tuple[str, str], ...] = JSON) -> HttpAnswer:
    """Build an answer, cut at its events where it is a stream."""
    raw = body.encode() if isinstance(body, str) else body
    return HttpAnswer(
        status=200, headers=headers, body=raw, cuts=cut_events(raw) if headers == STREAM else ()
    )


def plant(place: str, secret: str) -> Exchange:
    """Build an exchange with a secret in this place."""
    fine = say('{"ok": true}')
    basic = base64.b64encode(f"me:{secret}".encode()).decode()
    half = len(secret) // 2
    events = "".join(
        f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n"
        for piece in ("it is ", secret[:half], secret[half:], " indeed")
    )
    document: dict[str, Json] = {"id": "call_0123456789abcdef", "data": {"access_token": secret}}
    places = {
        "authorization header": Exchange(ask(headers=(("Authorization", f"Bearer {secret}"),)), fine),
        "basic credentials": Exchange(ask(headers=(("authorization", f"Basic {basic}"),)), fine),
        "key header": Exchange(ask(headers=(("X-RapidAPI-Key", secret),)), fine),
        "cookie": Exchange(ask(headers=(("Cookie", f"sid={secret}"),)), fine),
        "own header": Exchange(ask(headers=(("x-signature", secret),)), fine),
        "query": Exchange(ask(query=f"q=1&api_key={quote(secret, safe='')}"), fine),
        "unnamed query": Exchange(ask(query=f"appid={quote(secret, safe='')}"), fine),
        "path": Exchange(ask(f"/bot{quote(secret, safe='')}/send"), fine),
        "json body": Exchange(
            ask(headers=JSON, body=json.dumps({"a": [{"client_secret": secret}]}).encode()), fine
        ),
        "form body": Exchange(
            ask(headers=FORM, body=f"u=me&password={quote(secret, safe='')}".encode()), fine
        ),
        "url in a body": Exchange(
            ask(headers=JSON, body=json.dumps({"hook": f"https://h/?api_key={secret}"}).encode()), fine
        ),
        "base64 in a body": Exchange(ask(headers=JSON, body=json.dumps({"blob": basic}).encode()), fine),
        "answer field": Exchange(ask(), say(json.dumps(document))),
        "answer cookie": Exchange(ask(), say("{}", (*JSON, ("set-cookie", f"sid={secret}")))),
        "answer location": Exchange(ask(), say("{}", (*JSON, ("location", f"/cb?access_token={secret}")))),
        "answer text": Exchange(ask(), say(f"you sent {secret}", (("content-type", "text/plain"),))),
        "answer base64": Exchange(ask(), say(json.dumps({"echo": basic}))),
        "answer bytes": Exchange(ask(), say(b"\xff" + secret.encode() + b"\xfe")),
        "stream deltas": Exchange(ask(), say(events, STREAM)),
    }
    return places[place]


PLACES = (
    "authorization header",
    "basic credentials",
    "key header",
    "cookie",
    "own header",
    "query",
    "unnamed query",
    "path",
    "json body",
    "form body",
    "url in a body",
    "base64 in a body",
    "answer field",
    "answer cookie",
    "answer location",
    "answer text",
    "answer base64",
    "answer bytes",
    "stream deltas",
)


def open_session(store: MemoryStore, secret: str, *, records: bool) -> Exchanges:
    """Open exchanges for somebody who has this secret."""
    secrets = Secrets([secret])
    return Exchanges(
        store,
        HttpKeys(mask=secrets.mask_json),
        MissReporter(store),
        overlay=store if records else None,
        secrets=secrets,
    )


def spellings(secret: str) -> list[str]:
    """A secret as a search for leaks would look for it."""
    whole = base64.b64encode(f"me:{secret}".encode()).decode()
    return [secret, quote(secret, safe=""), json.dumps(secret)[1:-1], whole, secret.encode().hex()]


@pytest.mark.parametrize("place", PLACES)
def test_a_planted_secret_is_not_stored_and_another_one_hits(place: str) -> None:
    """Recorded with one secret, replayed with another."""
    store = MemoryStore()
    recorded = plant(place, FIRST)
    open_session(store, FIRST, records=True).session("s").answer(recorded.request, lambda: recorded.answer)
    text = json.dumps([[s.scope, s.request, s.body] for s in store.rows.values()], ensure_ascii=False)
    assert [] == [spelled for spelled in spellings(FIRST) if spelled in text]
    replayed = open_session(store, SECOND, records=False).session("s").answer(plant(place, SECOND).request)
    assert 200 == replayed.status
    assert FIRST.encode() not in replayed.body


def test_different_requests_stay_different() -> None:
    """A mask merges secrets, never questions."""
    keys = HttpKeys(mask=Secrets([FIRST]).mask_json)
    scopes = {keys.call_of(ask(query=f"q={n}&api_key={FIRST}")).arguments["query"][0]["q"] for n in range(3)}
    assert {"0", "1", "2"} == scopes


def test_ids_and_bytes_around_a_secret_stay() -> None:
    """Spaces, order and tool-call ids are what the upstream sent."""
    body = '{ "id":"call_0123456789abcdef",\n "access_token" : "s3cr3t-value", "ts": 1700000000000 }'
    masked = Secrets().mask_answer(say(body)).body.decode()
    assert body.replace("s3cr3t-value", "$redacted") == masked


def test_a_stream_without_a_secret_keeps_its_bytes() -> None:
    """Events are written anew only where something was taken out."""
    body = 'data:  {"a" :1}\n\n: comment\n\ndata: [DONE]\n\n'
    answer = say(body, STREAM)
    assert answer == Secrets([FIRST]).mask_answer(answer)


def test_a_stream_loses_the_secret_and_nothing_else() -> None:
    """The pieces become one mask; the message around it is whole, and the cuts fit."""
    masked = Secrets([FIRST]).mask_answer(plant("stream deltas", FIRST).answer)
    said = [json.loads(part[6:])["choices"][0]["delta"]["content"] for part in masked.parts]
    assert "it is $redacted indeed" == "".join(said)
    assert 4 == len(masked.cuts)


def test_short_values_are_not_looked_for() -> None:
    """A key `ab` would take letters out of every word."""
    assert "absolutely" == Secrets(["ab"]).mask_text("absolutely")


def test_fields_of_the_upstreams_file_are_masked() -> None:
    """In any spelling."""
    body = '{"Session-Ticket": "t1"}'
    assert '{"Session-Ticket": "$redacted"}' == Secrets(fields=["session_ticket"]).mask_body(body)


def test_what_is_stored_is_what_a_replay_gives() -> None:
    """The first reader gets no more than the second."""
    store, exchange = MemoryStore(), plant("answer field", FIRST)
    session = open_session(store, FIRST, records=True).session("s")
    first = session.answer(exchange.request, lambda: exchange.answer)
    (key,) = store.scope(SnapshotKind.API, "u POST /x")
    held = store.get(key)
    assert held is not None
    assert read_answer(held.body) == first


@pytest.mark.parametrize(
    ("body", "masked"),
    [
        ('{"password": "a", "name": "banana"}', '{"password": "$redacted", "name": "banana"}'),
        ('{"api_key": "string", "kind": "string"}', '{"api_key": "$redacted", "kind": "string"}'),
        ('{"api_key": 12345678, "n": 1}', '{"api_key": "$redacted", "n": 1}'),
        ('{"password": ""}', '{"password": ""}'),
        ("user=me&password=a", "user=me&password=$redacted"),
        ('{"next": "/p?api_key=a&n=1"}', '{"next": "/p?api_key=$redacted&n=1"}'),
        ('{"cookie": {"sid": "s3cr3t-value"}}', '{"cookie": {"sid": "$redacted"}}'),
        ('{"token": "BTC", "key": "C major"}', '{"token": "BTC", "key": "C major"}'),
    ],
)
def test_values_of_secret_fields_are_masked_where_they_stand(body: str, masked: str) -> None:
    """Short ones and words there only; what tells is looked for everywhere."""
    assert masked == Secrets().mask_body(body)
    assert masked == Secrets().mask_body(masked)


def test_a_secret_that_is_a_part_of_the_mask_is_not_looked_for() -> None:
    """Masking again changes nothing."""
    assert "$redacted" == Secrets(["redacted"]).mask_text("$redacted")


@pytest.mark.parametrize(
    ("body", "masked"),
    [
        (
            '{"id": 12345678, "all": [12345678, -12345678.5]}',
            '{"id": "$redacted", "all": ["$redacted", "$redacted"]}',
        ),
        ('{"said": "id 12345678, \\"12345678\\""}', '{"said": "id $redacted, \\"$redacted\\""}'),
        ("[12345678]", '["$redacted"]'),
        ("id=12345678", "id=$redacted"),
        ('event: one\ndata: {"id": 12345678}\n\n', 'event: one\ndata: {"id": "$redacted"}\n\n'),
    ],
)
def test_a_secret_number_is_masked_as_a_whole(body: str, masked: str) -> None:
    """A cookie may hold a user's number, which JSON shows as one: what is JSON stays JSON."""
    known = Secrets(["12345678"])
    assert masked == known.mask_body(body)
    streamed = HttpAnswer(status=200, headers=STREAM, body=body.encode())
    assert masked.encode() == known.mask_answer(streamed).body


def test_a_secret_number_is_masked_in_what_is_looked_up() -> None:
    """Numbers and nothing else: true is none."""
    assert {"id": "$redacted", "is": True, "n": 1} == Secrets(["12345678"]).mask_json(
        {"id": 12345678, "is": True, "n": 1}
    )
