"""English word -> stem, as the stemmer behind the official ROUGE does it.

Porter's algorithm of 1980 with the deviations that NLTK's default mode has: a list of irregular words,
words of two letters kept, `y` after a consonant, `ies` and `ied` in short words, more suffixes in step 2,
and a vowel followed by a consonant counted as a short word. Written from the published algorithm; results
are compared with NLTK's in the tests' golden file. Source: M. F. Porter, An algorithm for suffix stripping,
Program 14(3), 1980; nltk.stem.porter 3.x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["stem_word"]

_VOWELS: Final = frozenset("aeiou")

_IRREGULAR: Final = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}

_STEP_2: Final = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_STEP_3: Final = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4: Final = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion"),
    *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


def stem_word(word: str) -> str:
    """Cut a lower-case word down to its stem."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _cut_participle(_cut_plural(word))
    if word.endswith("y") and len(word) > 2 and _is_consonant(word, len(word) - 2):
        word = word[:-1] + "i"
    word = _replace(_join_suffix(word), _STEP_3, lambda stem: _measure(stem) > 0)
    return _tidy(_cut_suffix(word))


# ---- shape of a word -----------------------------------------------------------------------------------


def _shape(word: str) -> str:
    """Letters as c (consonant) and v (vowel); y is a vowel after a consonant."""
    kinds: list[str] = []
    for letter in word:
        if letter in _VOWELS:
            kinds.append("v")
        elif letter == "y":
            kinds.append("v" if kinds and kinds[-1] == "c" else "c")
        else:
            kinds.append("c")
    return "".join(kinds)


def _is_consonant(word: str, at: int) -> bool:
    return _shape(word[: at + 1])[-1] == "c"


def _measure(stem: str) -> int:
    return _shape(stem).count("vc")


def _is_short(word: str) -> bool:
    """Tell a word that ends consonant, vowel, consonant (not w, x, y), or is a vowel and a consonant."""
    shape = _shape(word)
    return shape == "vc" or (shape.endswith("cvc") and word[-1] not in "wxy")


# ---- steps ---------------------------------------------------------------------------------------------


def _replace(word: str, rules: tuple[tuple[str, str], ...], condition: Callable[[str], bool]) -> str:
    """Apply the first rule whose suffix fits, if the rest meets the condition."""
    for suffix, put in rules:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + put if condition(rest) else word
    return word


def _cut_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _cut_participle(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        rest = word[: -len(suffix)]
        if word.endswith(suffix) and "v" in _shape(rest):
            return _mend(rest)
    return word


def _mend(rest: str) -> str:
    """Put right what cutting -ed or -ing leaves: conflat(e), hop(p), fil(e)."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and _is_consonant(rest, len(rest) - 1):
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _is_short(rest) else rest


def _join_suffix(word: str) -> str:
    while word.endswith("alli") and _measure(word[:-4]) > 0:
        word = word[:-2]
    if word.endswith("logi") and not any(word.endswith(suffix) for suffix, _ in _STEP_2):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace(word, _STEP_2, lambda stem: _measure(stem) > 0)


def _cut_suffix(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            fits = _measure(rest) > 1 and (suffix != "ion" or rest[-1] in "st")
            return rest if fits else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _is_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
