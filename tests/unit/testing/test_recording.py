"""Clients that are answered from recorded exchanges: recorded, replayed, repeated, missed."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPResponse

from replay.core.errors import InputError, MissError, StoreError, UsageError
from replay.testing.recording import open_recording
from replay.wiring.places import data_home

URL = "https://api.example.org/v1/find?city=Oslo"


class Upstream:
    """A live upstream in this process: counts, and streams events in parts."""

    def __init__(self, status: int = 200) -> None:
        self.asked = 0
        self._status = status

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer with a number of its own."""
        self.asked += 1
        if request.url.path == "/events":
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Events())
        body = request.content.decode() or str(self.asked)
        return httpx.Response(self._status, json={"n": body}, headers={"set-cookie": "sid=s3cret"})


class Events(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Two events, the first cut inside a letter."""

    parts = (b"data: \xc3", b"\xa9\n\n", b"data: 2\n\n")

    def __iter__(self) -> Iterator[bytes]:
        yield from self.parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            yield part


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an archive will be; stores stay in the test's own folder."""
    monkeypatch.setenv("REPLAY_HOME", str(tmp_path / "home"))
    assert data_home().is_relative_to(tmp_path)
    return tmp_path / "weather.replay"


def record(archive: Path, *urls: str, upstream: Upstream | None = None, **options: Any) -> list[str]:
    """Ask for these in record mode; return what the client saw."""
    live = httpx.MockTransport(upstream or Upstream())
    with (
        open_recording(archive, mode="record", **options) as recording,
        httpx.Client(transport=recording.transport(live)) as client,
    ):
        return [client.get(url).text for url in urls]


def replayed(archive: Path, *urls: str, **options: Any) -> list[str]:
    """Ask for these with the upstream gone."""
    with (
        open_recording(archive, **options) as recording,
        httpx.Client(transport=recording.transport()) as client,
    ):
        return [client.get(url).text for url in urls]


def test_what_was_recorded_is_replayed_with_the_upstream_gone(archive: Path) -> None:
    """Two equal requests have an answer each, in order; after the last the last again."""
    seen = record(archive, URL, URL)
    assert ['{"n":"1"}', '{"n":"2"}'] == seen
    assert [*seen, seen[1]] == replayed(archive, URL, URL, URL)
    assert not archive.with_suffix(".recording").exists()


def test_a_sequence_that_ran_out_says_who_used_it(archive: Path) -> None:
    """With `once` a third request is a miss that names both uses."""
    record(archive, URL, URL)
    with pytest.raises(MissError, match="recorded 2 times, both used at steps 0 and 1"):
        replayed(archive, URL, URL, URL, repeats="once")


def test_a_miss_names_the_nearest_recorded_request(archive: Path) -> None:
    """By what differs."""
    record(archive, URL)
    with pytest.raises(MissError, match="city 'Bergen' vs recorded 'Oslo'"):
        replayed(archive, URL.replace("Oslo", "Bergen"))


def test_a_second_recording_adds_only_what_is_new(archive: Path) -> None:
    """What is there is not asked for again, and stays."""
    record(archive, URL)
    upstream = Upstream()
    other = URL.replace("Oslo", "Rome")
    record(archive, URL, other, upstream=upstream)
    assert 1 == upstream.asked
    assert ['{"n":"1"}', '{"n":"1"}'] == replayed(archive, URL, other)


def test_an_upstream_name_stands_for_the_origin(archive: Path) -> None:
    """Recorded from one host, replayed for another that has the same API."""
    live = httpx.MockTransport(Upstream())
    with open_recording(archive, mode="record", upstream="weather") as recording:
        httpx.Client(transport=recording.transport(live)).get(URL)
    moved = URL.replace("api.example.org", "localhost:8080")
    assert ['{"n":"1"}'] == replayed(archive, moved, upstream="weather")
    with pytest.raises(MissError):
        replayed(archive, moved)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failing_upstream_is_not_recorded_as_an_answer(archive: Path, status: int) -> None:
    """Unless that is asked for; then it is replayed as the failure that it was."""
    with pytest.raises(InputError, match="nothing was recorded"):
        record(archive, URL, upstream=Upstream(status))
    assert not archive.exists()
    record(archive, URL, upstream=Upstream(status), keep_errors=True)
    with open_recording(archive) as recording:
        assert status == httpx.Client(transport=recording.transport()).get(URL).status_code


def test_a_stream_keeps_its_bytes_and_its_cuts(archive: Path) -> None:
    """Also where a letter was cut in two."""
    record(archive, "https://api.example.org/events")
    with (
        open_recording(archive) as recording,
        httpx.Client(transport=recording.transport()) as client,
        client.stream("GET", "https://api.example.org/events") as response,
    ):
        assert list(Events.parts) == list(response.iter_raw())


def test_asynchronous_clients_share_archives_with_the_others(archive: Path) -> None:
    """Recorded by one kind, replayed by the other; many at once get their own answers."""

    async def ask(urls: list[str], mode: str) -> list[str]:
        live = httpx.MockTransport(Upstream())
        with open_recording(archive, mode=mode) as recording:
            async with httpx.AsyncClient(transport=recording.async_transport(live)) as client:
                answers = await asyncio.gather(*(client.post(url, content=url) for url in urls))
                return [answer.json()["n"] for answer in answers]

    urls = [f"https://api.example.org/{number}" for number in range(20)]
    assert urls == asyncio.run(ask(urls, "record"))
    assert urls[::-1] == asyncio.run(ask(urls[::-1], "strict"))
    with open_recording(archive) as recording, httpx.Client(transport=recording.transport()) as client:
        assert urls[3] == client.post(urls[3], content=urls[3]).json()["n"]


class Canned(BaseAdapter):
    """A live upstream for requests."""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Answer with what was sent."""
        body = request.body if isinstance(request.body, bytes) else (request.body or "").encode()
        raw = HTTPResponse(body=body or b"none", status=201, headers={"X-Kind": "live"}, preload_content=True)
        response = HTTPAdapter().build_response(request, raw)
        response._content = body or b"none"
        return response

    def close(self) -> None:
        """Nothing is open."""


def test_requests_sessions_are_answered_too(archive: Path) -> None:
    """Status, headers and bytes; another body is a miss."""
    for mode in ("record", "strict"):
        with open_recording(archive, mode=mode) as recording, requests.Session() as session:
            session.mount("https://", recording.adapter(Canned()))
            response = session.post(URL, json={"days": 3})
            assert (201, "live", b'{"days": 3}') == (
                response.status_code,
                response.headers["x-kind"],
                response.content,
            )
    with open_recording(archive) as recording, requests.Session() as session:
        session.mount("https://", recording.adapter())
        with pytest.raises(MissError, match="days"):
            session.post(URL, json={"days": 4})


def test_a_recording_that_crashed_is_gone_on_with(archive: Path) -> None:
    """What was answered before is kept beside the archive and not asked for again."""
    live = httpx.MockTransport(Upstream())

    def crash() -> None:
        with open_recording(archive, mode="record") as recording:
            httpx.Client(transport=recording.transport(live)).get(URL)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        crash()
    assert not archive.exists()
    upstream = Upstream()
    assert ['{"n":"1"}'] == record(archive, URL, upstream=upstream)
    assert 0 == upstream.asked


def test_nothing_of_a_session_cookie_is_kept(archive: Path) -> None:
    """The archive's bytes hold neither it nor the credentials of the request."""
    live = httpx.MockTransport(Upstream())
    with open_recording(archive, mode="record") as recording:
        headers = {"authorization": "Bearer s3cret", "cookie": "sid=s3cret"}
        httpx.Client(transport=recording.transport(live), headers=headers).get(f"{URL}&api_key=s3cret")
    assert ['{"n":"1"}'] == replayed(archive, f"{URL}&api_key=another")


@pytest.mark.parametrize("mode", ["strict", "replay"])
def test_an_archive_that_is_not_there_is_named(archive: Path, mode: str) -> None:
    """With what to do."""
    with pytest.raises(InputError, match=r"no archive weather\.replay"), open_recording(archive, mode=mode):
        pass


def test_an_unknown_mode_is_refused(archive: Path) -> None:
    """The three are listed."""
    with pytest.raises(UsageError, match="unknown mode 'once'"), open_recording(archive, mode="once"):
        pass


class Echo:
    """A live upstream that says what it was asked with: compressed, or in events cut inside words."""

    def __init__(self, kind: str, status: int = 200) -> None:
        self._kind = kind
        self._status = status

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer with the credentials of the request."""
        said = json.dumps({"said": f"{request.headers.get('authorization')} {request.content.decode()}"})
        if self._kind == "events":
            packets = Packets(f"data: {said}\n\n".encode())
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=packets)
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        return httpx.Response(self._status, headers=headers, content=gzip.compress(said.encode()))


class Packets(httpx.SyncByteStream):
    """A body that comes in packets of seven bytes."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self._body), 7):
            yield self._body[start : start + 7]


@pytest.mark.parametrize("kind", ["whole", "events"])
def test_a_credential_that_a_service_says_back_is_not_kept(archive: Path, kind: str) -> None:
    """Nor one that the request's own body repeats; another one is answered all the same."""
    for mode, token in (("record", "sk-live-123456789"), ("strict", "sk-live-another-1")):
        with open_recording(archive, mode=mode) as recording:
            live = httpx.MockTransport(Echo(kind))
            client = httpx.Client(transport=recording.transport(live if mode == "record" else None))
            got = client.post(URL, headers={"authorization": f"Bearer {token}"}, json={"mine": token})
            assert (True, False) == ("$redacted" in got.text, token in got.text)


def test_a_failure_that_is_not_recorded_can_be_read(archive: Path) -> None:
    """What came compressed is told as what it is, as a replay would."""
    with open_recording(archive, mode="record") as recording:
        client = httpx.Client(transport=recording.transport(httpx.MockTransport(Echo("whole", 503))))
        got = client.get(URL)
        assert (503, None) == (got.status_code, got.headers.get("content-encoding"))
        assert "None" in got.json()["said"]
        httpx.Client(transport=recording.transport(httpx.MockTransport(Upstream()))).get(URL)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file stands where the folder of the archive would be."""
    (tmp_path / "archives").write_text("a file")
    with (
        pytest.raises(StoreError, match=r"folder of the archive cannot be made: .*archives"),
        open_recording(tmp_path / "archives" / "a.replay", mode="record"),
    ):
        pass
