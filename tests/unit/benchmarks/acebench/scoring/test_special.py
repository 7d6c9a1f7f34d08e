"""Refusals, officially by pieces of text and strictly by the sentence."""

from __future__ import annotations

import pytest

from replay.core.types import Json
from tests.support.ace_tables import judge_text, make_call_task

_MISSING = '["Missing necessary parameters (size, color) for the api (paint)"]'
_WRONG = '["There is incorrect value (-5) for the parameters (weight) in the conversation history."]'
_CANNOT = '["Due to the limitations of the function, I cannot solve this problem."]'


def _sides(category: str, truth: Json, output: Json) -> tuple[str, str]:
    verdict = judge_text(make_call_task(truth, category=category), output)
    return (verdict.compat.why or "pass", verdict.strict.why or "pass")


@pytest.mark.parametrize(
    ("output", "official", "strict"),
    [
        (_MISSING, "pass", "pass"),
        (_MISSING.replace("size, ", ""), "error_correction", "error_correction"),
        (_MISSING.replace("(paint)", "(print)"), "error_correction", "error_correction"),
        (_MISSING.lower(), "error_detection", "error_detection"),
        (_MISSING.replace("size", "size_of"), "pass", "error_correction"),
        (f"{_MISSING} [paint(size=1)]", "pass", "call_beside_refusal"),
        (f"{_MISSING} {_CANNOT}", "pass", "error_detection"),
        ("", "error_detection", "error_detection"),
    ],
)
def test_missing_parameters(output: str, official: str, strict: str) -> None:
    """API and every parameter must be named, strictly as whole words and without a call."""
    assert (official, strict) == _sides("special_incomplete", {"paint": ["size", "color"]}, output)


@pytest.mark.parametrize(
    ("output", "official", "strict"),
    [
        (_WRONG, "pass", "pass"),
        (_WRONG.replace("weight", "height"), "pass", "error_correction"),
        (_WRONG.replace("(-5)", "(2020-05-11)"), "error_correction", "error_correction"),
        (_WRONG.replace("(-5)", "(2020-5-1)"), "pass", "error_correction"),
        (_WRONG.replace("(-5)", "(-50)"), "pass", "error_correction"),
        (_WRONG.replace("(-5)", "negative five"), "error_correction", "error_correction"),
    ],
)
def test_incorrect_values(output: str, official: str, strict: str) -> None:
    """The official checker never looks at the parameter's name and takes any piece for the value."""
    assert (official, strict) == _sides("special_error_param", {"weight": ["-5"]}, output)


def test_chinese_values_need_no_blanks_around_them() -> None:
    """Only ASCII letters and digits hold together as words."""
    output = "There is incorrect value 北京123市 for the parameter城市名"
    assert ("pass", "pass") == _sides("special_error_param", {"城市": ["北京123"]}, output)


@pytest.mark.parametrize(
    ("output", "official", "strict"),
    [
        (_CANNOT, "pass", "pass"),
        ("the limitations of the function [f(a=1)]", "pass", "call_beside_refusal"),
        ("I cannot do that.", "error_detection", "error_detection"),
    ],
)
def test_tasks_beyond_the_tools(output: str, official: str, strict: str) -> None:
    """One phrase decides officially."""
    assert (official, strict) == _sides("special_irrelevant", "Due to ...", output)


def test_an_output_that_is_nothing_stops_upstream() -> None:
    """Strictly it is an output without a sentence."""
    verdict = judge_text(make_call_task("x", category="special_irrelevant"), None)
    assert ("CRASH:TypeError", "wrong_output_format") == (verdict.compat.why, verdict.strict.why)
