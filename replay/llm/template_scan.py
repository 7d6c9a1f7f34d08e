"""Looks for the clock in a chat template: a prompt that holds today's date is another prompt tomorrow.

Templates are rendered with a frozen clock, so such a model still gives the same bits every day; but what it
is told is then our date, and whoever registers the model should know. This is a scan of the text, not a
rendering: it looks at names inside `{{ }}` and `{% %}`, outside string literals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["find_clock_use"]

_CLOCK_NAMES: Final = frozenset(
    {
        "current_date",
        "current_time",
        "date_string",
        "datetime",
        "now",
        "strftime",
        "strftime_now",
        "time",
        "timestamp",
        "today",
        "utcnow",
    }
)
"""Names under which templates in the wild ask for the time."""

_MAX_TEMPLATE: Final = 1 << 20  # characters that are scanned; real ones have some 10,000
_CLOSING: Final = {"{#": "#}", "{{": "}}", "{%": "%}"}
_OPENING: Final = re.compile(r"\{[#{%]")
# A literal that is never closed runs to the end, so that no text makes this try again from every quote.
_LITERAL: Final = re.compile(r"'(?:[^'\\]|\\.)*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\Z)", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def find_clock_use(template: str) -> tuple[str, ...]:
    """Find the names in a template with which it asks for the time, sorted; none for most templates."""
    names: set[str] = set()
    for code in _code_spans(template[:_MAX_TEMPLATE]):
        names.update(_NAME.findall(_LITERAL.sub("", code)))
    return tuple(sorted(names & _CLOCK_NAMES))


def _code_spans(text: str) -> Iterator[str]:
    """Yield what stands between `{{ }}` and `{% %}`, comments left out, in one pass."""
    at = 0
    while opening := _OPENING.search(text, at):
        end = text.find(_CLOSING[opening.group()], opening.end())
        if end < 0:
            return
        if opening.group() != "{#":
            yield text[opening.end() : end]
        at = end + 2
