"""Compile a schema and try its grammar: sample texts from it, and offer it texts."""

from __future__ import annotations

import json
from collections.abc import Iterable

from replay.core.determinism import Stream
from replay.core.errors import GrammarError
from replay.core.types import Json
from replay.llm.grammar.bounds import Bounds
from replay.llm.grammar.schema import check_output, compile_schema
from replay.llm.grammar.writing import REPEATED_NAMES
from tests.support.gbnf import Grammar, parse_grammar

__all__ = ["accepted", "grammar_of", "sample_texts", "sample_values"]


def grammar_of(schema: Json, bounds: Bounds | None = None) -> Grammar:
    """Compile a schema and parse the grammar with the interpreter of the tests."""
    return parse_grammar(compile_schema(schema, bounds=bounds).gbnf)


def sample_texts(schema: Json, count: int = 40, *, seed: str = "", room: int = 300) -> list[str]:
    """Sample texts of a schema's grammar."""
    grammar = grammar_of(schema)
    stream = Stream("grammar-samples", seed)
    return [grammar.generate(stream, room=room) for _ in range(count)]


def sample_values(schema: Json, count: int = 40, *, seed: str = "", room: int = 300) -> list[Json]:
    """Sample texts and return the values that `check_output` read from them; raises when one does not fit.

    Left out are texts in which a made-up name occurs twice, where the compiled schema says that this may be.
    """
    compiled = compile_schema(schema)
    values: list[Json] = []
    for text in sample_texts(schema, count, seed=seed, room=room):
        try:
            values.append(check_output(compiled, text))
        except GrammarError as error:
            if not ("occurs twice" in error.what and REPEATED_NAMES in " ".join(compiled.unsupported)):
                raise
    return values


def accepted(schema: Json, values: Iterable[Json], bounds: Bounds | None = None) -> list[bool]:
    """Tell of each value whether the grammar accepts it as `json.dumps` writes it."""
    grammar = grammar_of(schema, bounds)
    return [grammar.accepts(json.dumps(value, ensure_ascii=False)) for value in values]
