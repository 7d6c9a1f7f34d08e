"""The mode of a run at each of its four boundaries."""

from __future__ import annotations

from typing import Final

from replay.core.errors import UsageError
from replay.core.types import Boundary, Mode, Record

__all__ = ["STRICT", "Modes", "parse_mode", "parse_modes"]


class Modes(Record, frozen=True, kw_only=True):
    """One mode a boundary."""

    tools: Mode = Mode.REPLAY
    candidate: Mode = Mode.REPLAY
    user: Mode = Mode.REPLAY
    judge: Mode = Mode.REPLAY

    @property
    def is_offline(self) -> bool:
        """True when no boundary may reach a live upstream, so that the network guard is on."""
        return not self.records

    @property
    def records(self) -> bool:
        """True when any boundary records."""
        return Mode.RECORD in (self.tools, self.candidate, self.user, self.judge)


STRICT: Final = Modes(tools=Mode.STRICT, candidate=Mode.STRICT, user=Mode.STRICT, judge=Mode.STRICT)
"""Recorded answers only, everywhere."""


def parse_mode(text: str, *, option: str = "--mode") -> Mode:
    """Read a mode's name. Errors: UsageError listing the three."""
    try:
        return Mode(text.lower())
    except ValueError:
        raise UsageError(
            f"unknown mode {text!r}",
            where=option,
            expected=f"one of: {', '.join(mode.value for mode in Mode)}",
        ) from None


def parse_modes(general: str, **boundaries: str | None) -> Modes:
    """Give every boundary the general mode, or the one that was named for it (tools, candidate, ...).

    Errors:  UsageError listing the three modes.
    """
    chosen = {boundary.value: parse_mode(general) for boundary in Boundary}
    for name, text in boundaries.items():
        if text:
            chosen[Boundary(name).value] = parse_mode(text, option=f"the mode of {name}")
    return Modes(**chosen)
