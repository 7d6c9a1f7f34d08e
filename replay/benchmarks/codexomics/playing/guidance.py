"""What the harness says between rounds, in one versioned place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replay.benchmarks.codexomics.playing.modes import HarnessMode
from replay.benchmarks.codexomics.records import ExpectedCall

__all__ = ["GUIDANCE", "after_result", "nudge_text", "refusal_text", "rejection_text"]

GUIDANCE: Final = "guidance-1"
"""Version of the texts below; in every request's prompt digest and every record."""


def nudge_text(mode: HarnessMode, steps: Sequence[ExpectedCall], covered: Sequence[bool]) -> str:
    """What is said when a turn made no progress."""
    if mode.nudge == "general":
        return (
            "If the request is not finished, call the next tool now, with arguments that fit its schema. "
            "If it is finished, answer without a call."
        )
    missing = next((step.name for step, done in zip(steps, covered, strict=True) if not done), "")
    return f"{sum(covered)} of {len(steps)} steps are done. The next one missing is of the kind {missing}."


def after_result(mode: HarnessMode, done: Sequence[str]) -> str:
    """The line added to a tool's result."""
    if mode.guidance == "pending":
        return "Check whether this result is what a later step of the request needs."
    return (
        f"Done so far: {', '.join(done) or 'nothing'}. Repeated calls are refused. "
        "Go on with the next step, or answer."
    )


def refusal_text(tool: str) -> str:
    """What a repeated call is answered with."""
    return f"Refused: {tool} was called with these arguments before. Use the answer it gave."


def rejection_text(tool: str, faults: Sequence[str]) -> str:
    """What a call that does not fit its schema is answered with."""
    return f"Rejected: the call of {tool} does not fit its schema: {'; '.join(faults[:5])}."
