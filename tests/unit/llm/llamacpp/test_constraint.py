"""Grammars over llama.cpp's own sampler, with the vocabulary of a tiny random model."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.core.errors import GrammarError, InternalError
from replay.core.types import Json
from replay.llm.grammar.schema import check_output, compile_schema
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import need_binding

pytestmark = pytest.mark.model

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 30},
        "n": {"type": "integer", "minimum": 10, "maximum": 250},
        "l": {"type": "array", "items": {"enum": ["to", "tone", "a.b"]}, "maxItems": 3},
    },
    "required": ["a", "n"],
}
TEXT = json.dumps({"a": 'the é日\U0001f600 "\n', "n": 42, "l": ["tone", "a.b"]}, ensure_ascii=False)


class Tiny:
    """A tiny model with everything a constraint needs."""

    def __init__(self, path: Path) -> None:
        """Load it."""
        from replay.llm.llamacpp.model import Model
        from replay.llm.llamacpp.token_table import TokenTable

        self.model = Model(path)
        self.table = TokenTable(self.model.vocab, self.model.end_tokens)

    def constrain(self, grammar: str) -> Json:
        """Compile a grammar."""
        from replay.llm.llamacpp.constraint import GrammarConstraint

        return GrammarConstraint(self.model.library, self.model.vocab, self.table, grammar)

    def tokens(self, text: str) -> list[int]:
        """Split a text without a prefix space: one token a character where there is one, else bytes."""
        pieces = {self.model.piece(token): token for token in range(self.model.vocabulary_size)}
        return [pieces[bytes([byte])] for byte in text.encode()]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tiny]:
    """One loaded model for all tests of the module."""
    need_binding()
    found = Tiny(write_tiny_llama(tmp_path_factory.mktemp("tiny") / "tiny.gguf"))
    yield found
    found.model.close()


def test_a_fitting_text_is_allowed_token_by_token(tiny: Tiny) -> None:
    """Characters of several bytes come in parts; the end is allowed at the end only."""
    constraint = tiny.constrain(compile_schema(SCHEMA).gbnf)
    [end] = tiny.model.end_tokens
    for token in tiny.tokens(TEXT):
        assert constraint.allows(token)
        assert not constraint.allows(end)
        constraint.accept(token)
    assert constraint.allows(end)
    constraint.close()


@pytest.mark.parametrize(
    "spoilt", ['{"b', '{"a": 1', "{ ", '{"a": "x\n', '{"a": "", "n": 9,', '{"a": "", "n": 42}}', "["]
)
def test_the_first_token_that_does_not_fit_is_refused(tiny: Tiny, spoilt: str) -> None:
    """Everything before it is allowed."""
    constraint = tiny.constrain(compile_schema(SCHEMA).gbnf)
    *before, last = tiny.tokens(spoilt)
    for token in before:
        constraint.accept(token)
    assert not constraint.allows(last)
    constraint.close()


def test_a_mask_leaves_exactly_the_tokens_that_are_allowed(tiny: Tiny) -> None:
    """Looking at first bytes spares work, not rules: the same as asking about every token."""
    import numpy as np

    constraint = tiny.constrain(compile_schema(SCHEMA).gbnf)
    for token in tiny.tokens(TEXT):
        logits = np.arange(tiny.model.vocabulary_size, dtype=np.float32)
        constraint.mask(logits)
        allowed = [place for place in range(len(logits)) if constraint.allows(place)]
        assert allowed == list(np.flatnonzero(logits > -math.inf))
        assert allowed == [int(value) for value in logits[allowed]]
        constraint.accept(token)
    constraint.close()


def test_control_tokens_are_never_allowed(tiny: Tiny) -> None:
    """The library would take `<s>` for three characters of a string."""
    constraint = tiny.constrain(compile_schema({"type": "string"}).gbnf)
    constraint.accept(tiny.tokens('"')[0])
    begin = tiny.model.vocab.bos()
    assert b"<s>" == tiny.model.vocab.piece(begin, special=True)
    assert not constraint.allows(begin)
    assert all(constraint.allows(token) for token in tiny.tokens("<s>"))
    constraint.close()


def test_bytes_that_are_no_character_are_refused(tiny: Tiny) -> None:
    """The library lets a character be written with more bytes than it needs; then the text is no UTF-8."""
    constraint = tiny.constrain(compile_schema({"type": "string"}).gbnf)
    pieces = {tiny.model.piece(token): token for token in range(tiny.model.vocabulary_size)}
    constraint.accept(pieces[b'"'])
    constraint.accept(pieces[b"\xe0"])
    assert [False, False, True] == [constraint.allows(pieces[byte]) for byte in (b'"', b"\x82", b"\xa4")]
    constraint.close()


def test_a_token_against_the_grammar_is_our_bug_and_not_the_end_of_the_process(tiny: Tiny) -> None:
    """The library aborts on such a token, so it never gets there; nor does the end before its time."""
    constraint = tiny.constrain(compile_schema({"type": "null"}).gbnf)
    for token in (*tiny.tokens("x"), *tiny.model.end_tokens):
        with pytest.raises(InternalError, match=f"token {token} accepted against the grammar"):
            constraint.accept(token)
    constraint.close()
    constraint.close()
    with pytest.raises(InternalError, match="a grammar used after its end"):
        constraint.allows(5)


@pytest.mark.parametrize(
    ("grammar", "what"),
    [
        ("", "an empty grammar"),
        (" \n", "an empty grammar"),
        ("root ::= nothing\n", "cannot be compiled"),
        ("start ::= [a]\n", "root"),
        ("root ::= [a", "cannot be compiled"),
        ("root ::= root [a] | [b]\n", "cannot be compiled"),
        ('root ::= "\0"', "NUL"),
    ],
)
def test_a_grammar_that_fails_is_an_error(tiny: Tiny, grammar: str, what: str) -> None:
    """It never lets text through."""
    with pytest.raises(GrammarError, match=what):
        tiny.constrain(grammar)


def test_what_a_constrained_walk_writes_fits_the_schema(tiny: Tiny) -> None:
    """Random choices under the mask end in valid outputs: the whole chain, without a model's opinion."""
    import numpy as np

    from replay.core.determinism import Stream

    compiled = compile_schema(SCHEMA)
    for seed in range(20):
        stream, constraint, written = Stream("walk", seed), tiny.constrain(compiled.gbnf), bytearray()
        for _ in range(400):
            logits = np.zeros(tiny.model.vocabulary_size, dtype=np.float32)
            constraint.mask(logits)
            token = stream.choice([int(place) for place in np.flatnonzero(logits == 0)])
            if token in tiny.model.end_tokens:
                break
            constraint.accept(token)
            written += tiny.model.piece(token)
        constraint.close()
        assert "a" in check_output(compiled, written.decode())
