"""Calls become requests, statuses become answers or failures, and what was said is kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from replay.core.errors import DamagedError
from replay.core.types import CallRequest, Json, Key
from replay.store.journal import Journal
from replay.tools.asking import LiveFailureError, LiveRequest
from replay.tools.exchange import HttpAnswer
from replay.tools.keys import recipe_for
from replay.tools.live_source import JournaledSource, LiveSource, UpstreamChoice, request_of
from replay.tools.masking import Secrets
from replay.tools.upstreams import Route, Upstream
from tests.support.answering import CountingSource, make_call

KEY = Key("sha256:" + "ab" * 32)


class OneAnswer:
    """A client that has one answer."""

    def __init__(self, answer: HttpAnswer, **changes: Json) -> None:
        words: dict[str, Json] = {"name": "u", "kind": "rest", "base_url": "http://x"}
        self.upstream = Upstream(**{**words, "routes": (Route(tool="*", path="/"),), **changes})
        self.secrets = Secrets(["planted-secret"])
        self.asked: list[LiveRequest] = []
        self._answer = answer

    def send(self, asked: LiveRequest) -> HttpAnswer:
        """Say it."""
        self.asked.append(asked)
        return self._answer


def call(arguments: Json, tool: str = "a/b/c") -> CallRequest:
    """Build a call."""
    return CallRequest(benchmark="demo", tool=tool, arguments=arguments)


@pytest.mark.parametrize(
    ("route", "arguments", "path", "query", "body"),
    [
        (Route(tool="*", path="/x"), {"q": "a b", "n": 5}, "/x", (("q", "a b"), ("n", "5")), b""),
        (Route(tool="*", path="/x"), {"q": ["a", 1], "z": None}, "/x", (("q", "a"), ("q", "1")), b""),
        (
            Route(tool="*", path="/x"),
            {"q": True, "o": {"a": 1}},
            "/x",
            (("q", "true"), ("o", '{"a":1}')),
            b"",
        ),
        (Route(tool="*", path="/{id}/y"), {"id": "a/b?c"}, "/a%2Fb%3Fc/y", (), b""),
        (Route(tool="*", path="/{a}/{b}"), {"a": 1, "b": "é"}, "/1/%C3%A9", (), b""),
        (Route(tool="*", method="POST", path="/{id}"), {"id": 1, "b": 2}, "/1", (), b'{"b":2}'),
    ],
)
def test_a_route_makes_a_request(
    route: Route, arguments: Json, path: str, query: tuple[tuple[str, str], ...], body: bytes
) -> None:
    """Path, query and body hold every argument once."""
    made = request_of(call(arguments), route)
    assert (path, query, body) == (made.path, made.query, made.body)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ([1], "/x"),
        ({}, "/{id}"),
        ({"id": {}}, "/{id}"),
        ({"id": ".."}, "/{id}"),
        ({"id": ""}, "/{id}"),
        ({"key": {"$redacted": {"rule": "api-key", "type": "string"}}}, "/x"),
        ({"url": "http://x?api_key=$redacted"}, "/x"),
    ],
)
def test_what_cannot_be_asked_is_not_sent(arguments: Json, path: str) -> None:
    """A mask above all."""
    with pytest.raises(LiveFailureError) as caught:
        request_of(call(arguments), Route(tool="*", path=path))
    assert "arguments" == caught.value.kind


@pytest.mark.parametrize(
    ("status", "body", "kind", "failed"),
    [
        (301, b"", "text/plain", "redirected"),
        (401, b"", "text/plain", "unauthorized"),
        (403, b"{}", "application/json", "unauthorized"),
        (200, b'{"a": 1', "application/json", "not-json"),
        (200, b'{"a": 1}}', "application/json; charset=utf-8", "not-json"),
        (200, b"\xff", "text/plain", "not-text"),
    ],
)
def test_what_is_no_answer_is_a_failure(status: int, body: bytes, kind: str, failed: str) -> None:
    """Each by its name."""
    answer = HttpAnswer(status=status, headers=(("content-type", kind),), body=body)
    with pytest.raises(LiveFailureError) as caught:
        LiveSource(OneAnswer(answer)).answer(call({}), occurrence=0)
    assert failed == caught.value.kind


def test_secrets_in_an_answer_are_masked() -> None:
    """Before anybody sees it, the candidate included."""
    answer = HttpAnswer(status=200, body=b"you sent planted-secret")
    result = LiveSource(OneAnswer(answer)).answer(call({}), occurrence=0)
    assert result is not None
    assert ("you sent $redacted", "you sent $redacted") == (result.content, result.body)


def test_a_tool_of_another_upstream_passes() -> None:
    """The globs say who answers."""
    client = OneAnswer(HttpAnswer(status=200), tools=("weather/*",))
    assert UpstreamChoice([LiveSource(client)]).answer(call({}), occurrence=0) is None
    assert [] == client.asked


def test_equal_calls_of_many_workers_are_asked_once(tmp_path: Path) -> None:
    """Whoever comes second gets what the first was told."""
    inner = CountingSource("live", says="ok")
    sources = [JournaledSource(inner, Journal(tmp_path), recipe_for("demo")) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: sources[n % 4].answer(make_call(), occurrence=0), range(24)))
    assert (1, 1) == (len(inner.asked), len({result.content for result in results if result}))


def test_failures_are_not_kept(tmp_path: Path) -> None:
    """The next attempt asks again."""
    failing = CountingSource("live", fails=LiveFailureError("timeout", "slow", "u"))
    source = JournaledSource(failing, Journal(tmp_path), recipe_for("demo"))
    for _ in range(2):
        with pytest.raises(LiveFailureError):
            source.answer(make_call(), occurrence=0)
    assert 2 == len(failing.asked)


def test_what_is_kept_first_stays(tmp_path: Path) -> None:
    """Put if absent."""
    journal = Journal(tmp_path)
    journal.write(KEY, 0, "first")
    journal.write(KEY, 0, "second")
    assert ("first", None) == (journal.read(KEY, 0), journal.read(KEY, 1))


def test_a_damaged_answer_is_an_error(tmp_path: Path) -> None:
    """Never a miss, never half an answer."""
    journal = Journal(tmp_path)
    journal.write(KEY, 0, "first")
    (path,) = sorted(tmp_path.rglob("*.json"))
    path.write_text(path.read_text().replace("first", "other"))
    with pytest.raises(DamagedError, match="a kept answer is damaged"):
        journal.read(KEY, 0)
