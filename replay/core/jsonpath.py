"""Where in a JSON value something is: `$.messages[3].name`, one spelling for every message.

Paths are for people: names that are not plain words are quoted and escaped to ASCII, so that a path can
always be printed, and long names are cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

__all__ = ["join_path"]

_SHOWN_NAME: Final = 40  # enough to recognise a name; a hostile one must not fill the screen
_SHOWN_STEPS: Final = 40  # the same for depth: the first steps and the last one are shown


def join_path(steps: Iterable[str | int]) -> str:
    """Join names and indices into one JSON path that starts with `$`."""
    parts = [_step(step) for step in steps]
    if len(parts) > _SHOWN_STEPS:
        left_out = len(parts) - _SHOWN_STEPS
        parts[_SHOWN_STEPS - 1 : -1] = [f"...{left_out} steps..."]
    return "$" + "".join(parts)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    shown = step if len(step) <= _SHOWN_NAME else step[:_SHOWN_NAME] + "..."
    if step.isidentifier() and step.isascii():
        return f".{shown}"
    return f"[{json.dumps(shown)}]"
