"""A grammar that watches one generation, over llama.cpp's own grammar sampler.

The sampler is asked about single tokens (cheap) and only on refusal about the whole vocabulary (slow). It
never chooses. A token is only ever given to it after it was allowed: with another one the library would end
the process.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from replay.core.errors import GrammarError, InternalError, ModelError
from replay.llm.llamacpp.binding import GrammarHandle, Library
from replay.llm.llamacpp.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["ROOT_RULE", "GrammarConstraint"]

ROOT_RULE = "root"


class GrammarConstraint:
    """One grammar in the state that the tokens accepted so far have brought it to."""

    def __init__(self, library: Library, vocabulary: Vocabulary, grammar: str) -> None:
        """Compile GBNF text with the rule `root`.

        Errors:  GrammarError with the library's reason: a grammar that fails never lets text through.
        """
        self._library = library
        self._handle: GrammarHandle | None = None
        try:
            self._handle = library.new_grammar(vocabulary, grammar, root=ROOT_RULE)
        except ModelError as error:
            raise GrammarError(error.what, expected=f"GBNF text with a rule `{ROOT_RULE}`") from None
        self._single = library.new_candidates(1)

    def allows(self, token: int) -> bool:
        """Tell whether a token may come next."""
        single = self._single
        single["id"][0] = token
        single["logit"][0] = 0.0
        self._library.filter_candidates(self._open_handle(), single)
        return bool(single["logit"][0] == 0.0)

    def mask(self, logits: npt.NDArray[np.float32]) -> None:
        """Set the logit of every token that may not come next to minus infinity, in place."""
        candidates: npt.NDArray[Any] = self._library.new_candidates(len(logits))
        candidates["logit"] = logits
        self._library.filter_candidates(self._open_handle(), candidates)
        logits[candidates["logit"] == -math.inf] = -math.inf

    def accept(self, token: int) -> None:
        """Move on by a token.

        Errors:  InternalError when the grammar does not allow it.
        """
        if not self.allows(token):
            raise InternalError(f"token {token} accepted against the grammar")
        self._library.accept_token(self._open_handle(), token)

    def close(self) -> None:
        """Free the compiled grammar. Safe to repeat."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            self._library.free_grammar(handle)

    def _open_handle(self) -> GrammarHandle:
        if self._handle is None:
            raise InternalError("a grammar used after its end")
        return self._handle
