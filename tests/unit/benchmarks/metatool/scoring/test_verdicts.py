"""Verdicts: right and wrong by subtask, kinds of errors, causes, and the judge of open answers."""

from __future__ import annotations

import pytest

from replay.benchmarks.metatool.differences import DIFFERENCES
from replay.core.keys import verdict_key
from replay.core.types import JudgeVerdict
from tests.unit.benchmarks.metatool.builders import (
    answer,
    evaluate,
    make_awareness,
    make_multi,
    make_reliability,
    make_similar,
)

KNOWN = {difference.id for difference in DIFFERENCES}


@pytest.mark.parametrize(
    ("truth", "text", "value", "error"),
    [
        ("yes", "Yes.", 1.0, ""),
        ("no", "Yes.", 0.0, "false_positive"),
        ("yes", "No.", 0.0, "false_negative"),
        ("no", "No.", 1.0, ""),
        ("no", "Hm.", 0.0, "undetermined"),
    ],
)
def test_awareness_errors_have_names(truth: str, text: str, value: float, error: str) -> None:
    """Undetermined is wrong, and is called so."""
    verdict, _ = evaluate(make_awareness(truth), answer(text))
    assert (value, error) == (verdict.compat.value, verdict.compat.detail["error"])


@pytest.mark.parametrize(
    ("text", "value", "error"),
    [
        ("SkyTool", 1.0, ""),
        ("NewsTool", 0.0, "wrong_tool"),
        ("None.", 0.0, "none_chosen"),
        ("", 0.0, "none_chosen"),
    ],
)
def test_similar_errors_have_names(text: str, value: float, error: str) -> None:
    """An empty answer chooses none."""
    verdict, _ = evaluate(make_similar(), answer(text))
    assert (value, error) == (verdict.compat.value, verdict.compat.detail["error"])


@pytest.mark.parametrize(
    ("text", "compat", "strict", "cause"),
    [
        ("None.", 1.0, 1.0, ""),
        ("", 1.0, 0.0, "none-must-be-said"),
        ("7", 1.0, 0.0, "none-must-be-said"),
        ("TideTable", 1.0, 0.0, "none-must-be-said"),
        ("I would use Google", 1.0, 0.0, "none-must-be-said"),
        ("sql_scribe is not applicable, so None", 0.0, 1.0, "rejected-names-are-not-chosen"),
        ("SkyTool", 0.0, 0.0, ""),
    ],
)
def test_strict_credits_a_none_that_is_said(text: str, compat: float, strict: float, cause: str) -> None:
    """The published rule credits whatever names no listed tool."""
    verdict, _ = evaluate(make_reliability(), answer(text))
    assert (compat, strict, cause) == (verdict.compat.value, verdict.strict.value, verdict.differs)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SkyTool and NewsTool", ""),
        ("NewsTool", "1/1"),
        ("search", "0/1"),
        ("SkyTool and sql_scribe", "1/2"),
        ("Map and sql_scribe", "0/2"),
        ("SkyTool, NewsTool, sql_scribe", "more_than_two"),
        ("None", "none"),
        ("", "none"),
    ],
)
def test_multi_tool_errors_have_the_papers_names(text: str, error: str) -> None:
    """Right of chosen."""
    verdict, _ = evaluate(make_multi(), answer(text))
    assert error == verdict.compat.detail["error"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("SkyTool or NewsTool", "several-names-are-open"),
        ("NewsTool isn't applicable; SkyTool is", "rejected-names-are-not-chosen"),
        ("To search for it, use SkyTool.", "everyday-words-are-no-names"),
        ("\uff33\uff4b\uff59\uff34\uff4f\uff4f\uff4c", "spelling-is-forgiven"),
        ("None of the other tools fit but SkyTool does.", "none-of-the-others"),
        ("x" * 20_000 + " SkyTool", "long-answers-are-cut"),
    ],
)
def test_a_difference_names_its_cause(text: str, cause: str) -> None:
    """An entry of the difference table."""
    verdict, _ = evaluate(make_similar(), answer(text))
    assert cause == verdict.differs
    assert cause in KNOWN


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Yes and no.", "contradictions-are-open"),
        ("I wouldn't need tools.", "statements-are-read"),
        ("I think it is necessary to know that a tool is not needed.", "labels-and-denials-are-read"),
    ],
)
def test_a_difference_of_awareness_names_its_cause(text: str, cause: str) -> None:
    """An entry of the difference table."""
    truths = [evaluate(make_awareness(truth), answer(text))[0].differs for truth in ("yes", "no")]
    assert cause in truths
    assert cause in KNOWN


def test_details_tell_rank_and_place() -> None:
    """How near a wrong choice was, and where the truth stood in the list that was shown."""
    order = ["NewsTool", "Map", "SkyTool", "search", "Now", "snownow", "sql_scribe", "Map&Route"]
    verdict, _ = evaluate(make_similar(), answer("Map&Route", order=order))
    assert (2, [3]) == (verdict.compat.detail["rank"], verdict.compat.detail["positions"])


def test_an_index_answer_tells_whether_it_would_be_right() -> None:
    """By the order that was shown."""
    assert evaluate(make_similar(), answer("1"))[0].compat.detail["index_right"]
    assert not evaluate(make_similar(), answer("2"))[0].compat.detail["index_right"]
    assert not evaluate(make_similar(), answer("99"))[0].compat.detail["index_right"]


def test_no_judge_is_asked_by_default() -> None:
    """An open answer is undetermined: a state, not a question."""
    verdict, asked = evaluate(make_similar(), answer("Happy to help!"))
    assert ("undetermined", []) == (verdict.strict.detail["verdict"], asked)


@pytest.mark.parametrize(
    ("label", "value", "shown"),
    [
        ("1", 1.0, ["SkyTool"]),
        ("2", 0.0, ["NewsTool"]),
        ("none", 0.0, ["None"]),
        ("unclear", 0.0, "undetermined"),
    ],
)
def test_a_judge_decides_open_choices(label: str, value: float, shown: object) -> None:
    """Strictly; the default reading stays what it was."""
    said = JudgeVerdict(label=label, judge="panel", key="k")
    verdict, asked = evaluate(make_similar(), answer("Sky Tool"), verdict=said, open_answers="judge")
    assert (value, shown) == (verdict.strict.value, verdict.strict.detail["verdict"])
    assert {"label": label, "judge": "panel", "key": "k"} == verdict.strict.detail["judge"]
    assert 0.0 == verdict.compat.value
    assert ["tool-choice"] == [request.rubric for request in asked]


@pytest.mark.parametrize(("label", "value"), [("yes", 1.0), ("no", 0.0), ("unclear", 0.0)])
def test_a_judge_decides_open_needs(label: str, value: float) -> None:
    """Whether the assistant said that it needs tools."""
    said = JudgeVerdict(label=label)
    verdict, asked = evaluate(make_awareness(), answer("Let me see."), verdict=said, open_answers="judge")
    assert (value, ["tool-need"]) == (verdict.strict.value, [request.rubric for request in asked])


@pytest.mark.parametrize("text", ["SkyTool", "None.", "NewsTool"])
def test_what_is_decided_is_not_put_to_a_judge(text: str) -> None:
    """One question for each open answer, none for the others."""
    assert [] == evaluate(make_similar(), answer(text), open_answers="judge")[1]


def test_a_judge_that_has_no_verdict_leaves_the_answer_unscored() -> None:
    """A miss is named; it is no 0."""
    verdict, _ = evaluate(make_similar(), answer("Hm."), open_answers="judge")
    assert ("judge-miss", 0.0) == (verdict.strict.unscored, verdict.compat.value)
    error = JudgeVerdict(label="error", raw="?")
    verdict, _ = evaluate(make_similar(), answer("Hm."), verdict=error, open_answers="judge")
    assert "judge-error" == verdict.strict.unscored


def test_a_verdict_has_a_key_of_its_own() -> None:
    """Another answer, list or judge is another key."""
    _, (one,) = evaluate(make_similar(), answer("Hm."), open_answers="judge")
    _, (other,) = evaluate(make_similar(), answer("Hm!"), open_answers="judge")
    _, (listed,) = evaluate(make_similar(candidates=("SkyTool", "X")), answer("Hm."), open_answers="judge")
    keys = {verdict_key({"name": judge}, asked) for judge in "ab" for asked in (one, other, listed)}
    assert 6 == len(keys)


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (None, "missing-output"),
        ("text", "unusable-output"),
        ({}, "unusable-output"),
        ({"answer": 7}, "unusable-output"),
        ({"answer": "x", "order": "SkyTool"}, "unusable-output"),
        ({"answer": "x", "order": ["SkyTool"]}, "unusable-output"),
    ],
)
def test_what_cannot_be_read_is_unscored(outcome: object, reason: str) -> None:
    """With the reason, on both sides."""
    verdict, _ = evaluate(make_similar(), outcome)
    assert [reason, reason] == [verdict.compat.unscored, verdict.strict.unscored]
