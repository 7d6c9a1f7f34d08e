"""Words, stems and ROUGE."""

from __future__ import annotations

import json

import pytest

from replay.benchmarks.toolsandbox.scoring.rouge import TextScorer
from replay.benchmarks.toolsandbox.scoring.stemming import stem_word
from tests.support.data import GOLDEN


def test_stems_are_those_of_the_official_stemmer() -> None:
    """Some 400 words, chosen for every rule and at random, have the stems that NLTK 3.10 prints."""
    expected = json.loads((GOLDEN / "stems" / "porter-nltk.json").read_text())
    assert expected == {word: stem_word(word) for word in expected}


def test_a_long_run_of_y_is_stemmed_in_no_time() -> None:
    """A word made to be slow is only a word."""
    assert TextScorer().f_measure("y" * 100_000, "y" * 100_000) == 1.0


@pytest.mark.parametrize(
    ("expected", "target", "text"),
    [
        (1.0, "Wifi is turned off", "wifi IS turn off!"),
        (2 / 3, "Wifi is turned off", "wifi has been turned OFF."),
        (0.25, "a b c d", "d c b a"),
        (0.0, "x", ""),
        (0.0, "", ""),
        (0.0, "Cupertino", "クパチーノ"),
        (1.0, "It's 21.5", "it s 21 5"),
    ],
)
def test_rouge_compares_words(expected: float, target: str, text: str) -> None:
    """Case, punctuation and endings do not count; order does; other scripts have no words."""
    assert expected == pytest.approx(TextScorer().f_measure(target, text))


def test_mended_words_are_of_any_script() -> None:
    """With mended words an answer in another script is a text like others."""
    assert TextScorer(wide=True).f_measure("Погода хорошая", "погода ХОРОШАЯ.") == 1.0
