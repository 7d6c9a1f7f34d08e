"""Why compat and strict scores part: one entry a mended defect of the official evaluator.

Every `Verdict.differs` of this benchmark names an entry here; the names are those of `rules.FIXES`. Sources
are files of ToolSandbox at commit 165848b; rows are those of the specification's section 13.
"""

from __future__ import annotations

from typing import Final

from replay.core.protocols import KnownDifference

__all__ = ["SCORE_DIFFERENCES", "SEVERAL"]

_EVALUATION: Final = "tool_sandbox/common/evaluation.py"

SEVERAL: Final = "several-defects"
"""Named when no single mended defect changes the score, but several together do."""


def _entry(name: str, what: str, why: str, source: str = _EVALUATION) -> KnownDifference:
    return KnownDifference(id=name, what=what, why=why, source=source)


SCORE_DIFFERENCES: Final = (
    _entry(
        "unmet-predecessor",
        "A milestone counts although one before it was never reached: claiming success without a call earns"
        " the last one.",
        "Strict counts a milestone only when all that directly precede it scored above 0.",
    ),
    _entry(
        "episode-crash",
        "An unknown tool, malformed arguments or a warning after success end the scenario: 0 and 30 turns,"
        " whatever had been reached, also where declining would have scored 1.",
        "Strict scores the conversation as far as it went and counts its own turns.",
        "tool_sandbox/cli/utils.py; roles/openai_api_agent.py, roles/execution_environment.py",
    ),
    _entry(
        "guardrail-exemptions",
        "A table that a predecessor or reference constrains is not guarded afterwards; reference -1 exempts"
        " what the last milestone constrains, by a negative index.",
        "Strict exempts a table only where a milestone in between may change it.",
    ),
    _entry(
        "damage-outside",
        "Nothing is checked before the first milestone or after the last one.",
        "Strict guards tables from the first message of the user and to the end of the conversation.",
    ),
    _entry(
        "minefield-fraction",
        "Any similarity above 0 to any minefield makes the whole score 0: one word in common, or the first of"
        " two chained ones.",
        "Strict wants a minefield, with all that must come before it, matched wholly.",
    ),
    _entry(
        "substring",
        "A text passes when the expected one is anywhere inside it: 21 in 121, and in 21.5.",
        "Strict wants whole words and whole numbers.",
    ),
    _entry(
        "null-cell",
        "A null cell drops out of the mean: a reminder saved without the place that was asked for scores 1. A"
        " null text under ROUGE kills the worker, as do unreadable traces.",
        "Strict scores a null 0 unless null is what is looked for.",
    ),
    _entry(
        "one-message-for-two",
        "One message may satisfy two ordered milestones, although the text says one to one.",
        "Strict gives a message to one of two ordered milestones that look at it; tables may serve both.",
    ),
    _entry(
        "batch-order",
        "Replies of one batch of parallel calls are ordered; milestones listed the other way round lose one.",
        "Strict takes a batch as one moment.",
    ),
    _entry(
        "no-own-constraint",
        "A milestone without a constraint of its own divides by zero; the scenario scores 0.",
        "Strict counts it as reached where its guardrails hold.",
    ),
    _entry(
        "edges-partial",
        "Two or more milestones with an empty edge list count as none (similarity 1); one that no edge names"
        " is never placed, yet the mean divides by it.",
        "Strict places every listed milestone; without edges in any order.",
    ),
    _entry(
        "edges-cyclic",
        "On a graph with a circle the search ends with the sum -1, so that the similarity is -1/n.",
        "No fraction: neither side has a score; the official number is kept beside it.",
    ),
    _entry(
        "reference-unplaced",
        "A milestone that refers to one that need not come before it raises KeyError, or not, by the path of"
        " the search.",
        "Strict refuses the scenario by name.",
    ),
    _entry(
        "no-user-message",
        "Without a message of the user matching starts at index -1, which reads the first snapshot.",
        "Strict has nothing to score: the conversation never began.",
    ),
    _entry(
        "rows-joined",
        "Added and removed rows are found by joins, which multiply duplicates: a second copy of an old row is"
        " a loss, or is not seen.",
        "Strict compares tables as multisets of rows.",
    ),
    _entry(
        "null-filled",
        'Nulls become 0, "" and false before tables are compared: a change between them is not seen.',
        "Strict keeps them apart.",
    ),
    _entry(
        "row-order",
        "Guardrails compare tables row by row: a contact removed and added again fails them.",
        "Strict compares rows in any order; ids are cells like others.",
    ),
    _entry(
        "words-ascii",
        "ROUGE splits at everything but a-z and 0-9: answers in other scripts have no words.",
        "Strict takes words of any script; the expected sentences stay English, so most still score 0.",
    ),
    _entry(
        SEVERAL,
        "More than one of these defects stands between the two scores, and none of them alone.",
        "Strict mends all.",
    ),
)
"""One entry a mended defect, in the order in which causes are looked for."""
