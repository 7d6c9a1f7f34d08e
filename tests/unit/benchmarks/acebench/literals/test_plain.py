"""The fast reading takes plain lists of calls as Python means them, and nothing else."""

# ruff: noqa: RUF001 - full-width signs are the point

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.literals.plain import read_plain


def test_calls_and_values_are_read_as_they_are_written() -> None:
    """Names, order, numbers with their kind, constants, nested containers."""
    text = "[a.b(x='y', n=-2, f=1.50, t=True, u=None, l=[1, {'k': []}]), g()]"
    expected = [
        ("a.b", {"x": "y", "n": -2, "f": 1.5, "t": True, "u": None, "l": [1, {"k": []}]}),
        ("g", {}),
    ]
    found = read_plain(text)
    assert expected == found
    assert found is not None
    assert ["int", "float"] == [type(found[0][1][name]).__name__ for name in ("n", "f")]


@pytest.mark.parametrize(
    "text",
    ["[]", "[ ]", "[]\n", "[f( a = 1 )]", '[f(a="it\'s")]', "[f(a=1,)]", "[f(a=[1,],)]", "[f(a='[(,')]"],
)
def test_blanks_commas_and_brackets_in_texts_are_plain(text: str) -> None:
    """What Python does not mind is taken."""
    assert read_plain(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        " [f()]",
        "f()",
        "[f()",
        "[f()] x",
        "[1]",
        "[f(1)]",
        "[f(a=b)]",
        "[f(a=true)]",
        "[f(a=+1)]",
        "[f(a=1+1)]",
        "[f(a=01)]",
        "[f(a=1_0)]",
        "[f(a=１)]",
        "[f(a='x' 'y')]",
        "[f(a='''x''')]",
        "[f(a='x\\n')]",
        "[f(a=b'x')]",
        "[f(a=1, a=2)]",
        "[f(a=g(b=1))]",
        "[f(a=(1, 2))]",
        "[f(a={1: 2})]",
        "[f(a={'k' 1})]",
        "[f(a={'x': 1, b=2})]",
        "[f(**{'a': 1})]",
        "[if(a=1)]",
        "[f(if=1)]",
        "[a.if(b=1)]",
        "[a..b(c=1)]",
        "[f(a.b=1)]",
        "[f(a=1)(b=2)]",
        "[f(a==1)]",
        "[f(a='x\ny')]",
        "[f(a='\ud800')]",
        "［f(a=1)］",
        "[ｆ(a=1)]",
        "[f(a=" + "[" * 95 + "]" * 95 + ")]",
        "[f(a=" + "9" * 4301 + ")]",
    ],
)
def test_whatever_could_be_read_in_two_ways_is_left_to_the_complete_reading(text: str) -> None:
    """None, never a guess and never an error."""
    assert read_plain(text) is None


def test_a_megabyte_of_text_is_plain() -> None:
    """There is no bound on the length of what is read in one pass."""
    found = read_plain(f"[f(a='{'x' * 1_000_000}')]")
    assert found is not None
    assert 1_000_000 == len(found[0][1]["a"])
