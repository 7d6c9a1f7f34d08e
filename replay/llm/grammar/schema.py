"""JSON Schema to a grammar, and the check of what came out: the door to this package.

Fail closed: a schema that cannot be turned into a grammar is an error before any model is asked, a grammar is
never empty, and a finished output is parsed strictly and validated whatever the grammar promised.
"""

from __future__ import annotations

from typing import Final

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import CanonicalError, GrammarError
from replay.core.types import Json, Record
from replay.llm.grammar.bounds import Bounds, check_bounds
from replay.llm.grammar.keywords import check_document
from replay.llm.grammar.validate import check_value
from replay.llm.grammar.writing import GrammarWriter

__all__ = ["CompiledSchema", "check_output", "compile_schema"]

MAX_SCHEMA_BYTES: Final = 1 << 20
MAX_SCHEMA_DEPTH: Final = 120
"""Containers in one another; the deepest response shape known takes 62."""
MAX_OUTPUT_CHARS: Final = 1 << 20


class CompiledSchema(Record, frozen=True, kw_only=True):
    """A schema with the grammar that writes what fits it."""

    gbnf: str
    """The grammar, ASCII, start rule `root`; equal for equal schemas and bounds."""
    schema: Json
    unsupported: tuple[str, ...] = ()
    """JSON pointers of keywords that the grammar does not enforce but `check_output` does, with the reason
    behind where the keyword does not say it."""
    shortest_chars: int
    """Characters of the shortest output: a smaller token budget may never be enough."""
    most_tokens: int | None = None
    """Tokens that an output takes at most, roughly; None when values may nest for ever."""


def compile_schema(schema: Json, *, bounds: Bounds | None = None, strict: bool = False) -> CompiledSchema:
    """Compile a schema to a grammar whose every text fits it, but for the places in `unsupported`.

    `strict` makes such a place an error. The grammar writes members in the schema's order, no members that
    the schema does not speak of, at most one space after a comma or a colon, and values within `bounds`.
    Errors:  GrammarError naming keyword and JSON pointer: unknown, refused or contradictory keywords,
             references out of the document or in a circle, patterns outside the subset, anything too large.
    """
    if not isinstance(schema, (dict, bool)):
        raise GrammarError("a schema that is neither an object nor true or false", expected="a JSON Schema")
    _check_size(schema)
    checked = check_document(schema)
    writer = GrammarWriter(schema, check_bounds(bounds or Bounds()))
    gbnf, shortest = writer.write()
    unsupported = tuple(sorted({*checked, *writer.unsupported}))
    if strict and unsupported:
        raise GrammarError(
            "keywords that a grammar cannot enforce",
            where=", ".join(unsupported[:5]),
            expected="none in strict mode",
        )
    return CompiledSchema(
        gbnf=gbnf,
        schema=schema,
        unsupported=unsupported,
        shortest_chars=shortest,
        most_tokens=writer.most_tokens(),
    )


def check_output(compiled: CompiledSchema, text: str) -> Json:
    """Parse a finished output strictly and validate it.

    Errors:  GrammarError saying where the text is not one JSON value, or where it does not fit the schema.
    """
    if len(text) > MAX_OUTPUT_CHARS:
        raise GrammarError(f"output of {len(text):,} characters", expected=f"at most {MAX_OUTPUT_CHARS:,}")
    try:
        value = parse_json(text)
    except CanonicalError as error:
        raise GrammarError(
            f"output is not one JSON value: {error.what}", where=error.where, expected="strict JSON"
        ) from None
    check_value(compiled.schema, value)
    return value


def _check_size(schema: Json) -> None:
    try:
        size = len(canonical_bytes(schema))
    except CanonicalError as error:
        raise GrammarError(f"schema is not JSON: {error.what}", where=error.where) from None
    if size > MAX_SCHEMA_BYTES:
        raise GrammarError(f"schema of {size:,} bytes", expected=f"at most {MAX_SCHEMA_BYTES:,}")
    level: list[Json] = [schema]
    for _ in range(MAX_SCHEMA_DEPTH + 1):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return
    raise GrammarError("schema is nested too deep", expected=f"at most {MAX_SCHEMA_DEPTH} levels")


def _inside(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
