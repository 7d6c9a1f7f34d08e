"""What templates can do, found by asking them."""

from __future__ import annotations

import pytest

from replay.core.errors import ModelError
from replay.llm.dialects.facts import TemplateFacts, find_facts
from replay.llm.dialects.templates import ChatTemplate
from tests.support import chat_templates as templates


def facts_of(source: str) -> TemplateFacts:
    """Ask a template with begin and end tokens."""
    return find_facts(ChatTemplate(source, bos="<s>", eos="</s>"))


@pytest.mark.parametrize(
    ("source", "facts"),
    [
        (
            templates.CHATML,
            TemplateFacts(system=True, late_system=True, alternates=False, end_mark="<|im_end|>"),
        ),
        (
            templates.HERMES,
            TemplateFacts(
                system=True, late_system=True, alternates=False, native="hermes", end_mark="<|im_end|>"
            ),
        ),
        (
            templates.LLAMA3,
            TemplateFacts(
                system=True,
                late_system=True,
                alternates=False,
                native="llama3",
                one_call=True,
                end_mark="<|eot|>",
            ),
        ),
        (
            templates.MISTRAL,
            TemplateFacts(system=True, late_system=False, alternates=True, native="mistral", end_mark="</s>"),
        ),
        (
            templates.NO_SYSTEM,
            TemplateFacts(system=False, late_system=False, alternates=True, end_mark="<end_of_turn>"),
        ),
        (
            templates.PLAIN_TEXT_ARGUMENTS,
            TemplateFacts(
                system=True,
                late_system=True,
                alternates=False,
                native="hermes",
                parsed_arguments=False,
                end_mark="</s>",
            ),
        ),
    ],
)
def test_facts_are_found_by_rendering(source: str, facts: TemplateFacts) -> None:
    """Each way of writing conversations and calls is recognised by what it writes."""
    assert facts == facts_of(source)


def test_a_template_that_wants_a_list_of_tools_gets_one() -> None:
    """Some iterate over the tools even where there are none."""
    facts = facts_of("{% for tool in tools %}{{ tool }}{% endfor %}" + templates.CHATML)
    assert facts.tool_list


def test_calls_in_a_form_that_is_not_read_are_not_native() -> None:
    """A template may write calls in XML; then ours is used."""
    source = templates.HERMES.replace('{"name": "{{ call.function.name }}", "arguments": ', "<f>").replace(
        "| tojson }}}", "| tojson }}</f>"
    )
    assert "" == facts_of(source).native


def test_a_call_behind_other_text_is_not_native() -> None:
    """What is read must be what a model generates: everything behind the generation prompt."""
    source = templates.LLAMA3.replace("""{{- '{"name": "'""", """{{- 'CALL {"name": "'""")
    assert "" == facts_of(source).native


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("nothing of it", "leaves out what the user says"),
        ("{{ raise_exception('never') }}", "chat template refuses: never, whatever it is given"),
    ],
)
def test_a_template_that_cannot_write_a_user_message_is_refused(source: str, what: str) -> None:
    """There is nothing to fall back to."""
    with pytest.raises(ModelError, match=what):
        facts_of(source)
