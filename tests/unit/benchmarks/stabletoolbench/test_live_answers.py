"""Live answers in the benchmark's form: under `response`, in the API's own spelling."""

from __future__ import annotations

import json

import pytest

from replay.benchmarks.registry import get_live_form
from replay.benchmarks.stabletoolbench.live_answers import LiveAnswers


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ('{"t": 1.50,  "k": null}', '{"error": "", "response": {"t": 1.50,  "k": null}}'),
        ("[1]\n", '{"error": "", "response": [1]}'),
        ("3", '{"error": "", "response": 3}'),
        ('{"message": "no such city"}', '{"error": "", "response": {"message": "no such city"}}'),
        ('"Snö"', '{"error": "", "response": "Snö"}'),
        ("Snö\n<b>", '{"error": "", "response": "Snö\\n<b>"}'),
        ("", '{"error": "", "response": ""}'),
        ("[NaN]", '{"error": "", "response": "[NaN]"}'),
        ('{"error": "busy", "response": ""}', '{"error": "busy", "response": ""}'),
        ('{"error": "x"}', '{"error": "", "response": {"error": "x"}}'),
    ],
)
def test_an_answer_goes_under_response(said: str, written: str) -> None:
    """What is in the form already stays; what is no JSON is a text."""
    assert written == LiveAnswers().answer(said)
    assert {"error", "response"} == json.loads(written).keys()


def test_a_failure_is_an_error() -> None:
    """With nothing under `response`."""
    assert {"error": "timeout: 3 s", "response": ""} == json.loads(LiveAnswers().failure("timeout: 3 s"))


def test_other_benchmarks_take_answers_as_they_are() -> None:
    """They have no form."""
    assert (True, None) == (
        isinstance(get_live_form("stabletoolbench"), LiveAnswers),
        get_live_form("metatool"),
    )
