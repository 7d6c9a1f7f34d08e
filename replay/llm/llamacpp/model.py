"""One GGUF model in memory: what kind it is, its vocabulary, text to tokens and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from replay.core.errors import ModelError
from replay.core.types import Json
from replay.llm.llamacpp.binding import Library, ModelHandle, load_library
from replay.llm.llamacpp.vocabulary import Vocabulary

__all__ = ["Model"]

_TEXT_MODEL = "a model that generates text token by token"


class Model:
    """A loaded model. Weights are mapped from the file, so processes on one machine share them."""

    def __init__(self, path: Path) -> None:
        """Load the file.

        Errors:  ModelError when it is no complete model, or one of a kind that does not generate text.
        """
        self.library: Library = load_library()
        self.name = path.name
        if not path.is_file():
            raise ModelError(f"no model file {path.name}", where=str(path), expected="a GGUF file")
        self.handle: ModelHandle = self.library.load_model(path)
        try:
            self.facts = self.library.model_facts(self.handle)
            self.vocab: Vocabulary = self.library.vocabulary(self.handle)
            self._check_kind()
            self.vocabulary_size = self.vocab.size()
            self.end_tokens = self.vocab.end_tokens()
        except BaseException:
            self.library.free_model(self.handle)
            raise
        self._pieces: dict[int, bytes] = {}
        self._open = True

    def _check_kind(self) -> None:
        facts = self.facts
        refused = {
            "an encoder with a decoder": facts["has_encoder"],
            "an encoder without a decoder": not facts["has_decoder"],
            "a diffusion model": facts["is_diffusion"],
            "a model without a vocabulary": not self.vocab.is_usable(),
        }
        for kind, found in refused.items():
            if found:
                raise ModelError(f"{self.name} is {kind}", expected=_TEXT_MODEL)

    @property
    def is_plain(self) -> bool:
        """True when the memory is attention only: it can be cut at any position and copied."""
        return not (self.facts["is_recurrent"] or self.facts["is_hybrid"])

    def metadata(self) -> Mapping[str, Json]:
        """Read the file's scalar metadata (names, chat template, special tokens) as text, sorted by name."""
        return self.library.model_metadata(self.handle)

    def tokenize(self, text: str, *, special: bool = True, bos: bool | None = None) -> tuple[int, ...]:
        """Split text into tokens.

        `special` reads control tokens written in the text as such; `bos` puts the begin token first, by
        default when the model's own metadata asks for it and the text does not start with it.
        """
        tokens = self.vocab.tokenize(text.encode("utf-8"), special=special)
        begin = self.vocab.bos()
        if bos is None:
            bos = self.vocab.adds_bos() and tokens[:1] != [begin]
        if bos and begin < 0:
            raise ModelError(f"{self.name} has no begin token", expected="bos=False for this model")
        return (begin, *tokens) if bos else tuple(tokens)

    def piece(self, token: int) -> bytes:
        """Get the bytes a token adds to a text: none for control and end tokens."""
        found = self._pieces.get(token)
        if found is None:
            hidden = token in self.end_tokens or self.vocab.is_control(token)
            found = b"" if hidden else self.vocab.piece(token, special=False)
            self._pieces[token] = found
        return found

    def detokenize(self, tokens: Iterable[int], *, special: bool = False) -> bytes:
        """Join the bytes of tokens; with `special`, control tokens are spelled out."""
        if special:
            return b"".join(self.vocab.piece(token, special=True) for token in tokens)
        return b"".join(self.piece(token) for token in tokens)

    def close(self) -> None:
        """Free the model; contexts made from it must be closed before."""
        if self._open:
            self._open = False
            self.library.free_model(self.handle)
