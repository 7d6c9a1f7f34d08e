"""Yes, no or neither: three readings of an answer to "do you need tools for this?".

Owns the rules and their phrases; knows no truth. The published rules and our default look at the whole text,
in time linear in it; the strict one, whose patterns look back and forth, at a bounded head.
Sources: the paper's appendix C.2 and the script in upstream's issue 10 (spec 3.1).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from replay.benchmarks.metatool.scoring.strict import STRICT_HEAD

__all__ = [
    "MANUAL",
    "NO",
    "UNDETERMINED",
    "YES",
    "read_default",
    "read_literal",
    "read_strict",
]

YES: Final = "yes"
NO: Final = "no"
UNDETERMINED: Final = "undetermined"
MANUAL: Final = "manual"
"""What the literal rules leave to a person."""

_LEAD: Final = 4096
"""Markup before the first word is skipped no further than this."""

_SAYS_NO: Final = (
    "not seem necessary",
    "not think it is necessary",
    "not need to use",
    "not necessary to use",
    "do not think i need to use",
)
_SAYS_YES: Final = (
    "i need to use",
    "i think it is necessary",
    "i may need to use",
    "i would need to use",
    "i believe it is necessary to use",
    "would need access",
    "might be necessary to use",
    "i might need to use",
    "tools would be necessary",
    "may be necessary to use",
    "be beneficial to use",
    "i will need to use",
    "might need to use",
    "would need to rely",
    "may need to access",
)
"""Phrases as the rules list them: facts of the rules, tested as substrings of lower-cased text."""

_DENIALS: Final = ("no", "not", "don't", "don\N{RIGHT SINGLE QUOTATION MARK}t")
"""The paper has the straight apostrophe, the script the typographic one."""

_MARKUP: Final = re.compile(r"(?:<[^<>\n]{0,40}>|[\W_])*")
"""Tags, quotes, bullets, bold marks, emoji and white space."""
# A border is anything but a letter or digit, so that `_yes_` is a word and `yesterday` is none.
_LEADING: Final = re.compile(r"(yes|no)(?![^\W_])", re.IGNORECASE)
_WORD: Final = re.compile(r"(?<![^\W_])(yes|no)(?![^\W_])", re.IGNORECASE)


def read_literal(text: str) -> str:
    """Read an answer as the published rules say, word for word: yes, no or manual.

    Source:  paper, appendix C.2, and issue 10 of upstream. A plain "No." comes out as yes.
    """
    lowered = text.lower()
    has_yes = "yes" in lowered
    if has_yes and not any(word in lowered for word in _DENIALS):
        return YES
    if not has_yes and "no" in lowered:
        return NO if any(phrase in lowered for phrase in _SAYS_NO) else YES
    return YES if any(phrase in lowered for phrase in _SAYS_YES) else MANUAL


def read_default(text: str) -> str:
    """Read an answer: its leading word, else a phrase of the rules, else the one word of the two it holds.

    Source:  spec 3.1. Differs from the literal rules: words end at word borders, a plain no is no, and what
             stays open is undetermined, never a guess.
    """
    leading = _LEADING.match(text, _first_word(text))
    if leading:
        return leading.group(1).lower()
    lowered = text.lower()
    if any(phrase in lowered for phrase in _SAYS_NO):
        return NO
    if any(phrase in lowered for phrase in _SAYS_YES):
        return YES
    return _only_word(text)


# ---- strict --------------------------------------------------------------------------------------------

_CONTRACTION: Final = re.compile(
    r"(?<=[a-z])n[\N{RIGHT SINGLE QUOTATION MARK}'`\N{MODIFIER LETTER APOSTROPHE}]t\b", re.IGNORECASE
)
_LABEL: Final = re.compile(
    r"(?:final |my |the |short )*(?:answer|response|verdict|conclusion|reply)(?: is| would be)?[\W_]*",
    re.IGNORECASE,
)
_NO_ANSWER: Final = re.compile(
    r"no (?:problem|worries|doubt|one|matter|wonder)\b|yes (?:and|or) no\b|no (?:and|or) yes\b", re.IGNORECASE
)
_NEED: Final = r"\b(?:need|needed|require|required|necessary|essential|have to|must)\b"
_TOOL: Final = r"\b(?:tools?|apis?|external (?:data|help|resources?|sources?))\b"
_DENIED: Final = re.compile(
    rf"\b(?:not|never|without)\b[^.!?;\n]{{0,40}}{_NEED}[^.!?;\n]{{0,40}}{_TOOL}"
    rf"|{_TOOL}[^.!?;\n]{{0,40}}\b(?:not|unnecessary|never)\b"
    rf"|\b(?:no|without|unnecessary)\b(?: \w+){{0,4}} {_TOOL}"
)
_STATED: Final = re.compile(rf"{_NEED}[^.!?;\n]{{0,40}}{_TOOL}|{_TOOL}[^.!?;\n]{{0,40}}{_NEED}")


def read_strict(text: str) -> str:
    """Read what an answer says: a leading or labelled word that is meant as one, else an unopposed statement.

    Source:  paper, section 3.1 and figure of the prompt: the answer is yes or no, with an explanation.
             Differs from default: typographic apostrophes and contractions are read, set phrases such as
             "no problem" or "yes and no" are no answer, and a denied need is no before a stated one is yes.
    """
    head = unicodedata.normalize("NFKC", text[:STRICT_HEAD])
    head = _CONTRACTION.sub(" not", head)
    start = _first_word(head)
    label = _LABEL.match(head, start)
    start = start if label is None else label.end()
    if _NO_ANSWER.match(head, start):
        return UNDETERMINED
    leading = _LEADING.match(head, start)
    if leading:
        return leading.group(1).lower()
    lowered = head.lower()
    words = {match.group(1).lower() for match in _WORD.finditer(head)}
    if any(phrase in lowered for phrase in _SAYS_NO) or _DENIED.search(lowered):
        return UNDETERMINED if YES in words else NO
    if any(phrase in lowered for phrase in _SAYS_YES) or _STATED.search(lowered):
        return UNDETERMINED if NO in words else YES
    return _only_word(head)


def _first_word(text: str) -> int:
    """Where the words begin, behind markup."""
    found = _MARKUP.match(text, 0, _LEAD)
    return 0 if found is None else found.end()


def _only_word(text: str) -> str:
    said = {match.group(1).lower() for match in _WORD.finditer(text)}
    return said.pop() if len(said) == 1 else UNDETERMINED
