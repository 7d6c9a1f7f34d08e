"""Where the official evaluator and the corrected one disagree, and why: one entry for each correction."""

from __future__ import annotations

from typing import Final

from replay.benchmarks.codexomics.scoring.rules import Rules
from replay.core.protocols import KnownDifference

__all__ = ["DIFFERENCES", "SEVERAL", "difference_id"]

SEVERAL: Final = "several-corrections"
_SOURCE: Final = "StrictBenchmarkEvaluator at 17a3951"

_TEXTS: Final = {
    "alternative_values": (
        "an alternative key under a completion tier counts when it is there",
        "it must carry the expected value: start 5 is not position 3500000",
    ),
    "call_only_extras": (
        "call-only tests lose the rule on extra calls and report the contract tier",
        "a deletion beside the expected call is no pass, and one accuracy must not mix two tiers",
    ),
    "destructive_extras": (
        "a further call of an expected tool is tolerated whatever it does",
        "deleting a second annotation is no repeat of deleting the first",
    ),
    "data_flow": (
        "any concrete value stands for a value of an earlier result or of the session",
        "the earlier result is known, so a value that it does not hold is a wrong one",
    ),
    "best_pairing": (
        "order-free steps take the first call that matches",
        "a pairing under which all steps match exists, so the case is complete",
    ),
    "honest_numbers": (
        "numbers are compared after JavaScript's conversion: empty text, null and false are 0, true is 1",
        "none of these is the number that was asked for",
    ),
    "known_toggle": (
        "a blind toggle satisfies either visibility",
        "what it comes to depends on the state before; only a result that shows it can tell",
    ),
    "recovery": (
        "one rejected or failed call fails the case even when it is put right",
        "it changed nothing, and recovery is said to be measured",
    ),
    "repeated_parameters": (
        "a repeat count drops the expected parameters",
        "each repeat was asked for with these values",
    ),
    "offline_ratio": (
        "partial scores under the offline completion tier weigh execution that cannot be there",
        "25 of 100 points are out of reach by construction",
    ),
    "path_case": (
        "paths and identifiers are compared without case",
        "on a disk that knows case they are other files",
    ),
    "exact_keys": (
        "keys the oracle does not name are never looked at",
        "the strict tiers are described as exact argument keys",
    ),
    "label_case": (
        "the label of a tolerated highlight is the only text compared with its case",
        "it names the selected gene like every other text would",
    ),
    "honest_evidence": (
        "of evidence fields that contradict each other the first one read holds",
        "a success flag beside an error is no evidence of success",
    ),
    "writing_extras": (
        "the read-only list holds tools that write files or views",
        "what writes is not read-only",
    ),
}


def difference_id(correction: str) -> str:
    """Name of the entry of a correction."""
    return correction.replace("_", "-")


DIFFERENCES: Final = (
    *(
        KnownDifference(id=difference_id(name), what=_TEXTS[name][0], why=_TEXTS[name][1], source=_SOURCE)
        for name in Rules.__struct_fields__
    ),
    KnownDifference(
        id=SEVERAL,
        what="several of the corrections hold at once, and none of them alone decides",
        why="each has its own entry",
        source=_SOURCE,
    ),
)
