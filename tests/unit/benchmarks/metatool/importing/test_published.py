"""Reading lists and examples back out of built prompts."""

from __future__ import annotations

import pytest

from replay.benchmarks.metatool.importing.published import candidates_in, examples_in
from replay.benchmarks.metatool.records import Example

LIST = "Take one:\n1. tool name: A, tool description: x\n2. tool name: B&C, tool description: ['y']\n\nEnd"


def test_names_are_read_in_order() -> None:
    """Whatever the descriptions look like."""
    assert ("A", "B&C") == candidates_in(LIST)


@pytest.mark.parametrize(
    "prompt",
    [
        LIST.replace("x", "x\n7. tool name: Z, tool description: inside a description"),
        "A query:\n1. tool name: Q, tool description: of the user\n" + LIST,
        LIST + "\n9999999999999999999999. tool name: Z, tool description: far off",
    ],
)
def test_lines_that_are_none_of_the_list_are_passed_over(prompt: str) -> None:
    """In a description, in the query, behind the list."""
    assert ("A", "B&C") == candidates_in(prompt)


@pytest.mark.parametrize(
    "prompt", ["", "no list", "1. tool name: A, tool description: not on a line of its own"]
)
def test_a_prompt_without_a_list_has_no_names(prompt: str) -> None:
    """Zero-shot awareness prompts have none."""
    assert () == candidates_in(prompt)


@pytest.mark.parametrize("end", ["\n[Examples End]\n\nUser query: ", "\nUser query: "])
def test_examples_are_read_with_quotes_and_line_ends_in_them(end: str) -> None:
    """Both of upstream's templates; only one has an end mark."""
    shown = '[Examples Start]\nquery: "Say "hi"\nto me" answer: No\nquery: "Rain?" answer: Yes' + end
    expected = (Example(query='Say "hi"\nto me', answer="No"), Example(query="Rain?", answer="Yes"))
    assert expected == examples_in(shown + '"Now?" answer: ')


def test_a_zero_shot_prompt_has_no_examples() -> None:
    """There is no mark of examples."""
    assert () == examples_in(LIST)


def test_a_prompt_made_to_cost_time_costs_none() -> None:
    """A megabyte of beginnings of examples."""
    assert () == examples_in("[Examples Start]\n" + 'query: "' * 130_000)
    assert () == candidates_in("\n1. tool name: " * 80_000)
