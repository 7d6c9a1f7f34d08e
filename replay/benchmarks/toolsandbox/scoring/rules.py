"""Which of the official evaluator's defects a scoring mends; one name a defect, as in the difference table.

`OFFICIAL` mends none, `STRICT` all. There is one evaluator for both: each place that parts asks its name.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FIXES", "OFFICIAL", "STRICT", "Rules"]

Rules = frozenset[str]
"""Names of the defects that are mended."""

FIXES: Final = (
    "unmet-predecessor",
    "episode-crash",
    "guardrail-exemptions",
    "damage-outside",
    "minefield-fraction",
    "substring",
    "null-cell",
    "one-message-for-two",
    "batch-order",
    "no-own-constraint",
    "edges-partial",
    "edges-cyclic",
    "reference-unplaced",
    "no-user-message",
    "rows-joined",
    "null-filled",
    "row-order",
    "words-ascii",
)
"""All mended defects, the most frequent cause of a difference first."""

OFFICIAL: Final[Rules] = frozenset()
STRICT: Final[Rules] = frozenset(FIXES)
