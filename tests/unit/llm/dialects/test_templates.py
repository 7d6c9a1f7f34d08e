"""Chat templates in the sandbox: what they may do, and how what they may not do ends."""

from __future__ import annotations

import threading
import time

import pytest

from replay.core.determinism import FrozenClock
from replay.core.errors import HistoryError, ModelError
from replay.core.types import Json
from replay.llm.dialects.templates import ChatTemplate
from tests.support.chat_templates import CHATML

LOOP_CONTROLS = (
    "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}"
    "{% if i > 3 %}{% break %}{% endif %}{{ i }}{% endfor %}"
)
MESSAGES: list[Json] = [{"role": "user", "content": "Hi"}]


def render(source: str, messages: list[Json] | None = None) -> str:
    """Render a template for one user message."""
    return ChatTemplate(source, bos="<s>", eos="</s>").render(messages or MESSAGES)


def test_a_conversation_is_written_up_to_where_the_model_goes_on() -> None:
    """The generation prompt is the last thing."""
    assert "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n" == render(CHATML)


def test_without_a_generation_prompt_nothing_follows() -> None:
    """For looking at what a template writes."""
    text = ChatTemplate(CHATML).render(MESSAGES, generation_prompt=False)
    assert "<|im_start|>user\nHi<|im_end|>\n" == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ bos_token }}{{ eos_token }}", "<s></s>"),
        ("{{ tools is none }}", "True"),
        ("{{ {'b': 1, 'a': ['é', none]} | tojson }}", '{"b": 1, "a": ["é", null]}'),
        ("{{ [1] | tojson(indent=1) }}", "[\n 1\n]"),
        (LOOP_CONTROLS, "013"),
        ("{% generation %}{{ messages[0].content }}{% endgeneration %}", "Hi"),
        ("{% set n = namespace(x=1) %}{% for m in messages %}{% set n.x = 2 %}{% endfor %}{{ n.x }}", "2"),
        ("{% macro f(x, y='!') %}{{ x ~ y }}{% endmacro %}{{ f('a') }}{{ f('b', y='?') }}", "a!b?"),
        ("{{ 'a-b'.split('-') | join('+') }}{{ 'ab'.replace('b', 'c') }}{{ ','.join(['x']) }}", "a+bacx"),
        ("{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | first }}", "Hi"),
        ("{{ '%s/%d' % ('a', 3) }}{{ '{}-{}'.format(1, 'b') }}", "a/31-b"),
        ("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}", "a1"),
        ("{{ missing is defined }}{{ messages[0].tool_calls is defined }}[{{ missing }}]", "FalseFalse[]"),
        ("  {% if true %}\nx\n  {% endif %}\ny", "x\ny"),
        ("{{ 'Ab'.upper() }}{{ ' x ' | trim }}{{ 'x'.startswith('x') }}{{ 7 // 2 ** 1 }}", "ABxTrue3"),
        ("{{ 'a\\nb' | indent(2) }}{{ 'a\\nb' | indent(2, true) }}", "a\n  b  a\n  b"),
    ],
)  # fmt: skip
def test_what_templates_use_works(source: str, text: str) -> None:
    """Filters, methods, loop controls and macros that real templates are written with."""
    assert text == render(source)


def test_the_clock_stands_still() -> None:
    """The time is ours: the same in every run, and another only when the clock is set."""
    source = "{{ strftime_now('%d %b %Y') }}|{{ now().strftime('%H:%M') }}|{{ now() }}"
    assert "01 Jan 2024|00:00|2024-01-01T00:00:00Z" == ChatTemplate(source).render([])
    later = ChatTemplate(source, clock=FrozenClock("2031-12-24T18:30:00Z")).render([])
    assert "24 Dec 2031|18:30|2031-12-24T18:30:00Z" == later


def growing(start: str, step: str) -> str:
    """Sixty steps, each of which takes what the one before made."""
    loop = f"{{% for i in range(60) %}}{{% set n.x = {step} %}}{{% endfor %}}"
    return f"{{% set n = namespace(x={start}) %}}{loop}"


HOSTILE = {
    "endless loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "loops with output": "{% for a in range(99999) %}" + "x" * 10_000 + "{% endfor %}",
    "endless recursion": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "recursive loop": "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
    "repeated text": "{{ 'x' * 10 ** 9 }}",
    "repeated list": "{{ ([0] * 10 ** 9) | length }}",
    "doubling by ~": growing("'ab'", "n.x ~ n.x"),
    "doubling by +": growing("'ab'", "n.x + n.x"),
    "doubling lists": growing("1", "[n.x, n.x]"),
    "doubling by dict": growing("1", "{'a': n.x, 'b': n.x}"),
    "doubling by set": (
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}"
        "{% set y %}{{ n.x }}{{ n.x }}{% endset %}{% set n.x = y %}{% endfor %}"
    ),
    "doubling by join": growing("'ab'", "[n.x, n.x] | join"),
    "growth by replace": "{{ 'a' * 100000 | replace('a', 'b' * 100000) }}",
    "growth by method": "{{ ('a' * 100000).replace('a', 'b' * 100000) }}",
    "growth by indent": "{{ ('a\\n' * 100000) | indent('x' * 100000) }}",
    "wide format": "{{ '%1000000000d' % 1 }}",
    "computed width": "{{ '%*d' % (1000000000, 1) }}",
    "wide format filter": "{{ '%1000000000d' | format(1) }}",
    "wide format method": "{{ '{:1000000000}'.format(1) }}",
    "nested format method": "{{ '{:{}}'.format(1, 1000000000) }}",
    "large powers": "{{ 10 ** (10 ** 10) }}",
    "large products": growing("7", "n.x * n.x"),
    "padding": "{{ 'x'.ljust(1000000000) }}",
    "long range": "{{ range(10 ** 9) | list | length }}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_templates_that_would_not_end_are_stopped(name: str) -> None:
    """Work is counted before memory is taken: a moment, and one line with the place."""
    start = time.perf_counter()
    with pytest.raises(ModelError, match=r"^chat template fails: ") as caught:
        render(HOSTILE[name])
    assert time.perf_counter() - start < 5
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ ''['__class__'] }}",
        "{{ messages.__class__ }}",
        "{{ messages | map(attribute='__class__') | list }}",
        "{{ messages | attr('__class__') }}",
        "{{ self.__init__.__globals__ }}",
        "{{ raise_exception.__globals__ }}",
        "{{ strftime_now.__self__ }}",
        "{{ now()._clock }}",
        "{{ dict.__base__ }}",
        "{{ namespace.__init__ }}",
        "{% for i in [1] %}{{ loop.__class__ }}{% endfor %}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '{0.__class__}'.format_map({}) }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update({'role': 'x'}) }}",
        "{{ messages[0].pop('role') }}",
        "{{ lipsum() }}",
        "{{ cycler }}{{ cycler.__init__ }}",
        "{{ messages | random }}",
        "{{ messages | pprint }}",
        "{% include 'x' %}",
        "{% import 'os' as os %}",
        "{% extends 'x' %}",
    ],
)
def test_nothing_is_in_reach_but_the_conversation(source: str) -> None:
    """No attribute, filter or function that is not on a list; nothing is changed, nothing is loaded."""
    with pytest.raises(ModelError, match="chat template fails"):
        render(source)


@pytest.mark.parametrize("source", ["{{ raise_exception }}", "{{ 'x'.upper }}", "{{ [1] | map('string') }}",
                                    "{{ [dict] | string }}", "{{ '%s' % range }}", "{{ [loop, dict] }}",
                                    "{{ '{}'.format(range) }}", "{{ messages[0].items() }}"])  # fmt: skip
def test_addresses_never_get_into_a_prompt(source: str) -> None:
    """Python writes functions and iterators with their addresses, which differ from process to process."""
    with pytest.raises(ModelError, match="the template writes a "):
        render(source)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("\n\n{{ missing.x }}", r"'missing' is undefined \(template line 3\)"),
        ("{{ messages[7].role }}", "list object has no element 7"),
        ("{% for m in %}", r"Expected an expression.* \(template line 1\)"),
        ("x\n{% if %}", "template line 2"),
        ("{% endfor %}", "unknown tag|Unexpected|Encountered"),
        ("{{ 1 / 0 }}", "ZeroDivisionError: division by zero"),
        ("{{ 1 + 'a' }}", "TypeError"),
        ("{{ messages | nosuch }}", "No filter named 'nosuch'"),
        ("{{ " + "(" * 500 + "1" + ")" * 500 + " }}", "RecursionError"),
        ("x" * 300_000, "chat template of 300,000 characters"),
    ],
)
def test_errors_name_the_line(source: str, what: str) -> None:
    """One ModelError for whatever a template does wrong."""
    with pytest.raises(ModelError, match=what):
        render(source)


def test_a_refusal_is_about_the_conversation() -> None:
    """`raise_exception` says that these messages cannot be written, not that the template is broken."""
    with pytest.raises(HistoryError, match="chat template refuses: roles must alternate"):
        render("{{ raise_exception('roles must alternate') }}")


def test_renderings_of_one_template_do_not_share_a_budget() -> None:
    """Each starts anew, also when threads ask at once."""
    template = ChatTemplate("{% for i in range(60000) %}{{ 'x' }}{% endfor %}")
    lengths: list[int] = []
    threads = [
        threading.Thread(target=lambda: lengths.extend(len(template.render([])) for _ in range(6)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [60_000] * 12 == lengths
