"""How a stream is cut: the same pieces of an answer that grows and of a whole one, each token in place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.core.errors import InternalError
from replay.core.logprobs import RankedToken
from replay.server.chat_pieces import LONGEST, Cutter, Piece, place_tokens

WORDS = st.text(st.sampled_from("ab é\n\t文🙂"), max_size=60)


def tokens_of(text: str, sizes: list[int]) -> list[RankedToken]:
    """Cut the bytes of a text into tokens of these sizes, over and over."""
    data, place = text.encode(), 0
    tokens: list[RankedToken] = []
    while place < len(data):
        size = sizes[len(tokens) % len(sizes)]
        tokens.append(RankedToken(piece=data[place : place + size], logprob=-1.0))
        place += size
    return tokens


def cut(words: str, tokens: list[RankedToken], growth: list[int]) -> list[Piece]:
    """Cut an answer that grows by so many characters at a time."""
    cutter, known = Cutter(), 0
    pieces: list[Piece] = []
    for more in growth:
        known = min(known + more, len(words))
        pieces += cutter.grow(words[:known].rstrip(), tokens)
    pieces += cutter.end(words, tokens)
    return [*pieces, Piece("", cutter.rest(tokens))]


@given(
    words=WORDS,
    front=st.sampled_from(["", "\n ", "  "]),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    growth=st.lists(st.integers(0, 9), max_size=30),
)
def test_growth_changes_no_piece(words: str, front: str, sizes: list[int], growth: list[int]) -> None:
    """Each piece has the same text and the same tokens; together they are the answer and all its tokens."""
    words = words.strip()
    tokens = tokens_of(front + words, sizes)
    pieces = cut(words, tokens, growth)
    assert cut(words, tokens, []) == pieces
    assert (words, tokens) == (
        "".join(piece.text for piece in pieces),
        [placed.token for piece in pieces for placed in piece.tokens],
    )
    assert place_tokens(words, tokens) == tuple(placed for piece in pieces for placed in piece.tokens)


def test_words_go_with_the_space_before_them() -> None:
    """Long ones are cut."""
    pieces = [piece.text for piece in Cutter().end("It is  " + "x" * (LONGEST + 3) + "\n", ())]
    assert ["It", " is", "  " + "x" * LONGEST, "xxx", "\n"] == pieces


def test_a_word_is_told_once_another_begins() -> None:
    """Or once it is as long as a piece can be."""
    cutter = Cutter()
    grown = [[piece.text for piece in cutter.grow(words, ())] for words in ("It", "It i", "It is" + "s" * 14)]
    assert [[], ["It"], [" is" + "s" * 14]] == grown


def test_tokens_go_where_they_begin() -> None:
    """Offsets count the characters of the words, white space in front of which is gone."""
    tokens = tokens_of("  It is", [3])
    pieces = list(Cutter().end("It is", tokens))
    assert [("It", [0, 1]), (" is", [4])] == [(p.text, [t.offset for t in p.tokens]) for p in pieces]


def test_an_answer_that_is_another_one_is_a_bug() -> None:
    """Never sent on in silence."""
    cutter = Cutter()
    list(cutter.grow("It is so", ()))
    with pytest.raises(InternalError, match="begin"):
        list(cutter.end("That is so", ()))
