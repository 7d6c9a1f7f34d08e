"""Outputs read as the protocol means them: one list of calls, literal values, whatever stands around."""

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.literals.strict import read_strict, read_strict_list
from replay.benchmarks.acebench.literals.syntax import LiteralError

_CALL = [("f", {"a": "x", "n": 5})]


@pytest.mark.parametrize(
    "output",
    [
        "[f(a='x', n=5)]",
        "\n [f(a='x', n=+5)]\n",
        "```python\n[f(a='x', n=5)]\n```",
        "See [1] and [2, 3]. [f(a='x', n=5)] Let me know.",
        "<think>maybe [g(b=1)]?</think>[f(a='x', n=5)]",
        "It's [this: [f(a='x', n=5)]",
        "[f(a='x', n=5)] or again [f(a='x', n=5)]",
        "[f(\n  a='x',  # the name\n  n=5,\n)]",
    ],
)
def test_the_one_list_of_calls_is_found(output: str) -> None:
    """Fences, prose, reasoning, comments and a repetition do not matter."""
    assert _CALL == read_strict(output)


@pytest.mark.parametrize(
    "output",
    [
        "f(a='x')",
        "[]",
        "[1]",
        "[f(a=x)]",
        "[f('x')]",
        "[f(a=1+1)]",
        "[f(a=g())]",
        "[f(a=1, a=2)]",
        "[f(**{'a': 1})]",
        "[f(a=b'x')]",
        "[f(a=-True)]",
        "[f()(a=1)]",
        "[f(a=1)]\n[g(b=2)]",
        '["f(a=1)"]',
        '[{"name": "f"}]',
    ],
)
def test_anything_else_is_a_format_error(output: str) -> None:
    """No guess at what could have been meant."""
    with pytest.raises(LiteralError):
        read_strict(output)


def test_json_words_are_the_values_they_name() -> None:
    """A model that writes JSON constants means them."""
    assert [("f", {"a": True, "b": False, "c": None, "d": [True], "e": (1,)})] == read_strict_list(
        "[f(a=true, b=false, c=null, d=[true], e=(1,))]"
    )
