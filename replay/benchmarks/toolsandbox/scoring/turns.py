"""How many turns a conversation took, by the three rules in use.

compat: what the official code counts. It drops system messages, messages between user and environment, and
demonstrations (visible to the user only); a comparison with null is null, so seeded rows, whose
`visible_to` is null, are dropped as well. strict: the same with a null read as what it stands for, sender
and recipient. readme: the figure that upstream's README prints, which comes of older code; it keeps the
user's talk with the environment. Source: upstream common/evaluation.py at 165848b,
get_effective_turn_count; README.
"""

from __future__ import annotations

from collections.abc import Sequence

from replay.benchmarks.toolsandbox.scoring.rows import Row
from replay.benchmarks.toolsandbox.world.schema import ENVIRONMENT, SYSTEM, USER
from replay.core.types import Record

__all__ = ["TurnCounts", "count_turns"]


class TurnCounts(Record, frozen=True, kw_only=True):
    """Turns of one conversation."""

    compat: int
    strict: int
    readme: int


def count_turns(messages: Sequence[Row]) -> TurnCounts:
    """Count the turns of a conversation's messages."""
    spoken = [row for row in messages if row["sender"] not in {None, SYSTEM} and row["visible_to"] != [USER]]
    between = {USER, ENVIRONMENT}
    strict = [row for row in spoken if {row["sender"], row["recipient"]} != between]
    compat = [row for row in strict if row["visible_to"] is not None and row["recipient"] is not None]
    return TurnCounts(compat=len(compat), strict=len(strict), readme=len(spoken))
