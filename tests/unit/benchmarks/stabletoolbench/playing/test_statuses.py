"""Observations: status codes by error text, JSON text as upstream writes it, the cut."""

from __future__ import annotations

import json

import pytest

from replay.benchmarks.stabletoolbench.playing.statuses import (
    UpstreamFailureError,
    cut_text,
    observe_answer,
    observe_text,
    status_of_error,
)
from replay.core.types import Json


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (0, ""),
        (0, "some other error"),
        (0, None),
        (0, 404),
        (0, "Rate limit error..."),
        (5, "Timeout error..."),
        (5, "Timeout error...HTTPConnectionPool: Read timed out."),
        (6, "API not working error..."),
        (7, "Unauthorized error..."),
        (8, "Unsubscribed error..."),
        (9, "Too many requests error..."),
        (10, "Rate limit per minute error..."),
        (11, "Message error..."),
        (12, "request invalid, data error"),
        (12, "request invalid, data error. status_code=503"),
    ],
)
def test_status_by_error_text(code: int, error: Json) -> None:
    """The error text of an answer decides its code; what is unknown is a normal answer."""
    assert code == status_of_error(error)


def test_observation_is_pythons_json_text() -> None:
    """Names keep their recorded order, other scripts are escaped, separators have a space."""
    body = {"response": {"b": 1.0, "a": "caf\u00e9"}, "error": ""}
    seen = observe_answer(body, strict=False)
    assert (seen.text, seen.code) == ('{"response": {"b": 1.0, "a": "caf\\u00e9"}, "error": ""}', 0)


@pytest.mark.parametrize(
    ("length", "size"), [(10, 10), (1023, 1023), (1024, 1024), (1025, 1027), (9000, 1027)]
)
def test_a_cut_text_is_three_longer_than_the_limit(length: int, size: int) -> None:
    """Texts over the limit keep that many characters and end in three dots."""
    assert size == len(cut_text("x" * length, 1024))


@pytest.mark.parametrize("body", [None, [], "text", 5, {}, {"response": "r"}, {"Error": ""}])
def test_compat_fails_on_answers_without_error(body: Json) -> None:
    """Upstream's client stops on an answer that has no `error` to read."""
    with pytest.raises(UpstreamFailureError, match="answer-shape"):
        observe_answer(body, strict=False)


def test_compat_does_not_need_a_response() -> None:
    """Upstream reads `error` only."""
    assert observe_answer({"error": ""}, strict=False).text == '{"error": ""}'


@pytest.mark.parametrize("body", [None, [], "text", {}, {"error": ""}, {"response": "r"}])
def test_strict_makes_a_typed_error_of_a_wrong_shape(body: Json) -> None:
    """Strict tells the candidate and goes on."""
    seen = observe_answer(body, strict=True)
    assert seen.code == 12
    assert json.loads(seen.text)["error"].startswith("Recorded answer invalid")


def test_a_cut_recorded_observation_is_shown_as_it_was() -> None:
    """What an answer file holds of a long answer stays that text, with the code of its error."""
    text = '{"error": "Message error...", "response": "' + "x" * 981 + "..."
    for strict in (False, True):
        seen = observe_text(text, strict=strict)
        assert (text, 11) == (seen.text, seen.code)


@pytest.mark.parametrize("text", ["", "<html>busy</html>", "{", "null", "[" * 100_000, '{"error": "", "resp'])
def test_a_body_that_is_no_json_is_a_bad_request(text: str) -> None:
    """The client says that the request was invalid, with code 12."""
    seen = observe_text(text, strict=False)
    assert ('{"error": "request invalid, data error", "response": ""}', 12) == (seen.text, seen.code)


def test_compat_reads_pythons_json() -> None:
    """NaN and repeated names pass upstream's reader; strict calls such a body invalid."""
    text = '{"error": "x", "error": "", "response": NaN}'
    assert observe_text(text, strict=False).text == '{"error": "", "response": NaN}'
    assert observe_text(text, strict=True).code == 12
