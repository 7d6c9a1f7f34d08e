"""One of a list of texts, written so that common beginnings are written once.

An `enum` of a thousand values would otherwise be a thousand ways for the sampler to follow at each token.
"""

from __future__ import annotations

from typing import Final

from replay.llm.grammar.expressions import EMPTY, Expression, Text, choose, sequence
from replay.llm.grammar.rulebook import RuleBook

__all__ = ["one_of"]

_MAX_DEPTH: Final = 60  # of shared beginnings; below it texts stand side by side


def one_of(texts: list[str], book: RuleBook, depth: int = 0) -> Expression:
    """Write exactly one of the texts, which are all different."""
    if len(texts) == 1:
        return Text(texts[0])
    if depth >= _MAX_DEPTH:
        return choose(Text(text) for text in texts)
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(text[:1], []).append(text)
    options: list[Expression] = []
    for group in groups.values():
        shared = _common_beginning(min(group), max(group))
        if not shared:
            options.append(EMPTY)
            continue
        rest = one_of([text[len(shared) :] for text in group], book, depth + 1)
        options.append(sequence([Text(shared), rest if len(group) == 1 else book.share("one-of", rest)]))
    return choose(options)


def _common_beginning(first: str, last: str) -> str:
    """Of the smallest and the largest of some texts, which is that of all of them."""
    for index, char in enumerate(first):
        if char != last[index : index + 1]:
            return first[:index]
    return first
