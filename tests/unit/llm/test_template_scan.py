"""Chat templates that ask for the time are found by their text."""

from __future__ import annotations

import pytest

from replay.llm.template_scan import find_clock_use


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("", ()),
        ("{% for message in messages %}{{ message['content'] }}{% endfor %}", ()),
        ("{{ strftime_now('%Y-%m-%d') }}", ("strftime_now",)),
        ("{%- set date_string = strftime_now('%d %b %Y') -%}", ("date_string", "strftime_now")),
        ("{{ datetime.now().isoformat() }}", ("datetime", "now")),
        ("{% if today is defined %}{{ today }}{% endif %}", ("today",)),
    ],
)
def test_names_of_the_clock_are_found(template: str, names: tuple[str, ...]) -> None:
    """Functions and variables that hold the time are named, sorted."""
    assert names == find_clock_use(template)


@pytest.mark.parametrize(
    "template",
    [
        "What time is it now? Today is a good day.",
        "{{ 'the time is now' }}",
        '{{ "now" ~ message }}',
        "{# now() was here #}{{ message }}",
        "{{ nowhere }}{{ timely }}",
        "{{ 'an open quote now }}",
    ],
)
def test_words_are_no_clock(template: str) -> None:
    """Text, literals, comments and longer names do not count."""
    assert () == find_clock_use(template)


@pytest.mark.parametrize("piece", ["{{", "{#", "{%", "'", "\\'", '"', "{{'", "}}", "{{ x }}"])
def test_hostile_templates_take_linear_time(piece: str) -> None:
    """A megabyte of openings, quotes or escapes is scanned once; a pass from each would take hours."""
    find_clock_use("{{ " + piece * (1_000_000 // len(piece)))
