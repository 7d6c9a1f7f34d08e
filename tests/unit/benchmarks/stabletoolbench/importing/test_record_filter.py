"""The upstream record filter, the origin rules, empty answers and the failure record."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.importing.record_filter import (
    FAILURE_TEXT,
    check_record,
    is_empty_answer,
    is_failure_record,
    origin_of,
)
from replay.core.types import Json


def _answer(response: Json) -> dict[str, Json]:
    return {"error": "", "response": response}


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("accept", _answer("sunny")),
        ("accept", _answer({"degrees": 3})),
        ("accept", _answer("f() got an unexpected keyword argument 'a', error 404")),
        ("accept", _answer("service not found")),
        ("reject: no error field", {"response": "a"}),
        ("reject: no error field", ["a"]),
        ("reject: error", {"error": "x", "response": "a"}),
        ("reject: error", {"error": None, "response": "a"}),
        ("reject: no response field", {"error": ""}),
        ("reject: empty", _answer("")),
        ("reject: 500", _answer("search volume 40500")),
        ("reject: 404", _answer("see room 404")),
        ("reject: rate limit", _answer("Rate Limit reached")),
        ("reject: Service Not Found", _answer("Service Not Found")),
        ("reject: authoriz", _answer("AUTHORIZE first")),
        ("reject: blocked", _answer("blocked")),
        ("reject: ACCESS_DENIED", _answer("ACCESS_DENIED")),
        ("accept", _answer("access_denied")),
        ("reject: parameter", _answer("a parameter")),
        ("reject: parse", _answer("cannot parse")),
        ("reject: API doesn't exists", _answer({"message": "API doesn't exists"})),
        ("accept", _answer("API doesn't exists")),
        ("reject: status_code=429", _answer("status_code=429")),
    ],
)
def test_check_record(expected: str, answer: Json) -> None:
    """Each rule of the filter decides by its word, case as upstream compares it."""
    assert expected == check_record(answer)


@pytest.mark.parametrize("response", ["", None, [], {}])
def test_empty_answers(response: Json) -> None:
    """An answer without error that says nothing is empty."""
    assert is_empty_answer(_answer(response))


@pytest.mark.parametrize(
    "answer", [_answer(0), _answer(False), {"error": "x", "response": ""}, {"error": ""}]
)
def test_answers_that_are_not_empty(answer: Json) -> None:
    """Zero and false are data; an error is no empty answer."""
    assert not is_empty_answer(answer)


def test_failure_record() -> None:
    """The simulator's failure record is known by its text."""
    assert is_failure_record({"error": FAILURE_TEXT, "response": ""})


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("unknown", _answer("")),
        ("unknown", _answer({"a": 1})),
        ("unknown", _answer("{'a': 1}")),
        ("unknown", ["a"]),
        ("real", _answer("{" + "x" * 2047)),
        ("unknown", _answer("x" * 2048)),
        ("real", {**_answer({}), "is_fake": False}),
        ("simulated", {**_answer({}), "is_fake": True}),
        ("simulated", {"error": FAILURE_TEXT, "response": ""}),
    ],
)
def test_origin(expected: str, answer: Json) -> None:
    """Origin is unknown unless the record proves it."""
    assert expected == origin_of(answer)
