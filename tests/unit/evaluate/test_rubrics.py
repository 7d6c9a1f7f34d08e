"""Versioned rubric files."""

from __future__ import annotations

import pytest

from replay.core.errors import InputError, InternalError
from replay.evaluate.rubrics import load_rubric, parse_rubric

TEXT = """name: demo
version: 2
choices: yes, no
fields: query
---
Answer with {{choices}}, {{order}}.
---
[{{mark}}] {{query}} [{{mark}}]
"""


def test_head_and_texts() -> None:
    """A file has a head and two texts."""
    rubric = parse_rubric(TEXT, where="demo.txt")
    assert ("demo", 2, ("yes", "no"), ("query",)) == (
        rubric.name,
        rubric.version,
        rubric.choices,
        rubric.fields,
    )


def test_rendered_question() -> None:
    """Placeholders are filled from evidence, order and choices."""
    request = parse_rubric(TEXT, where="demo.txt").ask("b", {"query": "Is it?"})
    mark = (request.messages[1].content or "")[1:13]
    assert request.messages[0].content == "Answer with yes, no, reason, then verdict."
    assert request.messages[1].content == f"[{mark}] Is it? [{mark}]"


def test_evidence_cannot_inject_placeholders() -> None:
    """Braces in evidence stay what they are: filling is one pass."""
    request = parse_rubric(TEXT, where="demo.txt").ask("b", {"query": "{{choices}}"})
    assert "] {{choices}} [" in (request.messages[1].content or "")


def test_objects_are_shown_as_json() -> None:
    """Evidence that is no text is shown canonically, whatever order it came in."""
    rubric = parse_rubric(TEXT, where="demo.txt")
    one = rubric.ask("b", {"query": {"b": 1, "a": 2}})
    other = rubric.ask("b", {"query": {"a": 2, "b": 1}})
    assert '{"a":2,"b":1}' in (one.messages[1].content or "")
    assert one == other


def test_reason_comes_first_unless_asked() -> None:
    """Property order is the order a constrained judge writes in."""
    rubric = parse_rubric(TEXT, where="demo.txt")
    assert ["reason", "verdict"] == list(rubric.schema()["properties"])
    assert ["verdict", "reason"] == list(rubric.schema(reason_first=False)["properties"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version: 2", "version: 3"),
        ("yes, no", "no, yes"),
        ("Answer", "Reply"),
        ("[{{mark}}] {", "{{mark}} {"),
    ],
)
def test_every_edit_is_another_rubric(old: str, new: str) -> None:
    """The digest covers version, choices and both texts."""
    edited = parse_rubric(TEXT.replace(old, new), where="demo.txt")
    assert edited.digest() != parse_rubric(TEXT, where="demo.txt").digest()


def test_order_is_under_the_digest() -> None:
    """A verdict-first question is another question."""
    rubric = parse_rubric(TEXT, where="demo.txt")
    assert rubric.digest() != rubric.digest(reason_first=False)


def test_foreign_evidence_is_a_bug() -> None:
    """A rubric is asked with its own fields."""
    with pytest.raises(InternalError, match=r"rubric demo wants \['query'\], got \['answer'\]"):
        parse_rubric(TEXT, where="demo.txt").ask("b", {"answer": ""})


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("2 parts", TEXT.replace("---\n[", "[")),
        (r"head \['choices', 'fields', 'name'\]", TEXT.replace("version: 2\n", "")),
        (r"head .*whole number", TEXT.replace("version: 2", "version: two")),
        (r"placeholders unknown \['nonsense'\]", TEXT.replace("{{choices}}", "{{nonsense}}")),
        (r"fields never shown \['query'\]", TEXT.replace("{{query}}", "")),
    ],
)
def test_malformed_files_are_named(message: str, text: str) -> None:
    """Each fault of a file is one line with its name."""
    with pytest.raises(InputError, match=f"{message}.*demo.txt|{message}"):
        parse_rubric(text, where="demo.txt")


def test_absent_rubric_is_named() -> None:
    """Asking for a rubric that is not there names the file."""
    with pytest.raises(InputError, match=r"no rubric 'nonsense' \(replay\.evaluate/rubrics/nonsense\.txt\)"):
        load_rubric("replay.evaluate", "nonsense")
