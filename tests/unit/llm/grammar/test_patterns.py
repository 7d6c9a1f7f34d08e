"""Patterns: read, matched in linear time, and written as grammars; outside the subset, refused."""

from __future__ import annotations

import re

import pytest

from replay.core.errors import GrammarError
from replay.llm.grammar.matching import Matcher
from replay.llm.grammar.patterns import parse_pattern, span
from tests.support.grammars import accepted, sample_values


def matches(pattern: str, text: str) -> bool:
    """Look for a pattern in a text without any budget."""
    return Matcher(parse_pattern(pattern, where="test")).matches(text, lambda _: None)


PATTERNS = [
    "^abc$",
    "abc",
    "^a|b$",
    "^(a|bc)+$",
    "^(?:a|b){2,3}$",
    "^[a-c]{2}[^a-c]?$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^\\w+\\s\\S*$",
    "^a.c$",
    "^[\\w.-]+@[\\w-]+\\.[a-z]{2,4}$",
    "^\\$\\{x\\}\\/\\-$",
    "^(a*b)?c$",
    "^x{0}y$",
    "^[\\]a]$",
    "^\\x41\\u0042$",
    "^a+?b*?c??$",
    "^$",
    "",
    "^[\\d\\-_]+$",
    "^\\D\\W$",
]

TEXTS = [
    "", "a", "b", "c", "ab", "abc", "xabcx", "bcbc", "aab", "abd", "ac", "a\nc", "aXc", "2024-01-31", "ab cd",
    "a b", "me.x@host-1.org", "me@host", "${x}/-", "bbc", "aaabc", "y", "xy", "]", "AB", "aab", "12-_", "x!",
    "\n",
    "a\n",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_match_what_python_says(pattern: str) -> None:
    """On the common subset two matchers agree; `$` is the end of the text, as in ECMA 262."""
    for_python = re.sub(r"(?<!\\)\$", r"\\Z", pattern)
    expected = [bool(re.search(for_python, text, re.ASCII)) for text in TEXTS]
    assert expected == [matches(pattern, text) for text in TEXTS]


@pytest.mark.parametrize("pattern", [pattern for pattern in PATTERNS if pattern])
def test_generated_strings_match_their_pattern(pattern: str) -> None:
    """Grammar and matcher come from one reading of the pattern."""
    values = sample_values({"type": "string", "pattern": pattern}, 20)
    assert [True] * 20 == [matches(pattern, value) for value in values]


def test_anchors_hold_for_their_own_alternative() -> None:
    """`^a|b$` is what starts with a or ends with b."""
    assert [True, True, False] == [matches("^a|b$", text) for text in ("ax", "xb", "xaxbx")]
    assert [True, True, False] == accepted({"type": "string", "pattern": "^a|b$"}, ["ax", "xb", "xaxbx"])


def test_white_space_is_that_of_ecma() -> None:
    """The byte order mark and no-break spaces count, letters do not."""
    assert [True, True, True, False] == [matches("^\\s$", text) for text in (" ", "\u00a0", "\ufeff", "x")]


def test_characters_that_strings_escape_are_written_escaped() -> None:
    """A quote, a backslash or a line end in a pattern appears as JSON writes it."""
    schema = {"type": "string", "pattern": '^["\\\\\\n]{3}$'}
    assert [True, True] == accepted(schema, ['"\\\n', "\n\n\n"])


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(?=a)b", "look-around, a named group or a flag"),
        ("(?!a)b", "look-around"),
        ("(?<x>a)", "look-around, a named group"),
        ("(?i)a", "flag"),
        ("(a)\\1", r"escape \\+1 \(a back-reference"),
        ("\\bword\\b", r"escape \\+b \("),
        ("\\p{L}", r"escape \\+p"),
        ("\\k<x>", r"escape \\+k"),
        ("a**", "a repetition of a repetition"),
        ("(a*)*", "a repetition of something that may be empty"),
        ("(a?){3}", "a repetition of something that may be empty"),
        ("a{3,2}", "a repetition from 3 to 2"),
        ("a{x}", "a count that is not"),
        ("a{12345}", "one to four digits"),
        ("*a", r"'\*' in this place"),
        ("(a", "a group that is not closed"),
        ("a)", "a closing bracket without"),
        ("a$b", r"'\$' before the end"),
        ("(a$)", r"'\$' inside a group"),
        ("a^b", r"'\^' in this place"),
        ("[a", "a class that is not closed"),
        ("[]", "a class that no character is in"),
        ("[z-a]", "a range that does not run"),
        ("[\\d-x]", "a range that does not run"),
        ("a\\", "a backslash at the end"),
        ("\\xZ1", "without its 2 hexadecimal digits"),
        ("\\ud800", "half a surrogate pair"),
        ("^[\\x00-\\x07]$", "control characters only"),
    ],
)
def test_what_is_outside_the_subset_is_refused_by_name(pattern: str, what: str) -> None:
    """Nothing of a pattern is ignored."""
    with pytest.raises(GrammarError, match=what):
        sample_values({"type": "string", "pattern": pattern}, 1)


def test_refusals_tell_the_place() -> None:
    """Schema pointer and character of the pattern."""
    with pytest.raises(GrammarError, match=r"\(#, character 5\)"):
        sample_values({"type": "string", "pattern": "abc(?=d)"}, 1)


def test_lengths_of_texts_are_known() -> None:
    """Shortest and longest text of a pattern decide whether other lengths hold by themselves."""
    [branch] = parse_pattern("^a{2,3}(b|cd)?$", where="test").branches
    assert (2, 5) == span(branch.node)
    [branch] = parse_pattern("^a+$", where="test").branches
    assert (1, None) == span(branch.node)
