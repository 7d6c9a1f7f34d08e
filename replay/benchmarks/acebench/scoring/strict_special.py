"""Refusals as the protocol means them: the right sentence, naming what is wrong, and no call beside it.

Owns the strict reading of the three sentences. Names and values count as whole words, so `-5` is not in
`2020-05-11` and `plan` is not in `plan_id`.
"""

from __future__ import annotations

import re
from typing import Final

from replay.benchmarks.acebench.literals.strict import find_call_lists
from replay.benchmarks.acebench.scoring.official_special import ANCHORS
from replay.core.types import Json

__all__ = ["check_strict_special", "gold_special"]

_WORD: Final = re.compile(r"\w")


def check_strict_special(output: str, truth: Json, category: str) -> str:
    """Read a refusal; the error's name, or empty."""
    anchor = ANCHORS[category]
    if anchor not in output or any(other in output for other in ANCHORS.values() if other != anchor):
        return "error_detection"
    if find_call_lists(output):
        return "call_beside_refusal"
    if category == "special_irrelevant":
        return ""
    named = [piece for name, values in truth.items() for piece in (name, *values)]
    return "" if all(_holds_word(output, str(piece)) for piece in named) else "error_correction"


def gold_special(truth: Json, category: str) -> str:
    """Write the sentence that the truth stands for, in the form the protocol asks for."""
    if category == "special_irrelevant":
        return f'["{truth}"]'
    lines = []
    for name, values in truth.items():
        listed = ", ".join(map(str, values))
        lines.append(
            f"{ANCHORS[category]}: api ({name}), parameters ({listed})"
            if category == "special_incomplete"
            else f"{ANCHORS[category]} ({listed}) for the parameters ({name})"
        )
    return "[" + ", ".join(f'"{line}"' for line in lines) + "]"


def _holds_word(text: str, piece: str) -> bool:
    """Tell whether a piece stands in a text with nothing of a word directly before or after it."""
    at = text.find(piece)
    while at >= 0:
        end = at + len(piece)
        if not _holds_together(text[max(at - 1, 0) : at], piece[:1]) and not _holds_together(
            text[end : end + 1], piece[-1:]
        ):
            return True
        at = text.find(piece, at + 1)
    return False


def _holds_together(outside: str, edge: str) -> bool:
    """Tell whether a character goes on with the word, or the number, at a piece's edge.

    Chinese is written without blanks, so only ASCII letters and digits hold together.
    """
    in_word = bool(_WORD.match(outside)) and outside.isascii()
    return in_word and (edge == "-" or (bool(_WORD.match(edge)) and edge.isascii()))
