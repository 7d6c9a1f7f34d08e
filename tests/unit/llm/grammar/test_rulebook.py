"""The rules of one grammar: shared, checked, written in a fixed order."""

from __future__ import annotations

import pytest

from replay.core.errors import GrammarError, InternalError
from replay.llm.grammar.expressions import (
    EMPTY,
    Chars,
    Choice,
    Expression,
    Reference,
    Repeat,
    Text,
    choose,
    repeat,
    sequence,
    write,
)
from replay.llm.grammar.rulebook import ROOT, RuleBook


def finished(**rules: Expression) -> tuple[str, int]:
    """Finish a book of these rules."""
    book = RuleBook()
    for name, rule in rules.items():
        book.define(name, rule)
    return book.finish()


def test_equal_expressions_share_one_rule() -> None:
    """Names count up by kind, so the text does not depend on anything but the schema."""
    book = RuleBook()
    first, second = book.share("string", Text("a")), book.share("string", Text("b"))
    assert [Reference("string-1"), Reference("string-2"), Reference("string-1")] == [
        first,
        second,
        book.share("string", Text("a")),
    ]


def test_only_rules_that_the_root_needs_are_written() -> None:
    """The root comes first, the others as they are come to."""
    text, _ = finished(unused=Text("x"), b=Text("b"), a=Reference("b"), root=Reference("a"))
    assert 'root ::= a\na ::= b\nb ::= "b"\n' == text


def test_shortest_texts_go_through_recursion() -> None:
    """The way out of a recursion is the shortest one."""
    rule = choose([sequence([Text("("), Reference(ROOT), Text(")")]), Text("xy")])
    assert 2 == finished(root=rule)[1]


def test_a_rule_that_always_needs_itself_is_an_error() -> None:
    """No finite text fits it."""
    with pytest.raises(GrammarError, match="no finite text fits the schema: rule root"):
        finished(root=sequence([Text("("), Reference(ROOT)]))


def test_left_recursion_is_an_error_even_behind_something_empty() -> None:
    """llama.cpp finds the plain case only; the other would let it run for ever."""
    with pytest.raises(GrammarError, match="come back to itself without reading"):
        finished(
            root=choose([Reference("a"), Text("x")]), a=sequence([Reference("b"), Reference(ROOT)]), b=EMPTY
        )


def test_beginnings_that_double_at_each_step_are_an_error() -> None:
    """llama.cpp walks each of the million ways when it looks for left recursion."""
    rules: dict[str, Expression] = {
        f"r{i}": choose(
            [
                sequence([Reference(f"r{i + 1}"), Text("x")]),
                sequence([Reference(f"r{i + 1}"), Text("y")]),
            ]
        )
        for i in range(24)
    }
    with pytest.raises(GrammarError, match="ways to begin its rules"):
        finished(root=Reference("r0"), r24=Text("z"), **rules)


def test_repetitions_that_the_library_would_not_take_are_our_bug() -> None:
    """Counts above 2,000 would become endless without a word."""
    with pytest.raises(InternalError, match=r"llama\.cpp would not take"):
        finished(root=Repeat(Text("x"), 0, 2_001))


def test_undefined_and_double_rules_are_our_bug() -> None:
    """Every name is defined once."""
    with pytest.raises(InternalError, match="rule a is not defined"):
        finished(root=Reference("a"))
    book = RuleBook()
    book.define(ROOT, Text("x"))
    with pytest.raises(InternalError, match="defined twice"):
        book.define(ROOT, Text("y"))


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Text('a"\\\n\t\x7f é\U0001f600'), '"a\\"\\\\\\n\\t\\x7F \\xE9\\U0001F600"'),
        (Chars(((0x5B, 0x5B), (0x5D, 0x5E), (0x2D, 0x2D))), "[\\[\\]-\\x5E\\-]"),
        (sequence([Text("a"), Choice((Text("b"), EMPTY))]), '"a" ("b" | "")'),
        (repeat(Text("ab"), 2, 5), '"ab"{2,5}'),
        (repeat(sequence([Reference("a"), Reference("b")]), 0, 1), "(a b)?"),
        (repeat(Reference("a"), 3, 3), "a{3}"),
        (repeat(Text("a"), 0, 0), '""'),
        (choose([Text("a"), choose([Text("b"), Text("a")])]), '"a" | "b"'),
        (sequence([Text("a"), Text("b"), EMPTY]), '"ab"'),
    ],
)
def test_expressions_are_written_in_one_way(expression: Expression, text: str) -> None:
    """GBNF in ASCII, with no more brackets than needed."""
    assert text == write(expression)
