"""Harness modes as objects: budget, nudges, guidance, duplicates and stop are data (spec section 5).

What a mode tells a candidate, and what of the oracle it uses to decide, is said here and nowhere else; it
goes into every record, because figures of different modes say different things.
"""

from __future__ import annotations

from typing import Final

from replay.core.errors import InputError
from replay.core.types import Json, Record

__all__ = ["DEFAULT_MODE", "MODES", "HarnessMode", "find_mode"]

_PARITY_ROUNDS: Final = 10
"""Upstream's setting `functionCallRounds`."""
_EXTRA_ROUNDS: Final = 4
DEFAULT_TIMEOUT_S: Final = 120
"""Of a test that names none. Timeouts are data of the record; no wall clock decides an episode."""


class HarnessMode(Record, frozen=True, kw_only=True):
    """How a run of rounds is led."""

    name: str
    budget: str
    """`steps+4`: at least one, by the oracle; `fixed`: ten."""
    nudge: str
    """`counts`: steps done, steps in all, what is missing. `general`: go on or answer."""
    nudges_when: str
    """`uncovered`: no call, or no gain, while the oracle has steps left. `silent`: no call at all so far."""
    stops_when: str
    """`covered`: the oracle has no steps left, or the candidate is silent. `silent`: the candidate is."""
    guidance: str
    """What is added to a result: `pending` (the next step is looked at) or `progress` (what is done)."""
    repeats: str
    """Equal calls that are refused: `beyond-oracle` (more than it has) or `unchanged` (nothing is new)."""

    @property
    def uses_oracle(self) -> bool:
        """True when the oracle decides when to nudge or stop, whatever the candidate is told."""
        return "covered" in (self.stops_when, self.nudges_when.removeprefix("un"))

    def max_rounds(self, steps: int) -> int:
        """Round budget of a test with that many expected steps."""
        return max(1, steps + _EXTRA_ROUNDS) if self.budget == "steps+4" else _PARITY_ROUNDS

    def assistance(self, steps: int) -> dict[str, Json]:
        """What `harness_assistance` says in records and reports."""
        return {
            "expected_step_count_disclosed": self.nudge == "counts",
            "oracle_round_budget": self.budget == "steps+4",
            "oracle_decides_stop": self.uses_oracle,
            "max_rounds": self.max_rounds(steps),
        }


MODES: Final = (
    HarnessMode(
        name="oracle-assisted",
        budget="steps+4",
        nudge="counts",
        nudges_when="uncovered",
        stops_when="covered",
        guidance="pending",
        repeats="beyond-oracle",
    ),
    # Upstream calls this parity, and still asks the oracle when to nudge and when to stop.
    HarnessMode(
        name="production-parity",
        budget="fixed",
        nudge="general",
        nudges_when="uncovered",
        stops_when="covered",
        guidance="progress",
        repeats="beyond-oracle",
    ),
    HarnessMode(
        name="clean-parity",
        budget="fixed",
        nudge="general",
        nudges_when="silent",
        stops_when="silent",
        guidance="progress",
        repeats="unchanged",
    ),
)
DEFAULT_MODE: Final = MODES[0].name


def find_mode(name: str) -> HarnessMode:
    """Find a mode. Raises InputError listing them."""
    for mode in MODES:
        if mode.name == name:
            return mode
    raise InputError(
        f"unknown mode {name!r}",
        where="settings.options.mode",
        expected=f"one of {', '.join(mode.name for mode in MODES)}",
    )
