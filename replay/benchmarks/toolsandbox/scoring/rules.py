"""Which of the official evaluator's defects a scoring mends; one name a defect, as in the difference table.

`OFFICIAL` mends none, `STRICT` all. There is one evaluator for both: each place that parts asks its name.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FIXES", "OFFICIAL", "STRICT", "Rules"]

Rules = frozenset[str]
"""Names of the defects that are mended."""

FIXES: Final = (
    "no-user-message",
    "edges-cyclic",
    "edges-partial",
    "reference-unplaced",
    "no-own-constraint",
    "null-cell",
    "rows-joined",
    "null-filled",
    "row-order",
    "substring",
    "words-ascii",
    "episode-crash",
    "minefield-fraction",
    "batch-order",
    "one-message-for-two",
    "unmet-predecessor",
    "guardrail-exemptions",
    "damage-outside",
)
"""All mended defects, the plainest cause of a difference first."""

OFFICIAL: Final[Rules] = frozenset()
STRICT: Final[Rules] = frozenset(FIXES)
