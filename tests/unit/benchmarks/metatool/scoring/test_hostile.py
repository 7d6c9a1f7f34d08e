"""Answers that try to cost time or to break something: a verdict each, in bounded time."""

from __future__ import annotations

import time

import pytest

from tests.unit.benchmarks.metatool.builders import (
    answer,
    evaluate,
    make_awareness,
    make_multi,
    make_reliability,
    make_similar,
)

MANY = 100_000
MEGABYTE = 10
"""Times MANY characters; the fast tests take a tenth of it."""

HOSTILE = {
    "letters": "a" * MANY,
    "brackets": "[" * 10_000 + "]" * 10_000,
    "open brackets": "[" * MANY,
    "tags": "<b>" * 30_000,
    "half tags": "<" * MANY,
    "emoji": "\U0001f602" * MANY,
    "full width": "\u300c\uff33\uff4b\uff59\u300d" * 10_000,
    "names": "SkyTool " * 12_000,
    "half names": "SkyToolx" * 12_000,
    "names in names": "Map&RouteMap&Route " * 5_000,
    "denials": "not need a tool " * 6_000,
    "needs": "need tools " * 9_000,
    "none": "none " * 20_000,
    "yes and no": "yes no " * 14_000,
    "blanks": " " * MANY,
    "lines": "\n" * MANY,
    "underscores": "_" * MANY,
    "numbers": "1" * MANY,
    "combining marks": "e" + "\u0301" * MANY,
    "capitals": "Aa" + "B" * 2000 + "\u00e9" + "A_" * 500,
    "nul": "\0" * MANY,
    "code": "__import__('os').system('touch x')" * 100,
    "power": "9**9**9**9",
    "format": "{0.__class__}%s%n{{query}}",
    "mixed": "\u6211\u4f1a\u7528 SkyTool \u0438\u043b\u0438 \u05e9\u05dc\u05d5\u05dd NewsTool \u0645\u0631",
}


SAMPLES = (make_awareness(), make_similar(), make_reliability(), make_multi())


@pytest.mark.parametrize("name", HOSTILE)
def test_there_is_a_verdict(name: str) -> None:
    """By every subtask's rules, on both sides."""
    verdicts = [evaluate(sample, answer(HOSTILE[name]))[0] for sample in SAMPLES]
    assert all(verdict.compat.value is not None for verdict in verdicts)
    assert all(verdict.strict.value is not None for verdict in verdicts)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_takes_no_time(name: str) -> None:
    """Far less than a second, whatever it repeats."""
    for sample in SAMPLES:
        start = time.process_time()
        evaluate(sample, answer(HOSTILE[name] * MEGABYTE))
        assert time.process_time() - start < 2


def test_a_detail_stays_small() -> None:
    """Nothing of a long answer is copied into the verdict."""
    verdict, _ = evaluate(make_similar(), answer("SkyTool " * 100_000))
    assert len(str(verdict)) < 5_000


def test_a_judge_is_shown_a_bounded_piece() -> None:
    """Of a long answer that stays open."""
    _, (request,) = evaluate(make_similar(), answer("x " * MANY), open_answers="judge")
    assert len(str(request.evidence)) < 10_000
