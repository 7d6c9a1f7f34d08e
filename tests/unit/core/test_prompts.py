"""Prompt files: three parts, declared fields, one digest over everything."""

from __future__ import annotations

import pytest

from replay.core.errors import InputError, InternalError
from replay.core.prompts import parse_prompt

TEXT = "name: demo\nversion: 2\nfields: goal, mark\n---\nBe {{mark}}.\n---\nReach {{goal}} {{goal}}.\n"


def test_a_file_becomes_two_messages() -> None:
    """Values are filled in once; braces inside a value stay what they are."""
    system, user = parse_prompt(TEXT, where="demo").fill({"goal": "{{mark}}", "mark": "kind"})
    assert ("system", "Be kind.") == (system.role, system.content)
    assert ("user", "Reach {{mark}} {{mark}}.") == (user.role, user.content)


def test_a_prompt_may_be_a_system_message_alone() -> None:
    """Without a user text there is no user message."""
    (system,) = parse_prompt(
        "name: demo\nversion: 1\nfields: goal\n---\nReach {{goal}}.\n---\n", where="demo"
    ).fill({"goal": "Rome"})
    assert "Reach Rome." == system.content


@pytest.mark.parametrize(
    ("old", "new"), [("version: 2", "version: 3"), ("Be ", "Stay "), ("Reach", "Seek"), ("demo", "other")]
)
def test_every_change_is_another_digest(old: str, new: str) -> None:
    """An edited file is another prompt."""
    assert parse_prompt(TEXT, where="a").digest != parse_prompt(TEXT.replace(old, new), where="a").digest


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("name: a\n---\nx", "2 parts"),
        ("name: a\nfields: goal\n---\n{{goal}}\n---\n", "head"),
        (TEXT.replace("version: 2", "version: two"), "head"),
        (TEXT.replace("{{goal}}", "{{gaol}}"), r"unknown \['gaol'\], fields never shown \['goal'\]"),
    ],
)
def test_a_malformed_file_is_named(text: str, what: str) -> None:
    """File and fault are in the message."""
    with pytest.raises(InputError, match=rf"{what}.*prompts/demo"):
        parse_prompt(text, where="prompts/demo")


def test_other_values_than_the_fields_are_our_bug() -> None:
    """Nothing is left unfilled in silence."""
    with pytest.raises(InternalError, match="wants"):
        parse_prompt(TEXT, where="demo").fill({"goal": "x"})
