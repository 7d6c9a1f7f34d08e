"""A grammar that watches one generation, over llama.cpp's own grammar sampler.

The sampler is asked about single tokens (cheap) and only on refusal about the vocabulary (slow), of which it
then sees the part whose first bytes it allows. It never chooses. A token is only ever given to it after it
was allowed: with another one the library would end the process.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from replay.core.errors import GrammarError, InternalError, ModelError
from replay.llm.llamacpp.binding import GrammarHandle, Library
from replay.llm.llamacpp.token_table import TokenTable
from replay.llm.llamacpp.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["ROOT_RULE", "GrammarConstraint"]

ROOT_RULE = "root"


class GrammarConstraint:
    """One grammar in the state that the tokens accepted so far have brought it to."""

    def __init__(self, library: Library, vocabulary: Vocabulary, table: TokenTable, grammar: str) -> None:
        """Compile GBNF text with the rule `root`.

        Errors:  GrammarError with the library's reason, or for an empty text, which the library would take
                 for no constraint: a grammar that fails never lets text through.
        """
        self._library = library
        self._table = table
        self._allowed = -1
        self._begun = b""  # bytes of a character that is not complete yet
        self._handle: GrammarHandle | None = None
        expected = f"GBNF text with a rule `{ROOT_RULE}`"
        if not grammar.strip():
            raise GrammarError("an empty grammar", expected=expected)
        try:
            self._handle = library.new_grammar(vocabulary, grammar, root=ROOT_RULE)
        except ModelError as error:
            raise GrammarError(error.what, expected=expected) from None
        self._single = library.new_candidates(1)

    def allows(self, token: int) -> bool:
        """Tell whether a token may come next; one that adds no text may not."""
        if self._table.is_silent(token) or not self._is_text(token):
            return False
        single = self._single
        single["id"][0] = token
        single["logit"][0] = 0.0
        self._library.filter_candidates(self._open_handle(), single)
        if single["logit"][0] != 0.0:
            return False
        self._allowed = token
        return True

    def mask(self, logits: npt.NDArray[np.float32]) -> None:
        """Set the logit of every token that may not come next to minus infinity, in place."""
        table = self._table
        possible = table.starting_with(self._filter(table.probes))
        allowed = table.without_broken(self._filter(possible), self._begun)
        kept = logits[allowed]
        logits.fill(-math.inf)
        logits[allowed] = kept

    def accept(self, token: int) -> None:
        """Move on by a token.

        Errors:  InternalError when the grammar does not allow it.
        """
        if self._allowed != token and not self.allows(token):
            raise InternalError(f"token {token} accepted against the grammar")
        self._allowed = -1
        self._begun = self._table.follow(token, self._begun) or b""
        self._library.accept_token(self._open_handle(), token)

    def close(self) -> None:
        """Free the compiled grammar. Safe to repeat."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            self._library.free_grammar(handle)

    def _is_text(self, token: int) -> bool:
        return self._table.follow(token, self._begun) is not None

    def _filter(self, tokens: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """Keep the tokens that may come next."""
        candidates = self._library.new_candidates(len(tokens))
        candidates["id"] = tokens
        self._library.filter_candidates(self._open_handle(), candidates)
        kept: npt.NDArray[np.int32] = candidates["id"][candidates["logit"] == 0.0]
        return kept

    def _open_handle(self) -> GrammarHandle:
        if self._handle is None:
            raise InternalError("a grammar used after its end")
        return self._handle
