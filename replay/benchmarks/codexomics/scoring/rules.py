"""The corrections of the corrected evaluator, one switch each; all off is the official one, bug for bug.

Each switch has an entry of the same name in the benchmark's table of differences, so that a verdict on which
the two disagree can name its cause.
"""

from __future__ import annotations

from typing import Final

from replay.core.types import Record

__all__ = ["CORRECTED", "CORRECTED_SCORER", "OFFICIAL", "OFFICIAL_SCORER", "Rules"]

OFFICIAL_SCORER: Final = "strict-automatic-v2"
CORRECTED_SCORER: Final = "replay-corrected-1"


class Rules(Record, frozen=True, kw_only=True):
    """Which corrections hold."""

    alternative_values: bool = False
    """An alternative key must carry the expected value, not only be there (defect 1)."""
    call_only_extras: bool = False
    """Call-only tests keep the rule on extra calls and their tier (defect 2)."""
    destructive_extras: bool = False
    """A further call of an expected tool is no free pass to change things (defect 3)."""
    data_flow: bool = False
    """A value taken from an earlier result must be that result's (defects 4, 5)."""
    best_pairing: bool = False
    """Order-free steps are paired so that as many as possible match (defect 6)."""
    honest_numbers: bool = False
    """Numbers are numbers: no coercion of texts, booleans, null and lists (defect 7)."""
    known_toggle: bool = False
    """A blind toggle counts only where its result shows the expected state (defect 8)."""
    recovery: bool = False
    """A rejected call that is put right later is measured, not punished (defect 9)."""
    repeated_parameters: bool = False
    """Repeated calls keep their expected parameters (defect 11)."""
    offline_ratio: bool = False
    """Where nothing is executed, the partial score has no share for execution (defect 12)."""
    path_case: bool = False
    """Paths and identifiers are compared as written (defect 13)."""
    exact_keys: bool = False
    """Under the strict tiers a further key must hold its schema's default (defect 14)."""
    label_case: bool = False
    """The label of a tolerated highlight ignores case like every other text (defect 15)."""
    honest_evidence: bool = False
    """A call whose evidence fields contradict each other is not seen to have succeeded."""
    writing_extras: bool = False
    """Tools that write files or views are not read-only (defect 16)."""


OFFICIAL: Final = Rules()
CORRECTED: Final = Rules(**dict.fromkeys(Rules.__struct_fields__, True))
