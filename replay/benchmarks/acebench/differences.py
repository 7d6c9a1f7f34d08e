"""Why compat and strict part: one entry a reason, and the rule that finds an item's reason.

Every `Verdict.differs` names an entry here. Sources are files of ACEBench at commit 56dd66c unless they say
otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from replay.benchmarks.acebench.playing.play_differences import PLAY_DIFFERENCES
from replay.core.protocols import KnownDifference

__all__ = ["DIFFERENCES", "SCORE_DIFFERENCES", "cause_of"]

_CHECKER: Final = "model_eval/checker.py"
_MAIN: Final = "eval_main.py"
_DECODER: Final = "model_inference/utils.py"


def _entry(name: str, what: str, why: str, source: str) -> KnownDifference:
    return KnownDifference(id=name, what=what, why=why, source=source)


SCORE_DIFFERENCES: Final = (
    _entry(
        "values-not-compared",
        "Numbers and booleans directly under a call are compared by type only; any number passes for any.",
        "Strict compares values: 0.0 is not the latitude that was asked for.",
        _CHECKER,
    ),
    _entry(
        "text-inside-text",
        "A text passes when the truth, without blanks, case and some punctuation, is anywhere inside it;"
        " below objects numbers are compared the same way (5 passes for 952).",
        "Strict compares whole values with their types.",
        _CHECKER,
    ),
    _entry(
        "types-loose",
        "A truth whose type is not the declared one frees the value; 1 passes for true, a number as text"
        " passes inside objects.",
        "Strict compares types; only 5 and 5.0 are one number.",
        _CHECKER,
    ),
    _entry(
        "optional-arguments",
        "Arguments of the truth that the schema does not require may be left out, whatever the user said.",
        "Strict asks for every argument of the truth: each of them is in the conversation.",
        _CHECKER,
    ),
    _entry(
        "one-call-for-two",
        "Calls are matched without using them up: one call may stand for two of the truth, and an unmatched"
        " one is never looked at.",
        "Strict matches one to one.",
        _CHECKER,
    ),
    _entry(
        "more-than-literals",
        "Bare words are texts, positional arguments vanish, +5 is -5, operators are computed, a repeated"
        " keyword keeps its last value.",
        "Strict takes literals: what could mean two things is a format error.",
        _DECODER,
    ),
    _entry(
        "operators-run",
        "The source text of an operation is run as Python, so any code in it runs and 9**9**9 never ends.",
        "Neither side runs anything: operators and a few pure functions are computed within bounds, the"
        " rest is a format error in compat too. An operation that calls anything else may pass upstream.",
        _DECODER,
    ),
    _entry(
        "first-brackets",
        "In one-turn categories the first pair of brackets is taken, be it in prose or reasoning, and"
        " brackets inside texts count.",
        "Strict finds the one list of calls wherever it stands, and refuses two that differ.",
        _MAIN,
    ),
    _entry(
        "whitespace-deleted",
        "In sessions all whitespace is deleted before parsing, also inside texts, and nothing may stand"
        " around the list: 25 of 100 English sessions cannot be won even with the truth.",
        "Strict reads sessions as it reads single turns.",
        f"{_MAIN}; ACEBench issue 17",
    ),
    _entry(
        "truth-rejected",
        "Some truths fail their own check: empty or null values, a missing required argument, an API whose"
        " own name ends in a number.",
        "Strict compares with the truth as it is; the records are flagged as data errors.",
        f"{_CHECKER}; data_all",
    ),
    _entry(
        "refusal-pieces",
        "A refusal is right when its pieces are anywhere in the text: inside longer words and numbers,"
        " beside a call, without the parameter's name.",
        "Strict wants the right sentence, whole words, the parameter's name, and no call.",
        _MAIN,
    ),
    _entry(
        "evaluator-crash",
        "Upstream raises on this item, and nothing of the whole category is scored.",
        "Compat leaves the item unscored by that name; strict scores it.",
        f"{_CHECKER}, {_MAIN}",
    ),
    _entry(
        "state-half-compared",
        "Of an end state only what the result saved is compared, objects by the truth's names only; a class"
        " whose name finds no partner is not compared at all (the verdict before it is used again).",
        "Strict compares every attribute both ways, mistyped class names corrected.",
        f"{_MAIN}, {_CHECKER}; ACEBench issue 25",
    ),
    _entry(
        "process-prefix",
        "Process accuracy is the share of milestones before the first that is missing, on raw texts, and 1"
        " for every right end state.",
        "Strict counts milestones as calls, each once, in any order, whatever the end state.",
        f"{_MAIN}; paper, process accuracy",
    ),
    _entry(
        "milestone-unreadable",
        "A milestone that is no valid call is compared as text; no agent can send it.",
        "Strict repairs unescaped apostrophes and flags the record; one that stays unreadable, or a record"
        " without milestones, is a data error and unscored.",
        "data_all/*/possible_answer; EvalScope issue 1538",
    ),
    _entry(
        "missing-categories",
        "A category without results counts 0 in the overall score.",
        "Strict has no overall score unless all categories are planned.",
        "model_eval/evaluation_helper.py",
    ),
    _entry(
        "joined-by-line",
        "Results, inputs and truths are paired by line; one missing line shifts all that follow or stops the"
        " script.",
        "Both sides here join by id and name what is missing.",
        _MAIN,
    ),
)
"""Differences of scores; those of episodes are kept by the play."""

_BY_STRICT_ERROR: Final[Mapping[str, str]] = {
    "lack_args": "optional-arguments",
    "addition_args": "types-loose",
    "type_error": "types-loose",
    "value_error:number": "values-not-compared",
    "value_error:boolean": "values-not-compared",
    "wrong functions number": "first-brackets",
    "function_mismatch": "first-brackets",
    "wrong_output_format": "more-than-literals",
}
"""Why an item that passes officially fails strictly."""

_BY_OFFICIAL_ERROR: Final[Mapping[str, str]] = {
    "type_error": "types-loose",
    "wrong_output_format": "first-brackets",
    "wrong functions number": "first-brackets",
    "function_mismatch": "first-brackets",
}
"""Why an item that fails officially passes strictly, outside sessions."""


_REJECTED: Final = ("truth-", "name-ends-in-number")
"""Beginnings of the flags of truths that the official checker rejects."""


def cause_of(
    category: str,
    official_error: str,
    strict_error: str,
    *,
    several: bool = False,
    flags: Sequence[str] = (),
) -> str:
    """Id of the difference behind two verdicts that disagree.

    several: the truth has more than one call; flags: the record's data errors.
    """
    if category.startswith("special"):
        return "refusal-pieces"
    if not official_error:
        found = _BY_STRICT_ERROR.get(strict_error, "text-inside-text")
        return "one-call-for-two" if several and found == "text-inside-text" else found
    if any(flag.startswith(_REJECTED) for flag in flags):
        return "truth-rejected"
    if "multi_turn" in category:
        return "whitespace-deleted"
    return _BY_OFFICIAL_ERROR.get(official_error, "more-than-literals")


DIFFERENCES: Final[tuple[KnownDifference, ...]] = (*SCORE_DIFFERENCES, *PLAY_DIFFERENCES)
"""All known differences."""
