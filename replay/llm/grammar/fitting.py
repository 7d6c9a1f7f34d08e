"""Grammars whose texts end within a token budget: what a stand-in for an API is held to when it ran on.

A small model that has lost its thread writes one string until its budget is gone, and a cut answer is none.
A schema says what an answer holds, not how long it is; so the first of some fixed bounds is taken with which
even the longest text fits. How many tokens that has is an estimate: characters that a vocabulary spells byte
by byte need more, and an answer of those may be cut all the same, which is no answer, never a wrong one.
Strings get shorter first, then lists, then strings again: one item of a list that can be read tells more
than three that cannot. It is a function of schema and budget alone: the same request gets the same grammar.
"""

from __future__ import annotations

from typing import Final

from replay.core.types import Json
from replay.llm.grammar.bounds import Bounds
from replay.llm.grammar.rulebook import MAX_REPEAT
from replay.llm.grammar.schema import CompiledSchema, compile_schema

__all__ = ["compile_within"]

_STEPS: Final = tuple(
    Bounds(
        string_chars=chars, array_items=items, listed_items=listed, extra_members=members, free_depth=depth
    )
    for chars, items, listed, members, depth in (
        (400, 32, MAX_REPEAT, 8, 3),
        (250, 8, MAX_REPEAT, 4, 2),
        (150, 4, MAX_REPEAT, 3, 1),
        (100, 3, MAX_REPEAT, 3, 1),
        (70, 3, MAX_REPEAT, 3, 1),
        (50, 3, MAX_REPEAT, 3, 1),
        (40, 2, 2, 2, 1),
        (50, 1, 1, 2, 1),
        (35, 1, 1, 2, 1),
        (24, 1, 1, 2, 1),
        (16, 1, 1, 1, 0),
    )
)


def compile_within(schema: Json, *, max_tokens: int) -> CompiledSchema:
    """Compile a schema with the widest bounds whose longest text fits the budget; the last ones if none do.

    Errors:  GrammarError as compile_schema.
    """
    for bounds in _STEPS:
        compiled = compile_schema(schema, bounds=bounds)
        if compiled.most_tokens is not None and compiled.most_tokens <= max_tokens:
            break
    return compiled
