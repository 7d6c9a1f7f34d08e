"""llama.cpp's own parser takes every grammar that comes of a real response shape, and follows it as we do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.shapes import answer_schema
from replay.core.determinism import Stream
from replay.core.types import Json
from replay.llm.grammar.schema import compile_schema
from tests.oracle.test_stabletoolbench_shapes import FOLDERS, different, read_shapes
from tests.support.gbnf import parse_grammar
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import need_binding

pytestmark = [pytest.mark.model, pytest.mark.slow]


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Json]:
    """A tiny loaded model."""
    need_binding()
    from replay.llm.llamacpp.model import Model

    loaded = Model(write_tiny_llama(tmp_path / "tiny.gguf"))
    yield loaded
    loaded.close()


def test_every_shape_compiles_in_the_library(model: Json, shared_data: Path) -> None:
    """All 960, and for every twelfth a text of our own interpreter is followed to its end."""
    from replay.llm.llamacpp.constraint import GrammarConstraint
    from replay.llm.llamacpp.token_table import TokenTable

    table = TokenTable(model.vocab, model.end_tokens)
    pieces = {model.piece(token): token for token in range(model.vocabulary_size)}
    [end] = model.end_tokens
    for index, shape in enumerate(different(read_shapes(shared_data / FOLDERS[0]))):
        gbnf = compile_schema(answer_schema(shape)).gbnf
        constraint = GrammarConstraint(model.library, model.vocab, table, gbnf)
        if index % 12 == 0:
            text = parse_grammar(gbnf).generate(Stream("library", index), room=200)
            for byte in text.encode():
                constraint.accept(pieces[bytes([byte])])
            assert constraint.allows(end)
        constraint.close()
