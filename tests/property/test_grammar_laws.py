"""Laws of grammars: what a grammar writes fits its schema, and patterns mean what Python says they mean."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from replay.core.determinism import Stream
from replay.core.errors import GrammarError
from replay.core.types import Json
from replay.llm.grammar.expressions import write
from replay.llm.grammar.keywords import TYPES
from replay.llm.grammar.literals import one_of
from replay.llm.grammar.matching import Matcher
from replay.llm.grammar.numbers import integer_between
from replay.llm.grammar.patterns import parse_pattern
from replay.llm.grammar.rulebook import ROOT, RuleBook
from replay.llm.grammar.schema import CompiledSchema, check_output, compile_schema
from replay.llm.grammar.writing import REPEATED_NAMES
from tests.support.gbnf import parse_grammar

NAMES = st.sampled_from(["a", "b", "ab", "é", 'q"', "\\", "a b", "日", "\n", ""])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-99, 99), NAMES, st.sampled_from([0.5, 1e30, -0.25])
)
SMALL = st.integers(0, 4)


def _strings() -> st.SearchStrategy[Json]:
    keywords = st.fixed_dictionaries(
        {}, optional={"minLength": SMALL, "maxLength": SMALL, "pattern": PATTERNS}
    )
    return keywords.map(lambda found: {"type": "string", **found})


def _numbers() -> st.SearchStrategy[Json]:
    bound = st.one_of(st.integers(-120, 120), st.sampled_from([0.5, -1.5, 12.25]))
    names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    keywords = st.fixed_dictionaries({}, optional=dict.fromkeys(names, bound))
    return st.tuples(st.sampled_from(["integer", "number"]), keywords).map(
        lambda pair: {"type": pair[0], **pair[1]}
    )


def _objects(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    keywords = st.fixed_dictionaries(
        {"properties": st.dictionaries(NAMES, inner, max_size=4)},
        optional={"required": st.lists(NAMES, unique=True, max_size=2), "additionalProperties": inner},
    )
    return keywords.map(lambda found: {"type": "object", **found})


def _arrays(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    keywords = st.fixed_dictionaries(
        {},
        optional={
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=3),
            "minItems": SMALL,
            "maxItems": SMALL,
        },
    )
    return keywords.map(lambda found: {"type": "array", **found})


def _combined(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    lists = st.lists(inner, min_size=1, max_size=3)
    pairs = st.tuples(st.sampled_from(["anyOf", "oneOf", "allOf"]), lists)
    return pairs.map(lambda pair: {pair[0]: pair[1]})


CLASSES = st.sampled_from(["a", "b", "[ab]", "[^a]", "\\d", "\\w", ".", "\\.", '"', "\\\\", "[a-c]"])
COUNTS = st.sampled_from(["", "?", "*", "+", "{2}", "{1,3}", "{2,}"])
ATOMS = st.tuples(CLASSES, COUNTS).map("".join)
ROWS = st.lists(ATOMS, min_size=1, max_size=3).map("".join)
GROUPS = st.tuples(st.lists(ROWS, min_size=1, max_size=2), st.sampled_from(["", "?"])).map(
    lambda pair: f"({'|'.join(pair[0])}){pair[1]}"
)
BODIES = st.lists(st.one_of(ATOMS, GROUPS), min_size=1, max_size=3).map("".join)
PATTERNS = st.tuples(st.sampled_from(["", "^"]), BODIES, st.sampled_from(["", "$"])).map("".join)

LEAVES = st.one_of(
    st.just({}),
    st.booleans(),
    st.lists(SCALARS, min_size=1, max_size=4).map(lambda values: {"enum": values}),
    SCALARS.map(lambda value: {"const": value}),
    st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True).map(lambda names: {"type": names}),
    _strings(),
    _numbers(),
    st.just({"$ref": "#/$defs/node"}),
)
TREES = st.recursive(
    LEAVES, lambda inner: st.one_of(_objects(inner), _arrays(inner), _combined(inner)), max_leaves=6
)
NODES = st.one_of(_objects(LEAVES), _arrays(LEAVES))


@st.composite
def schemas(draw: st.DrawFn) -> Json:
    """A schema document with one definition that may name itself."""
    schema = draw(TREES)
    if not isinstance(schema, dict):
        return schema
    return {**schema, "$defs": {"node": draw(NODES)}}


def _unexplained_fault(compiled: CompiledSchema, text: str) -> str:
    """What is wrong with a text, unless the compiled schema says that the grammar does not keep it."""
    try:
        check_output(compiled, text)
    except GrammarError as error:
        noted = " ".join(compiled.unsupported)
        failed = error.what.removeprefix("output does not fit its schema: ").removesuffix(" fails")
        explained = (
            failed in noted
            or (REPEATED_NAMES in noted and "occurs twice" in error.what)
            or (failed in ("minLength", "maxLength") and "lengths beside a pattern" in noted)
            # Inside a combination jsonschema names the combination, whatever failed in its parts.
            or (failed in ("anyOf", "oneOf", "additionalProperties") and bool(noted))
        )
        return "" if explained else f"{text}: {error}"
    return ""


@given(schemas(), st.integers(0, 2**32))
def test_whatever_a_grammar_writes_fits_its_schema(schema: Json, seed: int) -> None:
    """Soundness: only what is listed as checked afterwards may fail."""
    try:
        compiled = compile_schema(schema)
    except GrammarError:
        assume(condition=False)
    grammar, stream = parse_grammar(compiled.gbnf), Stream("law", seed)
    texts = [grammar.generate(stream, room=150) for _ in range(5)]
    assert [""] * 5 == [_unexplained_fault(compiled, text) for text in texts]


@given(schemas())
def test_equal_schemas_give_equal_grammars(schema: Json) -> None:
    """A function of the schema alone, errors too."""

    def outcome(given_schema: Json) -> str:
        try:
            return compile_schema(given_schema).gbnf
        except GrammarError as error:
            return str(error)

    assert outcome(schema) == outcome(json.loads(json.dumps(schema)))


@given(st.dictionaries(NAMES, SCALARS, min_size=1, max_size=4))
def test_an_object_fits_the_schema_that_describes_it(value: dict[str, Json]) -> None:
    """Completeness on what is simple: every member required, each value a constant."""
    schema = {
        "type": "object",
        "properties": {name: {"const": inner} for name, inner in value.items()},
        "required": list(value),
    }
    assert parse_grammar(compile_schema(schema).gbnf).accepts(json.dumps(value, ensure_ascii=False))


@given(PATTERNS, st.text('ab1."\\ c', max_size=8))
def test_patterns_match_what_python_matches(pattern: str, text: str) -> None:
    """On the subset the linear matcher and Python's own agree."""
    found = Matcher(parse_pattern(pattern, where="law")).matches(text, lambda _: None)
    expected = re.search(re.sub(r"\$$", r"\\Z", pattern), text, re.ASCII)
    assert (expected is not None) == found


@given(PATTERNS, st.integers(0, 2**32))
def test_strings_made_for_a_pattern_match_it(pattern: str, seed: int) -> None:
    """Python's matcher is the judge of what the grammar writes."""
    grammar = parse_grammar(compile_schema({"type": "string", "pattern": pattern}).gbnf)
    text = json.loads(grammar.generate(Stream("law", seed), room=40))
    assert re.search(re.sub(r"\$$", r"\\Z", pattern), text, re.ASCII)


@given(st.integers(-(10**6), 10**6), st.integers(0, 10**6), st.integers(-(10**6), 10**6))
def test_integer_ranges_hold_what_lies_inside(low: int, width: int, value: int) -> None:
    """Any integer, any range."""
    grammar = parse_grammar(f"root ::= {write(integer_between(low, low + width))}\n")
    assert (low <= value <= low + width) == grammar.accepts(str(value))


@pytest.mark.parametrize("size", [1, 7])
@given(st.data())
def test_one_of_some_texts_is_exactly_these(size: int, data: st.DataObject) -> None:
    """Sharing beginnings neither loses a text nor makes one up."""
    texts = data.draw(st.lists(st.text("ab", max_size=5), min_size=size, max_size=size * 2, unique=True))
    book = RuleBook()
    book.define(ROOT, one_of(texts, book))
    grammar = parse_grammar(book.finish()[0])
    others = data.draw(st.lists(st.text("ab", max_size=6), max_size=10))
    assert [True] * len(texts) == [grammar.accepts(text) for text in texts]
    assert [text in texts for text in others] == [grammar.accepts(text) for text in others]
