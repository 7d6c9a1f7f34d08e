"""Which dialect a model speaks, and the prompts that come of it."""

from __future__ import annotations

import pytest

from replay.core.errors import HistoryError, InputError, ModelError
from replay.llm.dialects.choose import CALL_FORMS, ModelDialect, choose_dialect
from tests.support import chat_templates as templates
from tests.support.chats import WEATHER, make_call, make_chat, make_result, say
from tests.support.golden import Golden

CONVERSATION = make_chat(
    say("system", "You are brief."),
    say("user", "Will it rain in Oslo?"),
    say("assistant", None, make_call('{"city":  "Oslo", "days": 2}')),
    make_result('{"rain": true, "note": "trøndersk"}'),
    say("assistant", "Yes."),
    say("user", "And in Rome?"),
    tools=(WEATHER,),
)


def choose(source: str = "", calls: str = "auto") -> ModelDialect:
    """Choose for a template."""
    metadata = {"tokenizer.chat_template": source} if source else {}
    return choose_dialect(metadata, bos="<s>", eos="</s>", calls=calls)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("", "json-calls"),
        ("  \n", "json-calls"),
        (templates.CHATML, "json-calls"),
        (templates.NO_SYSTEM, "json-calls"),
        (templates.HERMES, "native-hermes"),
        (templates.LLAMA3, "native-llama3"),
        (templates.MISTRAL, "native-mistral"),
        (templates.PLAIN_TEXT_ARGUMENTS, "native-hermes"),
    ],
)
def test_the_template_decides(source: str, name: str) -> None:
    """The model's own form where it has one that is read, else ours."""
    assert name == choose(source).name


@pytest.mark.parametrize("calls", ["json-calls", "react"])
def test_another_form_can_be_asked_for(calls: str) -> None:
    """Also where the model has its own."""
    assert calls == choose(templates.HERMES, calls).name


def test_a_form_the_model_does_not_have_is_an_error() -> None:
    """And so is one that does not exist."""
    with pytest.raises(InputError, match="writes no tool calls in a form that is read here"):
        choose(templates.CHATML, "native")
    with pytest.raises(InputError, match=f"form of calls 'xml'; expected one of {', '.join(CALL_FORMS)}"):
        choose(templates.CHATML, "xml")


def test_a_broken_template_is_an_error_at_once() -> None:
    """Before any conversation is held."""
    with pytest.raises(ModelError, match="template line 1"):
        choose("{% for %}")


PROMPTS = {
    "transcript-json": ("", "auto"),
    "transcript-react": ("", "react"),
    "chatml-json": (templates.CHATML, "auto"),
    "chatml-react": (templates.CHATML, "react"),
    "no-system-json": (templates.NO_SYSTEM, "auto"),
    "hermes": (templates.HERMES, "auto"),
    "llama3": (templates.LLAMA3, "auto"),
    "mistral": (templates.MISTRAL, "auto"),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_prompts_are_those_that_were_reviewed(name: str, golden: Golden) -> None:
    """Every character a model sees, for each layout and form of calls."""
    source, calls = PROMPTS[name]
    golden.check_text(f"prompts/{name}.txt", choose(source, calls).render(CONVERSATION))


def test_the_digest_covers_all_that_shapes_a_prompt() -> None:
    """Template, tokens it writes, layout, form of calls."""
    metadata = {"tokenizer.chat_template": templates.CHATML}
    dialects = [
        choose(),
        choose("", "react"),
        choose(templates.CHATML),
        choose(templates.CHATML, "react"),
        choose(templates.CHATML + " "),
        choose(templates.HERMES),
        choose_dialect(metadata, bos="<s>", eos="<eos>"),
    ]
    assert len(dialects) == len({dialect.digest for dialect in dialects})
    assert choose(templates.CHATML).digest == choose(templates.CHATML).digest


def test_stop_texts_come_from_layout_and_form() -> None:
    """Where another speaker would go on, and where a tool would."""
    assert ("\nSystem:", "\nUser:", "\nObservation:") == choose("", "react").stop
    assert ("<|im_end|>",) == choose(templates.CHATML).stop


def test_tools_that_may_not_be_called_are_not_shown() -> None:
    """Neither by a template nor by a prompt of ours."""
    request = make_chat(tools=(WEATHER,), tool_choice="none")
    for source in ("", templates.CHATML, templates.HERMES):
        assert "weather" not in choose(source).render(request)


def test_an_orphaned_result_is_a_typed_error() -> None:
    """Whatever the dialect."""
    with pytest.raises(HistoryError, match="tool result for call 'call_1'"):
        choose().render(make_chat(say("user", "?"), make_result()))


def test_parse_gives_words_and_calls() -> None:
    """What a chat model needs; `read` also says what the reply turned out to be."""
    text = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
    content, [call] = choose(templates.HERMES).parse(text)
    assert (None, "weather", '{"city": "Oslo"}') == (content, call.name, call.arguments)
    assert "malformed" == choose(templates.HERMES).read("<tool_call>{").state


def test_braces_in_a_conversation_are_not_template_code() -> None:
    """What users and tools say is data."""
    text = choose(templates.CHATML).render(make_chat(say("user", "{{ 7 * 7 }}{% raw %}")))
    assert "{{ 7 * 7 }}{% raw %}" in text
