"""Grammars of bounded texts: what is cut down first, and that the rest stays a valid answer."""

from __future__ import annotations

import pytest

from replay.core.determinism import Stream
from replay.core.types import Json
from replay.llm.grammar.bounds import Bounds
from replay.llm.grammar.fitting import compile_within
from replay.llm.grammar.schema import check_output, compile_schema
from tests.support.gbnf import parse_grammar


def make_shape(leaves: int) -> Json:
    """Build the schema of a list of objects with so many texts."""
    names = [f"name_{number}" for number in range(leaves)]
    item = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    return {"type": "array", "items": item, "maxItems": 3}


def test_tokens_are_counted_from_the_longest_text() -> None:
    """Two fifths of a token for each given character, one for each free one, an escape as one character."""
    text = compile_schema({"type": "string", "maxLength": 10})
    words = compile_schema({"enum": ["a", "twelve chars"]})
    assert (11, 6) == (text.most_tokens, words.most_tokens)


def test_what_may_nest_for_ever_has_no_most() -> None:
    """A list of lists of lists."""
    schema = {"$ref": "#/$defs/list", "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}}}
    assert None is compile_schema(schema).most_tokens


def test_a_text_keeps_what_the_budget_has_room_for() -> None:
    """Wide bounds for a wide budget, narrow ones for a narrow one."""
    wide, narrow = (compile_within({"type": "string"}, max_tokens=tokens) for tokens in (1024, 64))
    assert ("{0,400}" in wide.gbnf, "{0,50}" in narrow.gbnf) == (True, True)


@pytest.mark.parametrize("leaves", [1, 3, 10, 20])
def test_every_text_fits_the_budget_and_the_schema(leaves: int) -> None:
    """However many members there are, as far as the smallest bounds go."""
    compiled = compile_within(make_shape(leaves), max_tokens=1024)
    assert compiled.most_tokens is not None
    assert compiled.most_tokens <= 1024
    text = parse_grammar(compiled.gbnf).generate(Stream("fitting", leaves), room=400)
    assert isinstance(check_output(compiled, text), list)


def test_lists_stay_as_long_as_their_schema_demands() -> None:
    """The smallest bounds hold one item, unless there must be more."""
    schema = {**make_shape(40), "minItems": 2}
    compiled = compile_within(schema, max_tokens=64)
    text = parse_grammar(compiled.gbnf).generate(Stream("fitting"), room=0)
    value = check_output(compiled, text)
    assert isinstance(value, list)
    assert 2 == len(value)


def test_usual_bounds_do_not_shorten_listed_lists() -> None:
    """A schema's own number stands where nothing has to fit a budget."""
    schema = {"type": "array", "items": {"type": "boolean"}, "maxItems": 300}
    assert "{0,299}" in compile_schema(schema, bounds=Bounds()).gbnf
