"""Three readings of answers about needing tools."""

from __future__ import annotations

import pytest

from replay.benchmarks.metatool.scoring.awareness import read_default, read_literal, read_strict


@pytest.mark.parametrize(
    ("text", "literal", "default", "strict"),
    [
        ("Yes.", "yes", "yes", "yes"),
        ("No.", "yes", "no", "no"),
        ("**No**", "yes", "no", "no"),
        ("'yes'", "yes", "yes", "yes"),
        ("<b>Yes</b>, surely", "yes", "yes", "yes"),
        ("- _no_", "yes", "no", "no"),
        ("\U0001f44d yes", "yes", "yes", "yes"),
        ("1) Yes", "yes", "yes", "yes"),
        ("Answer: Yes", "yes", "yes", "yes"),
        ("The answer is no.", "yes", "no", "no"),
        ("Yes. I do not have live data.", "manual", "yes", "yes"),
        ("Yes, technology helps.", "manual", "yes", "yes"),
        ("yesterday", "yes", "undetermined", "undetermined"),
        ("I know this.", "yes", "undetermined", "undetermined"),
        ("I cannot browse.", "yes", "undetermined", "undetermined"),
        ("Yes and no.", "manual", "yes", "undetermined"),
        ("No problem, here it is.", "yes", "no", "undetermined"),
        ("It is yes, no doubt.", "manual", "undetermined", "undetermined"),
        ("I do not need to use tools.", "no", "no", "no"),
        ("It does not seem necessary.", "no", "no", "no"),
        ("I may need to use a tool.", "yes", "yes", "yes"),
        ("It would be beneficial to use a map.", "yes", "yes", "yes"),
        ("I think it is necessary to use tools, no question", "yes", "yes", "undetermined"),
        ("I don\u2019t think it is necessary to use tools.", "manual", "undetermined", "no"),
        ("I wouldn't need any tools for this.", "manual", "undetermined", "no"),
        ("This can be done without tools.", "manual", "undetermined", "no"),
        ("External tools are required here.", "manual", "undetermined", "yes"),
        ("No external tools are needed.", "yes", "no", "no"),
        ("\uff39\uff45\uff53", "manual", "undetermined", "yes"),
        ("Oui.", "manual", "undetermined", "undetermined"),
        ("", "manual", "undetermined", "undetermined"),
        ("   \n", "manual", "undetermined", "undetermined"),
    ],
)
def test_an_answer_is_read(text: str, literal: str, default: str, strict: str) -> None:
    """The published rules word for word, our default, and what the answer says."""
    assert (literal, default, strict) == (read_literal(text), read_default(text), read_strict(text))


def test_case_is_no_matter() -> None:
    """For words and phrases."""
    assert ("no", "yes") == (read_default("NO!"), read_default("I MAY NEED TO USE IT"))


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
def test_both_apostrophes_deny_in_the_literal_rules(apostrophe: str) -> None:
    """The paper has one, the posted script the other."""
    assert "manual" == read_literal(f"Yes, but I don{apostrophe}t like it")
