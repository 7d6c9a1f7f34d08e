"""ROUGE-L between two texts: the longest common subsequence of their words.

Official: lower case, words of a-z and 0-9, stems of words longer than three letters; everything else is a
blank, so that a text in another script has no words. Wide: words of any script, compared after compatibility
normalisation; for ASCII texts the two give the same words.
Source: upstream column_rouge_l_similarity at 165848b, which calls rouge_score with use_stemmer=True.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from replay.benchmarks.toolsandbox.scoring.stemming import stem_word

__all__ = ["TextScorer"]

_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
_WORD: Final = re.compile(r"[^\W_]+")
_SHORT: Final = 3
"""Words up to this length are not stemmed."""

# A word of a model may be anything; the stemmer works over it several times.
_LONGEST_STEMMED: Final = 1_000


class TextScorer:
    """Compares texts and remembers their words; one lives as long as one evaluation."""

    def __init__(self, *, wide: bool = False) -> None:
        """Take the rule for what a word is."""
        self._wide = wide
        self._words: dict[str, tuple[str, ...]] = {}

    def f_measure(self, target: str, text: str) -> float:
        """Harmonic mean of the shares of the text's and the target's words that the two have in common."""
        wanted, found = self.words(target), self.words(text)
        if not wanted or not found:
            return 0.0
        common = _longest_common(wanted, found)
        precision, recall = common / len(found), common / len(wanted)
        return 2 * precision * recall / (precision + recall) if common else 0.0

    def words(self, text: str) -> tuple[str, ...]:
        """Words of a text, stemmed."""
        known = self._words.get(text)
        if known is None:
            known = self._words[text] = tuple(_stem(word) for word in self._split(text))
        return known

    def _split(self, text: str) -> list[str]:
        if not self._wide or text.isascii():
            return _ASCII_WORD.findall(text.lower())
        return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _stem(word: str) -> str:
    if len(word) <= _SHORT or len(word) > _LONGEST_STEMMED or not word.isascii():
        return word
    return stem_word(word)


def _longest_common(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """Length of the longest common subsequence, a row of the table at a time as bits of one number.

    Source:  H. Hyyro, Bit-parallel LCS-length computation revisited, 2004.
    """
    places: dict[str, int] = {}
    for number, word in enumerate(left):
        places[word] = places.get(word, 0) | 1 << number
    every = (1 << len(left)) - 1
    open_places = every
    for word in right:
        hit = open_places & places.get(word, 0)
        open_places = ((open_places + hit) | (open_places - hit)) & every
    return len(left) - open_places.bit_count()
