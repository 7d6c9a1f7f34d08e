"""How every benchmark refuses a setting: one wording for what is unusable and what is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from replay.core.errors import InputError
from replay.core.types import Json

__all__ = ["refuse_unknown", "unusable"]


def refuse_unknown(given: Iterable[str], names: Sequence[str]) -> None:
    """Refuse option names that are none of these; they are listed in this order.

    Errors:  InputError naming the unknown ones and the closest known one.
    """
    unknown = sorted(name for name in given if name not in names)
    if not unknown:
        return
    near = difflib.get_close_matches(unknown[0], names, n=1)
    raise InputError(
        f"unknown option {', '.join(repr(name) for name in unknown)}",
        where="settings.options",
        expected=f"some of {', '.join(names)}",
        next_step=f"did you mean {near[0]}?" if near else "",
    )


def unusable(name: str, value: Json, expected: str) -> InputError:
    """Build the error for a setting whose value is not allowed."""
    return InputError(f"unusable {name} = {value!r}", where=f"settings.{name}", expected=expected)
