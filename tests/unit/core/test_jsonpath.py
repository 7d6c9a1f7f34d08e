"""JSON paths in messages."""

from __future__ import annotations

import pytest

from replay.core.jsonpath import join_path


@pytest.mark.parametrize(
    ("expected", "steps"),
    [
        ("$", []),
        ("$.a[3].b_1", ["a", 3, "b_1"]),
        ('$["two words"]', ["two words"]),
        ('$[""]', [""]),
        ('$["1"][1]', ["1", 1]),
        ('$["caf\\u00e9"]', ["caf\u00e9"]),
        ('$["\\ud800"]', ["\ud800"]),
        ('$["\\u001b[2J"]', ["\x1b[2J"]),
    ],
)
def test_steps_are_joined(expected: str, steps: list[str | int]) -> None:
    """Plain names are dotted, all others quoted and escaped to ASCII."""
    assert expected == join_path(steps)


def test_long_names_are_cut() -> None:
    """A hostile name cannot fill the screen."""
    assert "$." + "x" * 40 + "..." == join_path(["x" * 10_000])


def test_deep_paths_are_cut() -> None:
    """A path of 200 steps shows its first steps, how many were left out, and its last one."""
    path = join_path([*range(199), "last"])
    assert path.startswith("$[0][1]")
    assert path.endswith("...160 steps....last")
